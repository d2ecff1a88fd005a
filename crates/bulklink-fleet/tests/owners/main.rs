//! Two processes, a server, and a net that delays, loses and doubles, in short and in long scripts.
//!
//! Runs as part of `cargo test`: every script of inputs up to a depth, and random ones.
//! `BULKLINK_DEPTH` makes the first longer by as much as those of the gate's search;
//! `PROPTEST_CASES` is the number of the others.

mod net;
mod world;

use bulklink_model::search::{Extent, search};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use world::{ALL, Input, Start, World};

const EXTENTS: [Extent; 2] =
    [Extent { depth: 1, scripts: 11_904, inputs: 12_288 }, Extent { depth: 2, scripts: 285_696, inputs: 295_296 }];

/// How many random scripts run unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 400;

fn main() {
    search::<World>("owners", &worlds(), &EXTENTS);
    found_before();
    random();
}

/// A script that was found at random, one in many: a replica brings a call back into the queue
/// after its permit was lost.
fn found_before() {
    use Input::{Connect, Cut, End, EndNewest, Promote, Replicate, Run, Tick, Want, WantTwo};
    let begin = [Connect(1), Want(1), Want(1), Run(1), WantTwo(0), Connect(0), End(1), WantTwo(0), EndNewest(0)];
    let then = [Want(0), Want(0), Want(0), Want(1), Run(0), Run(1), Replicate, Cut(0), Want(0), End(1), Run(1)];
    let mut world = World::new(1);
    for input in begin.into_iter().chain(then).chain([Promote, Tick(45)]) {
        world.apply(input);
    }
    world.settle();
}

fn random() {
    let cases = std::env::var("PROPTEST_CASES").map_or(CASES, |text| text.parse().expect("a number of cases"));
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4_000, ..Config::default() };
    let script = prop::collection::vec(prop::sample::select(&ALL[..]), 1..120);
    let play = |(limit, is_deferring, script): (u64, bool, Vec<Input>)| {
        let mut world = World::new(limit);
        world.is_deferring = is_deferring;
        for input in script {
            world.apply(input);
        }
        world.settle();
        Ok(())
    };
    if let Err(error) = TestRunner::new(config).run(&(1..=3_u64, any::<bool>(), script), play) {
        panic!("{error}");
    }
    println!("owners: {cases} random scripts");
}

/// Returns what happened before, for limits of one and two units.
fn worlds() -> Vec<Start> {
    use Input::{Arrive, Connect, Cut, End, Flush, Promote, Replicate, Run, Send, Tick, Want};
    let preludes = [
        vec![],
        vec![Want(0), Run(0), Want(1), Run(1)],
        vec![Want(0), Run(0), Want(1), Run(1), Want(0), Run(0), End(0), Send(0), Arrive(0)],
        vec![Want(1), Run(1), Want(0), Send(0), Arrive(0)],
        vec![Want(0), Send(0), Arrive(0), Cut(0), Want(1), Run(1), Connect(0)],
        vec![Want(0), Run(0), Want(1), Run(1), Tick(20), Send(0), Send(1)],
        vec![Replicate, Want(0), Run(0), Promote, Connect(1)],
        vec![Want(0), Run(0), Flush],
    ];
    let limits = |prelude: Vec<Input>| [1, 2].map(|limit| Start { limit, prelude: prelude.clone() });
    preludes.into_iter().flat_map(limits).collect()
}
