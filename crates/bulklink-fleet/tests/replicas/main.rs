//! Two replicas of a circuit, a server, and a network that delays, reorders and loses, in short and
//! in long scripts.
//!
//! Runs as part of `cargo test`: every script of inputs up to a depth, and random ones.
//! `BULKLINK_DEPTH` makes the first longer by as much as those of the gate's search;
//! `PROPTEST_CASES` is the number of the others.

mod process;
mod world;

use bulklink_model::search::{Extent, search};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use world::{Input, Start, World};

const EXTENTS: [Extent; 2] =
    [Extent { depth: 1, scripts: 22_848, inputs: 23_520 }, Extent { depth: 2, scripts: 548_352, inputs: 565_152 }];

/// How many random scripts run unless `PROPTEST_CASES` is set.
const CASES: u32 = 2_000;

fn main() {
    search::<World>("replicas", &worlds(), &EXTENTS);
    found_before();
    random();
}

/// Scripts that the search has found, by faults of the machine and of its rules.
fn found_before() {
    use Input::{
        Answer, Arrive, Backup, Call, Cut, Fail, ForceClosed, ForceOpen, Forget, LoseAnswer, Notice, Refuse, Replace,
        Restore, Run, Send, Succeed, Tick,
    };
    let scripts: [&[Input]; 18] = [
        // A server that has gone back opens the circuit again, by hand now, in a generation that a
        // process knows.
        &[Call(0), Call(0), Fail(0), Fail(0), Run(0), Run(1), ForceOpen(0), Restore],
        // An outcome from before the first connection is too old to be reported.
        &[Replace(1), Call(1), Succeed(1), Tick(1_100)],
        // More outcomes than the window has calls are all reported.
        &[&[Replace(1), Call(1), Call(1), Call(1), Call(1)][..], &[Succeed(1), Succeed(1), Succeed(1), Succeed(1)]]
            .concat(),
        // One that is just young enough.
        &[Replace(1), Call(1), Succeed(1), Tick(1_000)],
        // After a lost answer, a server that has gone back makes a generation that was there.
        &[
            &[ForceOpen(1), Send(1), ForceOpen(1), Run(1), Restore, Run(0), ForceClosed(0), Send(0)][..],
            &[Call(0), Call(0), Fail(0), Fail(0), ForceOpen(1), Tick(3_000), LoseAnswer(0)],
        ]
        .concat(),
        // The notice that waits for an answer is of a later generation than a trip.
        &[
            &[Call(1), Call(1), Call(1), Succeed(1), Tick(100), Send(1), ForceClosed(0), Fail(1)][..],
            &[Run(0), Notice(1), Fail(1)],
        ]
        .concat(),
        // A cut lets a notice through that opens the circuit by hand; a trip before it is history.
        &[
            &[ForceClosed(1), Send(1), ForceOpen(0), Replace(0), Call(1), Call(1), Fail(1), Call(0)][..],
            &[Fail(1), ForceClosed(0), Notice(1), Tick(3_000), Cut(1), Restore],
        ]
        .concat(),
        // A row comes while the circuit is closed by hand, and it opens before the server is asked.
        &[ForceClosed(1), ForceClosed(0), Run(0), Call(1), Notice(1), Cut(1), Fail(1), Call(1), Fail(1)],
        // An outcome from before the first connection that a notice finds too old.
        &[
            &[Replace(0), Call(0), Call(0), Fail(0), Send(0), ForceClosed(1), Run(1), Notice(0)][..],
            &[Tick(1_100), Cut(0), Fail(0)],
        ]
        .concat(),
        // A server that has gone back repeats the generation of a row that was heard of before.
        &[
            &[ForceOpen(1), ForceOpen(0), Replace(0), ForceClosed(0), Run(1), Call(0), Send(0), Refuse(0)][..],
            &[Answer(0), Notice(0), Fail(0), ForceClosed(1), Restore, Send(0), Arrive(0), Notice(0), Run(1)],
            &[Call(0), Notice(0), Fail(0), Call(0)],
        ]
        .concat(),
        // A server that has gone back has a probe that has ended meanwhile.
        &[
            &[Call(1), Call(1), Fail(1), Fail(1), Call(0), Run(1), Tick(3_000), Call(1), Run(1), Fail(1)][..],
            &[Backup, Call(0), Run(1), Restore],
        ]
        .concat(),
        // A server that has gone back, a closing by hand without its answer, and its notice.
        &[
            &[ForceOpen(1), ForceOpen(0), Run(0), Run(1), ForceClosed(1), Call(1), Send(1), Call(1)][..],
            &[ForceClosed(0), Fail(1), Fail(1), Restore, Call(0), Arrive(1), Notice(1), Cut(1)],
        ]
        .concat(),
        // An answer to an opening by hand is lost, and a server that has gone back repeats a row.
        &[
            &[Forget, ForceOpen(1), ForceOpen(0), Run(0), Restore, ForceOpen(0), Notice(1), Send(1), Run(0)][..],
            &[Call(0), Restore, Notice(1), Cut(1), ForceClosed(1), Call(1), Call(1), Fail(1), ForceClosed(0), Fail(1)],
        ]
        .concat(),
        // A row comes between the failures that open a circuit that was closed by hand.
        &[ForceClosed(1), Call(1), Fail(1), ForceClosed(0), Run(0), Notice(1), Call(1), Fail(1), Send(1)],
        // Two rows come while an answer is on its way.
        &[ForceClosed(1), Send(1), Arrive(1), ForceOpen(0), Run(0), Notice(1), Notice(1)],
        // A probe ends after another one has opened the circuit again, and its answer comes late.
        &[
            &[Call(0), Call(0), Fail(0), Fail(0), Run(0), Run(1), Tick(3_000), Call(0), Run(0), Tick(3_000)][..],
            &[Call(1), Run(1), Fail(1), Run(1), Run(0), Fail(0), Send(0), Arrive(0), Tick(100), Answer(0)],
        ]
        .concat(),
        // A cool-down with a late notice is over on the server, as an answer shows.
        &[
            &[Call(0), Call(0), Fail(0), Fail(0), Run(0), Run(1), Tick(3_000), Call(1), Run(1), Tick(3_000)][..],
            &[Call(0), Run(0), Fail(0), Run(0), Tick(100), Notice(1), Tick(2_950), Fail(1), Run(1)],
        ]
        .concat(),
        // The server is asked again as soon as that may be.
        &[Call(0), Fail(0), Tick(100), Send(0), LoseAnswer(0), Answer(0), Tick(1_000), Send(0)],
    ];
    for script in scripts {
        let mut world = World::new(1);
        for input in script {
            world.apply(*input);
        }
        world.settle();
    }
}

fn random() {
    let cases = std::env::var("PROPTEST_CASES").map_or(CASES, |text| text.parse().expect("a number of cases"));
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4_000, ..Config::default() };
    let script = prop::collection::vec(prop::sample::select(world::all()), 1..120);
    let play = |(probes, script): (u32, Vec<Input>)| {
        let mut world = World::new(probes);
        for input in script {
            world.apply(input);
        }
        world.settle();
        Ok(())
    };
    if let Err(error) = TestRunner::new(config).run(&(1..=2_u32, script), play) {
        panic!("{error}");
    }
    println!("replicas: {cases} random scripts");
}

/// Returns what happened before, for one and two probes.
fn worlds() -> Vec<Start> {
    use Input::{Answer, Arrive, Backup, Call, Cut, Fail, ForceClosed, ForceOpen, Run, Send, Tick};
    let trip = [Call(0), Call(0), Fail(0), Fail(0), Run(0), Run(1)];
    let trip_of_other = [Call(1), Call(1), Fail(1), Fail(1), Send(1), Arrive(1)];
    let after = |then: &[Input]| [&trip[..], then].concat();
    let preludes = [
        vec![],
        vec![Call(0), Call(1), Fail(0), Fail(1), Tick(100), Send(0), Send(1)],
        after(&[]),
        after(&[Tick(3_000)]),
        after(&[Tick(3_000), Call(0), Send(0)]),
        after(&[Tick(3_000), Call(0), Call(1), Run(0), Run(1)]),
        after(&[Tick(3_000), Call(0), Send(0), Arrive(0), Cut(0)]),
        after(&[Tick(3_000), Call(0), Run(0), Cut(0), Call(0)]),
        vec![Cut(0), Call(0), Call(0), Fail(0), Fail(0)],
        after(&[Tick(3_000), Call(0), Run(0), Fail(0), Send(0)]),
        vec![ForceOpen(0), Send(0), Arrive(0)],
        vec![ForceClosed(0), Send(0), Call(0), Call(0), Fail(0), Fail(0)],
        [&[Call(0), Fail(0), Tick(100), Send(0), Arrive(0)], &trip_of_other[..]].concat(),
        vec![Backup, Call(0), Call(0), Call(0), Fail(0), Fail(0), Send(0), Arrive(0), Answer(0)],
    ];
    let of_each = |prelude: Vec<Input>| [1, 2].map(|probes| Start { probes, prelude: prelude.clone() });
    preludes.into_iter().flat_map(of_each).collect()
}
