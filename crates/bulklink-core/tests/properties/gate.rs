//! The gate against the model: capacities up to dozens, thousands of steps.

use std::ops::RangeInclusive;

use bulklink_core::Word;
use proptest::prelude::*;

use crate::runner::play_all;
use crate::script::Script;
use crate::steps::{Gate, Step, Wish};
use crate::world::Start;

#[test]
fn whatever_happens_in_whatever_order_the_gate_does_what_the_model_does() {
    play_all::<Gate>(scripts(starts(1..=48), steps(), 0..=4000));
}

/// Only that a word counts for so long before it is folded.
#[test]
fn a_word_that_counts_until_it_is_full_loses_nothing() {
    let starts = starts(1..=3).prop_map(|start| Start { observed: false, through_word: true, ..start });
    let crowds = prop_oneof![any::<u8>().prop_map(Step::Crowd), steps()];
    play_all::<Gate>(scripts(starts, crowds, 0..=20));
}

/// Around the largest that a word can have, and only there is it too large.
#[test]
fn a_gate_too_large_for_a_word_does_without() {
    let edge = Word::MAX_CAPACITY;
    play_all::<Gate>(scripts(starts(edge - 1..=edge + 2), steps(), 0..=100));
}

fn scripts(
    starts: impl Strategy<Value = Start>,
    steps: impl Strategy<Value = Step>,
    length: RangeInclusive<usize>,
) -> impl Strategy<Value = Script<Start, Step>> {
    let stride = prop_oneof![1 => Just(1), 4 => 2_usize..100];
    let steps = prop::collection::vec(steps, length);
    (starts, steps, stride).prop_map(|(start, steps, stride)| Script { start, steps, stride })
}

fn starts(capacity: RangeInclusive<usize>) -> impl Strategy<Value = Start> {
    let limits = (capacity, 0_usize..=48, prop::option::of(1_u64..=40));
    (limits, any::<(bool, bool, bool)>()).prop_map(|(limits, (measures_waits, observed, through_word))| Start {
        limits,
        measures_waits,
        observed,
        through_word,
        prelude: vec![],
    })
}

/// About as many leave as come, and few close.
fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        1600 => wishes().prop_map(Step::Enter),
        800 => any::<u8>().prop_map(Step::Release),
        80 => any::<u8>().prop_map(Step::Abandon),
        480 => any::<u8>().prop_map(Step::Collect),
        240 => any::<u8>().prop_map(Step::Cancel),
        480 => (0_u8..8).prop_map(Step::Tick),
        40 => (0_u8..20).prop_map(Step::TickBack),
        240 => Just(Step::Advance),
        40 => (0_u8..=64).prop_map(Step::Resize),
        1 => Just(Step::Close),
    ]
}

fn wishes() -> impl Strategy<Value = Wish> {
    let cost = prop_oneof![6 => Just(1), 3 => 1_u8..8, 1 => any::<u8>()];
    let may_queue = prop::bool::weighted(0.9);
    let (within, before) = (prop::option::weighted(0.3, 0_u8..50), prop::option::weighted(0.2, 0_u8..80));
    (cost, may_queue, within, before).prop_map(|(cost, may_queue, within, before)| Wish {
        cost,
        may_queue,
        within,
        before,
    })
}
