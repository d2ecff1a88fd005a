//! Every script of inputs up to a depth, in many small worlds, against the reference model.
//!
//! Runs as part of `cargo test`; with `BULKLINK_DEPTH=N` each script is N inputs long instead of the
//! default, besides its prelude and one of the rarer inputs at its end.

mod check;
mod model;
mod search;
mod searched;
mod world;

use model::Ask;
use search::Extent;
use world::{Input, Start, World};

const EXTENT: Extent = Extent { depth: 4, scripts: 42_681_834, inputs: 48_889_734 };

fn main() {
    search::search::<World>("exhaustive", &worlds(), EXTENT.depth, &EXTENT);
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
