//! Bytes as scripts for the gate, against the model that the exhaustive search uses.

#![no_main]

#[path = "../../../crates/bulklink-core/tests/exhaustive/check.rs"]
mod check;
#[path = "../../../crates/bulklink-core/tests/exhaustive/model.rs"]
mod model;
#[path = "../../../crates/bulklink-core/tests/properties/script.rs"]
mod script;
#[path = "../../../crates/bulklink-core/tests/properties/steps.rs"]
mod steps;
#[path = "../../../crates/bulklink-core/tests/exhaustive/world.rs"]
mod world;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;

use script::Script;
use steps::{Gate, Step};
use world::Start;

/// A few bytes for the beginning, and the others for the steps.
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
    let wait_limit = if bytes.arbitrary()? { Some(bytes.int_in_range(1..=40)?) } else { None };
    Ok(Start {
        limits: (bytes.int_in_range(1..=48)?, bytes.int_in_range(0..=48)?, wait_limit),
        measures_waits: bytes.arbitrary()?,
        observed: bytes.arbitrary()?,
        through_word: bytes.arbitrary()?,
        prelude: vec![],
    })
}

fuzz_target!(|script: Bytes| script.0.play::<Gate>(|_, _| ()));
