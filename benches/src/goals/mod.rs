//! The goals, each in the file that is named after it.

mod cancel;
pub(crate) mod contended;
mod embedded;
mod execute;
pub(crate) mod flat;
pub(crate) mod hand_off;
mod limits;
pub mod memory;
mod observe;
mod partitions;
mod python;
mod reject;
mod statistics;
mod uncontended;
mod uncontended_try;
mod wait_cycle;

use std::collections::HashSet;

use crate::goal::{Figure, Goal};
use crate::scene::Scene;

/// All goals, in the order of the table.
#[must_use]
pub fn all() -> Vec<Goal> {
    vec![
        uncontended::goal(),
        uncontended_try::goal(),
        execute::goal(),
        statistics::goal(),
        contended::goal(),
        reject::goal(),
        wait_cycle::goal(),
        hand_off::goal(),
        memory::goal(),
        cancel::goal(),
        limits::goal(),
        flat::goal(),
        observe::goal(),
        partitions::goal(),
        python::goal(),
        embedded::goal(),
    ]
}

/// Every scene whose instructions are counted, once. The harness and the reader of what it leaves go by the place in this list.
#[must_use]
pub fn counted() -> Vec<Scene> {
    let mut seen = HashSet::new();
    let rows = all().into_iter().flat_map(|goal| goal.rows);
    rows.flat_map(|row| counted_in(row.figure)).filter(|scene| seen.insert(scene.name.clone())).collect()
}

fn counted_in(figure: Figure) -> Vec<Scene> {
    match figure {
        Figure::Instructions(ours, peer) => vec![ours, peer],
        Figure::Builds(scene) | Figure::Within(scene, _) => vec![scene],
        Figure::Spread(scenes) => scenes,
        _ => Vec::new(),
    }
}

/// The pairs that are timed, each once.
#[must_use]
pub fn timed() -> Vec<(Scene, Scene)> {
    let rows = all().into_iter().flat_map(|goal| goal.rows);
    rows.filter_map(|row| if let Figure::Time(ours, peer) = row.figure { Some((ours, peer)) } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Pace;

    /// What is promised, and how many limits each goal has.
    const PROMISED: [(&str, usize); 16] = [
        ("uncontended", 3),
        ("uncontended-try", 2),
        ("execute", 3),
        ("statistics", 1),
        ("contended", 2),
        ("reject", 1),
        ("wait-cycle", 3),
        ("hand-off", 2),
        ("memory", 7),
        ("cancel", 2),
        ("limits", 2),
        ("flat", 1),
        ("observe", 4),
        ("partitions", 5),
        ("python", 2),
        ("embedded", 2),
    ];

    #[test]
    fn no_goal_is_dropped() {
        let limits = |goal: &Goal| goal.rows.iter().filter(|row| row.limit.is_some()).count();
        let found: Vec<_> = all().iter().map(|goal| (goal.id, limits(goal))).collect();
        assert_eq!(found, PROMISED);
    }

    #[test]
    fn every_scene_can_be_performed() {
        let quick = |scene: &&Scene| !scene.name.contains("000") && !matches!(scene.pace, Pace::Once(_));
        let timed = timed().into_iter().flat_map(|(ours, peer)| [ours, peer]);
        let scenes: Vec<_> = counted().into_iter().chain(timed).collect();
        for scene in scenes.iter().filter(quick) {
            let mut performed = 0;
            scene.perform(scene.operations(10), &mut |work| {
                work();
                performed += 1;
            });
            assert_eq!(performed, 1, "{}", scene.name);
        }
    }

    #[test]
    fn the_scene_that_xtask_counts_without_statistics_comes_first() {
        let built = statistics::goal().rows.into_iter().flat_map(|row| counted_in(row.figure));
        let built: Vec<_> = built.map(|scene| scene.name).collect();
        assert_eq!(built, [counted()[0].name.as_str()]);
    }

    #[test]
    fn a_name_stands_for_one_scene() {
        let names: Vec<_> = counted().into_iter().map(|scene| scene.name).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }
}
