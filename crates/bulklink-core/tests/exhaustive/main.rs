//! Every script of inputs up to a depth, in many small worlds, against the reference model.
//!
//! Runs as part of `cargo test`; with `BULKLINK_DEPTH=N` each script is N inputs long instead of the
//! default, besides its prelude and one of the rarer inputs at its end.

mod check;
mod model;
mod world;

use std::env;
use std::panic::{self, AssertUnwindSafe};

use model::Ask;
use world::{Input, Start, World};

/// At this depth the counts below are asserted, so that the search cannot shrink unnoticed.
const DEPTH: usize = 4;
const SCRIPTS: u64 = 40_238_356;
const INPUTS: u64 = 45_408_912;

fn main() {
    let depth = depth();
    let mut search = Search::default();
    for start in worlds() {
        search.explore(&start, &mut vec![], depth);
    }
    println!("exhaustive: {} scripts, {} inputs", search.scripts, search.inputs);
    if depth == DEPTH {
        assert_eq!((search.scripts, search.inputs), (SCRIPTS, INPUTS), "the search has changed its extent");
    }
}

fn depth() -> usize {
    match env::var("BULKLINK_DEPTH") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("BULKLINK_DEPTH must be a number of inputs, got {text}")),
        Err(_) => DEPTH,
    }
}

/// Capacities, rooms and limits in every combination, each from three beginnings: nobody there; work running and somebody
/// waiting; and the same a moment later, with a slot given back that nobody has handed on yet. Then all of it through the word,
/// and both once more without measuring waits, where some have no limit.
fn worlds() -> Vec<Start> {
    let mut worlds = vec![];
    for capacity in 1..=3 {
        for waiting_room in 0..=2 {
            for (wait_limit, measures_waits) in [(None, true), (Some(2), true), (None, false)] {
                let busy = busy(capacity, waiting_room);
                let handing = [busy.clone(), vec![Input::Tick, Input::Release(0)]].concat();
                for prelude in [vec![], busy, handing] {
                    let observed = wait_limit.is_some() || !measures_waits;
                    let limits = (capacity, waiting_room, wait_limit);
                    let by_gate = Start { limits, measures_waits, observed, through_word: false, prelude };
                    worlds.push(Start { observed: false, through_word: true, ..by_gate.clone() });
                    worlds.push(by_gate);
                }
            }
        }
    }
    worlds
}

/// Everything in use, and the waiting room full: a patient one, then a light one in a hurry.
fn busy(capacity: usize, waiting_room: usize) -> Vec<Input> {
    let ask = Ask { cost: 1, may_queue: true, within: None, before: None };
    let running = (0..capacity).map(|_| Input::Enter(ask));
    let heavy = Ask { cost: capacity.min(2), ..ask };
    let hurried = Ask { within: Some(2), ..ask };
    running.chain([heavy, hurried].into_iter().take(waiting_room).map(Input::Enter)).collect()
}

#[derive(Default)]
struct Search {
    scripts: u64,
    inputs: u64,
}

impl Search {
    /// Tries every input after `script`, each in a world of its own, and every script that goes on from there.
    fn explore(&mut self, start: &Start, script: &mut Vec<Input>, left: usize) {
        let world = replay(start, script);
        let options = if left == 0 { world.last_options() } else { world.options() };
        for input in options {
            script.push(input);
            self.inputs += 1;
            try_last(start, script);
            if left == 0 {
                self.scripts += 1;
            } else {
                self.explore(start, script, left - 1);
            }
            script.pop();
        }
    }
}

/// The world after the script, of which all was checked before.
fn replay(start: &Start, script: &[Input]) -> World {
    let mut world = World::new(start);
    for &input in script {
        world.apply(input);
    }
    while world.gate.poll_wake().is_some() || world.gate.poll_event().is_some() {}
    world.model.woken.clear();
    world
}

/// Replays all but the last input, and checks everything after that one.
fn try_last(start: &Start, script: &[Input]) {
    let (&last, before) = script.split_last().expect("a script to try");
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        let mut world = replay(start, before);
        let past = world.model.history.len();
        world.apply(last);
        world.check(past);
    }));
    if let Err(cause) = outcome {
        eprintln!("in {start:?}\nafter {script:#?}");
        panic::resume_unwind(cause);
    }
}
