//! Every script of inputs up to a depth, in many small worlds, against the gate's reference model.
//!
//! Runs as part of `cargo test`, and deeper in `cargo xtask prove`. With `BULKLINK_DEPTH=N` each
//! script is N inputs long, besides its prelude and one of the rarer inputs at its end.

use bulklink_core::{EventFilter, Reserve};
use bulklink_model::gate::{Ask, Extra, Input, Start, World};
use bulklink_model::search::{Extent, search};

const EXTENTS: [Extent; 2] = [
    Extent { depth: 3, scripts: 5_839_032, inputs: 6_470_222 },
    Extent { depth: 4, scripts: 86_260_098, inputs: 95_518_410 },
];

fn main() {
    search::<World>("exhaustive", &worlds(), &EXTENTS);
}

/// Returns capacities, waiting rooms and limits in every combination, each with three preludes.
///
/// The preludes are: none; all slots in use and waiters; and the same a nanosecond later, with one
/// slot released that has not been handed over, or a call with a deadline that has waited. Each
/// world then exists a second time with its inputs through the word. Worlds without a wait limit
/// exist with and without measured waits.
fn worlds() -> Vec<Start> {
    let mut worlds = vec![];
    for capacity in 1..=3 {
        for waiting_room in 0..=2 {
            for (wait_limit, measures_waits) in [(None, true), (Some(2), true), (None, false)] {
                let busy = busy(capacity, waiting_room);
                let handing = [busy.clone(), vec![Input::Tick, Input::Release(0)]].concat();
                // Without a limit, the requests with a deadline are those of whole calls.
                let deadlines = wait_limit.is_none() && measures_waits;
                let last = if deadlines { admitted(capacity, waiting_room) } else { handing };
                for prelude in [vec![], busy, last] {
                    let is_observed = wait_limit.is_some() || !measures_waits;
                    let observed = if is_observed { EventFilter::ALL } else { EventFilter::NONE };
                    let limits = (capacity, waiting_room, wait_limit);
                    let by_gate = Start { measures_waits, observed, deadlines, prelude, ..plain(limits) };
                    worlds.extend(twice(by_gate));
                }
            }
        }
    }
    worlds.extend(with_pauses());
    worlds.extend(with_restrictions());
    worlds.extend(with_fetches());
    worlds.extend(with_bounded_units());
    worlds.extend(with_places_left());
    worlds.extend(with_other_limits());
    worlds.extend(with_slots_that_are_taken_back());
    worlds.extend(with_measured_holds());
    worlds.extend(with_some_events());
    worlds.extend(with_parts());
    worlds
}

/// Returns worlds with pauses: by the gate, which is observed, and through the word.
fn with_pauses() -> impl Iterator<Item = Start> {
    let by_gate = [(1, 1, Some(2)), (2, 1, None)].map(|limits| Start {
        extra: Extra::Pauses,
        prelude: busy(limits.0, limits.1),
        ..plain(limits)
    });
    by_gate.into_iter().flat_map(twice)
}

/// Returns worlds where restrictions are set and lifted: by the gate, which is observed, and
/// through the word.
fn with_restrictions() -> impl Iterator<Item = Start> {
    let by_gate = [(2, 1, Some(2)), (3, 0, None), (2, 2, None)].map(|limits| Start {
        extra: Extra::Restrictions,
        prelude: busy(limits.0, limits.1),
        ..plain(limits)
    });
    by_gate.into_iter().flat_map(twice)
}

/// Returns worlds where calls wait for a higher restriction, with a waiting room and without.
fn with_fetches() -> impl Iterator<Item = Start> {
    let by_gate = [(2, 0, None), (3, 1, Some(2))].map(|limits| Start {
        extra: Extra::Fetches,
        prelude: busy(1, 0),
        ..plain(limits)
    });
    by_gate.into_iter().flat_map(twice)
}

/// Returns worlds where the units that are waited for are bounded: less than the places, and more.
fn with_bounded_units() -> impl Iterator<Item = Start> {
    let by_gate = [((2, 2, None), 2), ((1, 1, Some(2)), 1)].map(|(limits, units)| Start {
        waiting_room_units: Some(units),
        prelude: busy(limits.0, limits.1),
        ..plain(limits)
    });
    by_gate.into_iter().flat_map(twice)
}

/// Returns worlds where two calls wait and the waiting room has one more place. One is through a
/// word, and observed.
fn with_places_left() -> impl Iterator<Item = Start> {
    let by_gate = [(None, true), (Some(2), true), (None, false)].map(|(wait_limit, measures_waits)| Start {
        measures_waits,
        prelude: busy(1, 2),
        ..plain((1, 3, wait_limit))
    });
    let observed = Start { observed: EventFilter::WAITS, through_word: true, ..by_gate[0].clone() };
    by_gate.into_iter().flat_map(twice).chain([observed])
}

/// Returns worlds where all limits change: without a waiting room at first, and with one.
fn with_other_limits() -> impl Iterator<Item = Start> {
    let by_gate = [(1, 0, None), (1, 1, Some(2))].map(|limits| Start {
        extra: Extra::Limits,
        prelude: busy(limits.0, limits.1),
        ..plain(limits)
    });
    by_gate.into_iter().flat_map(twice)
}

/// Returns worlds where slots that are not collected are taken back: immediately, and after a
/// while. One slot is handed over already. Calls have a deadline in some.
fn with_slots_that_are_taken_back() -> impl Iterator<Item = Start> {
    let by_gate = [((1, 2, None), 0, true), ((2, 2, Some(3)), 2, false)].map(|(limits, limit, deadlines)| Start {
        collect_limit: Some(limit),
        deadlines,
        prelude: [busy(limits.0, limits.1), vec![Input::Release(0), Input::Advance]].concat(),
        ..plain(limits)
    });
    by_gate.into_iter().flat_map(twice)
}

/// Returns worlds where holds are measured, with and without deadlines of calls.
fn with_measured_holds() -> impl Iterator<Item = Start> {
    [((1, 1, None), true), ((2, 1, Some(2)), false)].into_iter().map(|(limits, deadlines)| Start {
        measures_holds: true,
        deadlines,
        prelude: busy(limits.0, limits.1),
        ..plain(limits)
    })
}

/// Returns worlds where grants are split, merged and written off; with measured holds in one.
fn with_parts() -> impl Iterator<Item = Start> {
    let start = |limits, prelude| Start { extra: Extra::Parts, prelude, ..plain(limits) };
    let heavy = Input::Enter(Ask { cost: 2, ..Ask::ONE });
    let measured = Start { measures_holds: true, deadlines: true, ..start((2, 1, None), vec![heavy]) };
    let plain = [start((3, 1, None), vec![heavy, Input::Enter(Ask::ONE)]), start((2, 1, None), busy(2, 1))];
    plain.into_iter().flat_map(twice).chain([measured])
}

/// Returns worlds through a word, of which only some events are observed.
fn with_some_events() -> impl Iterator<Item = Start> {
    let filters = [EventFilter::REJECTIONS, EventFilter::WAITS];
    let limits = [(1, 0, None), (1, 1, Some(2)), (2, 1, None)];
    limits.into_iter().flat_map(move |limits| {
        filters.map(|observed| Start {
            observed,
            through_word: true,
            prelude: busy(limits.0, limits.1),
            ..plain(limits)
        })
    })
}

/// Returns a world by the gate, which is observed.
fn plain(limits: (usize, usize, Option<u64>)) -> Start {
    Start {
        reserve: Reserve::Learnt,
        collect_limit: None,
        measures_holds: false,
        deadlines: false,
        limits,
        waiting_room_units: None,
        measures_waits: true,
        observed: EventFilter::ALL,
        through_word: false,
        extra: Extra::Nothing,
        prelude: vec![],
    }
}

/// Returns the world, and the same through the word.
fn twice(by_gate: Start) -> [Start; 2] {
    [Start { observed: EventFilter::NONE, through_word: true, ..by_gate.clone() }, by_gate]
}

/// Returns inputs that take all slots and fill the waiting room: a heavy waiter without a limit,
/// then a light one with a limit.
fn busy(capacity: usize, waiting_room: usize) -> Vec<Input> {
    let ask = Ask::ONE;
    let running = (0..capacity).map(|_| Input::Enter(ask));
    let heavy = Ask { cost: capacity.min(2), ..ask };
    let limited = Ask { within: Some(2), ..ask };
    running.chain([heavy, limited].into_iter().take(waiting_room).map(Input::Enter)).collect()
}

/// Returns inputs that admit a call with a deadline from the queue, after it has waited for more
/// than half of its time: it can still end in time or late.
fn admitted(capacity: usize, waiting_room: usize) -> Vec<Input> {
    let running = (0..capacity).map(|_| Input::Enter(Ask::ONE));
    let (whole, tick) = (Input::Enter(Ask { deadline: Some(14), ..Ask::ONE }), [Input::Tick, Input::Tick]);
    let mut inputs: Vec<_> = running.chain([whole]).chain(tick).chain([Input::Release(0), Input::Advance]).collect();
    if waiting_room > 0 {
        inputs.push(Input::Collect(capacity));
    }
    inputs
}
