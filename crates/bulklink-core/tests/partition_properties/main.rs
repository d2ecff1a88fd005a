//! Long random scripts for partitions, against the model of their search: dozens of keys, thousands of steps.
//!
//! As the properties of the gate, and told in the same way.

#[path = "../partitions/model.rs"]
mod model;
#[path = "../properties/runner.rs"]
mod runner;
#[path = "../properties/script.rs"]
mod script;
#[path = "../exhaustive/search.rs"]
#[expect(dead_code, reason = "only what a world is")]
mod search;
mod steps;
#[path = "../partitions/world.rs"]
mod world;

use proptest::prelude::*;

use runner::play_all;
use script::Script;
use steps::Step;
use world::{Start, World};

#[test]
fn whatever_happens_in_whatever_order_partitions_do_what_the_model_does() {
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
