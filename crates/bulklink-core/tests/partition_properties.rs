//! Long random scripts for partitions, against their reference model: dozens of keys, thousands of
//! steps.
//!
//! The environment variables and the output are those of the gate's properties.

use bulklink_model::partitions::{Start, Step, World};
use bulklink_model::runner::play_all;
use bulklink_model::script::Script;
use proptest::prelude::*;

#[test]
fn partitions_do_what_their_model_does() {
    play_all::<World>(scripts());
}

fn scripts() -> impl Strategy<Value = Script<Start, Step>> {
    let starts = (1_usize..=24, prop::option::of(0_u64..=40)).prop_map(|(max_partitions, idle_timeout)| Start {
        max_partitions,
        idle_timeout,
        prelude: vec![],
    });
    let step = prop_oneof![
        900 => (0_usize..32).prop_map(Step::Enter),
        20 => Just(Step::Ask),
        840 => (0_usize..100).prop_map(Step::End),
        60 => (0_usize..32).prop_map(Step::Discard),
        100 => Just(Step::CleanUp),
        100 => (1_usize..20).prop_map(Step::Tick),
        20 => Just(Step::TickBack),
        1 => Just(Step::Close),
        1 => Just(Step::TakeDrained),
    ];
    let stride = prop_oneof![1 => Just(1), 4 => 2_usize..100];
    (starts, prop::collection::vec(step, 0..=2000), stride).prop_map(|(start, steps, stride)| Script {
        start,
        steps,
        stride,
    })
}
