//! Every script of inputs up to a depth.

use bulklink_model::merged::{Extent, search};

use crate::world::{Budget, Input, World};

const EXTENTS: [Extent; 2] = [
    Extent { depth: 4, scripts: 1_753_903, steps: 698_010 },
    Extent { depth: 5, scripts: 49_934_411, steps: 10_806_107 },
];

/// Returns two processes that have stated nothing, one that has all units, and two that share them.
fn starts() -> Vec<World> {
    use Input::{Arrive, Deliver, Send};
    let play = |mut world: World, inputs: &[Input]| {
        for input in inputs {
            world.apply(*input).expect("no rule is broken");
        }
        world
    };
    let new = World::new(2, 2, false, Budget::SMALL);
    let one = play(new.clone(), &[Send(0, 1), Arrive(0, false), Deliver(0, false)]);
    let mut two = play(one.clone(), &[Send(1, 1), Arrive(0, false)]);
    while !two.down.is_empty() {
        two = play(two, &[Deliver(0, false)]);
    }
    vec![new, one, two]
}

#[test]
fn scripts_of_n_actions() {
    search("shares", &starts(), &EXTENTS);
}
