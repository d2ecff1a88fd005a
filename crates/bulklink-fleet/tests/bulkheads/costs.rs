//! Calls that cost several units.

use bulklink::{OwnedSlot, Request};

use crate::scene::{Call, Scene};

/// Each process could have a part of what its next call costs, and none enough.
#[test]
fn calls_that_cost_more_than_the_level_are_admitted_in_turn() {
    // The costs of each process, which come by turns.
    let worlds = [
        (4, [[3, 3], [3, 3], [3, 3]]),
        (4, [[4, 4], [4, 4], [4, 4]]),
        (10, [[7, 7], [6, 6], [1, 1]]),
        (5, [[1, 1], [5, 5], [2, 2]]),
        (4, [[1, 3], [3, 1], [2, 3]]),
        (6, [[1, 5], [5, 2], [4, 1]]),
    ];
    for (limit, costs) in worlds {
        let mut scene = Scene::new();
        let processes = [(); 3].map(|()| scene.process_with(|builder| builder.limit(limit)));
        let (mut done, mut made) = ([0; 3], 0);
        let mut calls: Vec<(usize, Call)> = vec![];
        let mut running: Vec<(usize, OwnedSlot)> = vec![];
        for _millis in 0..3_000 {
            // Each process has two calls, of which at least one waits.
            for (place, process) in processes.iter().enumerate() {
                let count = |list: &[usize]| list.iter().filter(|of| **of == place).count();
                let calling: Vec<_> = calls.iter().map(|(of, _)| *of).collect();
                let has: Vec<_> = running.iter().map(|(of, _)| *of).collect();
                for _ in count(&calling) + count(&has)..2 {
                    made += 1;
                    let cost = costs[place][made % 2];
                    calls.push((place, scene.call_of(process, Request::new().cost(cost))));
                }
            }
            running.clear();
            scene.advance(1);
            calls.retain(|(place, call)| match call.output() {
                None => true,
                Some(slot) => {
                    running.push((*place, slot.expect("it is admitted")));
                    false
                }
            });
            let used: usize = running.iter().map(|(_, slot)| slot.cost()).sum();
            assert!(used <= limit, "{used} of {limit}");
            for (place, _) in &running {
                done[*place] += 1;
            }
        }
        assert!(done.iter().all(|count| *count > 60), "{limit} {costs:?}: {done:?}");
    }
}
