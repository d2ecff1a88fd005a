//! Fuzzing: bytes as scripts for the gate, compared with its reference model.

#![no_main]

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use bulklink_core::Reserve;
use bulklink_model::gate::{Extra, FILTERS, ScriptedWorld, Start, Step};
use bulklink_model::script::Script;
use libfuzzer_sys::fuzz_target;

/// A script: the first bytes are the start, the others the steps.
#[derive(Debug)]
struct Bytes(Script<Start, Step>);

impl<'a> Arbitrary<'a> for Bytes {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let (start, stride) = (start(bytes)?, bytes.int_in_range(1..=32)?);
        let steps = bytes.arbitrary_iter()?.collect::<Result<_>>()?;
        Ok(Bytes(Script { start, steps, stride }))
    }
}

fn start(bytes: &mut Unstructured<'_>) -> Result<Start> {
    let measures_holds = bytes.arbitrary()?;
    let collect_limit = if bytes.arbitrary()? { Some(bytes.int_in_range(0..=60)?) } else { None };
    let wait_limit = if bytes.arbitrary()? { Some(bytes.int_in_range(1..=40)?) } else { None };
    Ok(Start {
        limits: (bytes.int_in_range(1..=48)?, bytes.int_in_range(0..=48)?, wait_limit),
        waiting_room_units: if bytes.arbitrary()? { Some(bytes.int_in_range(1..=96)?) } else { None },
        measures_waits: bytes.arbitrary::<bool>()? || measures_holds || collect_limit.is_some(),
        observed: *bytes.choose(&FILTERS)?,
        through_word: bytes.arbitrary::<bool>()? && !measures_holds,
        collect_limit,
        measures_holds,
        reserve: match bytes.int_in_range(0..=2)? {
            0 => Reserve::Learnt,
            1 => Reserve::Fixed(Duration::from_nanos(bytes.int_in_range(0..=60)?)),
            _ => Reserve::None,
        },
        deadlines: true,
        extra: Extra::Nothing,
        prelude: vec![],
    })
}

fuzz_target!(|script: Bytes| script.0.play::<ScriptedWorld>(|_, _| ()));
