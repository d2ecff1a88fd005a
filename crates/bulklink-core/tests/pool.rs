//! Every script of inputs up to a depth, in small worlds of pools, against their reference model.
//!
//! Runs as part of `cargo test`. `BULKLINK_DEPTH` makes its scripts longer by as much as those of
//! the gate's search.

use bulklink_core::pool::{Class, Limits, Share};
use bulklink_model::pool::{Input, Line, Lists, Start, World, share};
use bulklink_model::search::{Extent, search};

const EXTENTS: [Extent; 2] = [
    Extent { depth: 3, scripts: 3_989_598, inputs: 4_164_668 },
    Extent { depth: 4, scripts: 54_800_681, inputs: 57_134_142 },
];

/// The usual class, and one that is worse.
const USUAL: [usize; 1] = [Class::Normal as usize];
const BOTH: [usize; 2] = [Class::Normal as usize, Class::Sheddable as usize];
const BETTER: [usize; 2] = [Class::Critical as usize, Class::Normal as usize];

fn main() {
    search::<World<Lists>>("pool", &worlds(), &EXTENTS);
}

fn worlds() -> Vec<Start> {
    [
        with_one_class(),
        with_two_classes(),
        with_a_better_class(),
        with_changes(),
        with_deadlines(),
        with_waiters(),
        with_wide_heads(),
    ]
    .concat()
}

/// Returns shares, capacities, rooms and costs in every combination, each with two preludes: none,
/// and all units in use.
fn with_one_class() -> Vec<Start> {
    let mut worlds = vec![];
    let all = [
        vec![Share::PLAIN; 2],
        vec![Share::PLAIN; 3],
        vec![share(2, 0), Share::PLAIN],
        vec![share(1, 1), Share::PLAIN],
        vec![kept(share(1, 1)), Share::PLAIN],
        vec![kept(share(1, 2)), share(3, 1)],
        vec![below(1), Share::PLAIN],
        vec![with_room(1), paused()],
    ];
    for shares in all {
        for capacity in 1..=3 {
            if shares.iter().any(|share| share.floor >= capacity) {
                continue;
            }
            for room in [0, 1, 3] {
                for costs in [vec![1], vec![1, capacity.min(2)]] {
                    if capacity == 1 && costs.len() == 2 {
                        continue;
                    }
                    let smaller = Limits::new(1.max(capacity - 1));
                    for prelude in [vec![], busy(capacity, USUAL[0])] {
                        worlds.push(Start {
                            limits: vec![limits(capacity, room), smaller.clone()],
                            shares: shares.clone(),
                            other_shares: vec![below(1), kept(share(1, 1))],
                            costs: costs.clone(),
                            classes: USUAL.into(),
                            changes: false,
                            deadlines: false,
                            prelude,
                        });
                    }
                }
            }
        }
    }
    worlds
}

/// Returns worlds where calls of one class leave headroom to the other, or come before it once they
/// were passed over.
fn with_two_classes() -> Vec<Start> {
    let mut worlds = vec![];
    for shares in [vec![Share::PLAIN; 2], vec![share(1, 1), Share::PLAIN], vec![below(1), Share::PLAIN]] {
        for (headroom, relief) in [(0, 0), (1, 0), (0, 1), (1, 2)] {
            for (capacity, room) in [(2, 2), (3, 3)] {
                let mut limits = limits(capacity, room);
                (limits.headroom, limits.relief) = ([0, 0, headroom, 0], relief);
                for costs in [vec![1], vec![1, 2]] {
                    worlds.push(Start {
                        limits: vec![limits.clone()],
                        shares: shares.clone(),
                        other_shares: vec![],
                        costs,
                        classes: BOTH.into(),
                        changes: false,
                        deadlines: false,
                        prelude: busy(capacity, BOTH[0]),
                    });
                }
            }
        }
    }
    worlds
}

/// Returns worlds where the usual class, whose calls take offers, is the worse one.
fn with_a_better_class() -> Vec<Start> {
    let mut worlds = vec![];
    for shares in [vec![Share::PLAIN; 2], vec![below(1), Share::PLAIN], vec![below(2), Share::PLAIN]] {
        for headroom in [0, 1] {
            let mut limits = limits(3, 3);
            limits.headroom = [0, headroom, 0, 0];
            let ended = (0..3).map(Input::Release);
            for prelude in [vec![], busy(3, USUAL[0]).into_iter().chain(ended).collect()] {
                worlds.push(Start {
                    limits: vec![limits.clone(), self::limits(2, 3)],
                    shares: shares.clone(),
                    other_shares: vec![kept(share(1, 1))],
                    costs: vec![1, 2],
                    classes: BETTER.into(),
                    changes: false,
                    deadlines: false,
                    prelude,
                });
            }
        }
    }
    worlds
}

/// Returns worlds where shares and limits change at any time, and keys come and go; with units that
/// lines hold on loan in some.
fn with_changes() -> Vec<Start> {
    let mut worlds = vec![];
    for classes in [USUAL.to_vec(), BETTER.to_vec()] {
        for prelude in [vec![], busy(2, USUAL[0])] {
            let ended = prelude.iter().enumerate().map(|(call, _)| Input::Release(call));
            let lent = prelude.iter().copied().chain(ended).collect();
            for prelude in [prelude.clone(), lent] {
                let mut headroom = limits(2, 1);
                headroom.headroom = [0, 1, 1, 0];
                worlds.push(Start {
                    limits: vec![limits(2, 1), limits(1, 2), headroom],
                    shares: vec![share(1, 0), share(2, 1)],
                    other_shares: vec![below(1), kept(share(1, 1)), share(3, 2)],
                    costs: vec![1],
                    classes: classes.clone(),
                    changes: true,
                    deadlines: false,
                    prelude,
                });
            }
        }
    }
    worlds
}

/// Returns worlds where calls expire at any time, in lines with a better class and without.
fn with_deadlines() -> Vec<Start> {
    let mut worlds = vec![];
    let enter = |key, cost, within| {
        let line = Line { key, class: USUAL[0] };
        Input::Enter { line, cost, may_queue: true, within }
    };
    // A call of two units holds up another, until it expires.
    let held_up = [enter(0, 2, Some(1)), enter(1, 1, None), Input::Release(0)];
    worlds.push(Start {
        limits: vec![limits(2, 3)],
        shares: vec![Share::PLAIN; 2],
        other_shares: vec![],
        costs: vec![1, 2],
        classes: USUAL.into(),
        changes: false,
        deadlines: true,
        prelude: [busy(2, USUAL[0]), held_up.into()].concat(),
    });
    for shares in [vec![Share::PLAIN; 2], vec![below(1), share(2, 1)]] {
        for (capacity, classes) in [(1, USUAL.to_vec()), (2, USUAL.to_vec()), (2, BETTER.to_vec())] {
            worlds.push(Start {
                limits: vec![limits(capacity, 2)],
                shares: shares.clone(),
                other_shares: vec![],
                costs: vec![1, capacity],
                classes,
                changes: false,
                deadlines: true,
                prelude: busy(capacity, USUAL[0]),
            });
        }
    }
    worlds
}

/// Returns worlds where all keys wait already, one with two calls, and the room is full; or it has
/// one more place.
fn with_waiters() -> Vec<Start> {
    let mut worlds = vec![];
    for shares in [vec![Share::PLAIN; 3], vec![share(3, 0), share(2, 1), Share::PLAIN]] {
        for classes in [USUAL.to_vec(), BOTH.to_vec(), BETTER.to_vec()] {
            for (capacity, room) in [(1, 4), (2, 5), (3, 4)] {
                let enter = |key, cost| {
                    let line = Line { key, class: classes[classes.len() - 1] };
                    Input::Enter { line, cost, may_queue: true, within: None }
                };
                let waiters = [enter(0, capacity), enter(1, 1), enter(0, 1), enter(2, 1)];
                worlds.push(Start {
                    limits: vec![limits(capacity, room)],
                    shares: shares.clone(),
                    other_shares: vec![],
                    costs: vec![1],
                    classes: classes.clone(),
                    changes: false,
                    deadlines: false,
                    prelude: [busy(capacity, classes[0]), waiters.into()].concat(),
                });
            }
        }
    }
    worlds
}

/// Returns worlds where a key has taken turns, so that the next come up later, and waits with a
/// call of more than one.
fn with_wide_heads() -> Vec<Start> {
    let mut worlds = vec![];
    for shares in [vec![Share::PLAIN; 2], vec![Share::PLAIN; 3], vec![share(3, 0), share(2, 0)]] {
        for (classes, capacity) in [(USUAL.to_vec(), 2), (USUAL.to_vec(), 3), (BETTER.to_vec(), 2)] {
            let class = classes[classes.len() - 1];
            let enter = |key, cost| {
                let line = Line { key, class };
                Input::Enter { line, cost, may_queue: true, within: None }
            };
            // The two that run end, and so the first two that wait take their turns.
            let first = [enter(0, 1), enter(0, capacity - 1), enter(0, 2), enter(1, 1), enter(0, 2), enter(1, 1)];
            let ended = [Input::Release(0), Input::Release(1)];
            worlds.push(Start {
                limits: vec![limits(capacity, 4)],
                shares: shares.clone(),
                other_shares: vec![],
                costs: vec![1],
                classes,
                changes: false,
                deadlines: false,
                prelude: first.into_iter().chain(ended).collect(),
            });
        }
    }
    worlds
}

fn limits(capacity: u32, room: u32) -> Limits {
    let mut limits = Limits::new(capacity);
    limits.waiting_room = room;
    limits
}

/// Returns calls of the first two keys in turn, which take all units.
fn busy(capacity: u32, class: usize) -> Vec<Input> {
    let enter = |key| Input::Enter { line: Line { key, class }, cost: 1, may_queue: true, within: None };
    (0..capacity).map(|n| enter(n as usize % 2)).collect()
}

fn kept(share: Share) -> Share {
    let mut share = share;
    share.is_kept = true;
    share
}

fn below(units: u32) -> Share {
    let mut share = Share::PLAIN;
    share.ceiling = units;
    share
}

fn with_room(waiting_room: u32) -> Share {
    let mut share = Share::PLAIN;
    share.waiting_room = waiting_room;
    share
}

fn paused() -> Share {
    let mut share = Share::PLAIN;
    share.is_paused = true;
    share
}
