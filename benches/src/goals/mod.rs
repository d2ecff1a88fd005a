//! The goals. Each has a file of the same name; `figures` has a part of *observe*.

mod breaker;
mod cancel;
mod config;
pub(crate) mod contended;
mod embedded;
mod execute;
mod figures;
pub(crate) mod flat;
pub(crate) mod hand_off;
pub(crate) mod layer;
mod limits;
pub mod memory;
mod observe;
mod partitions;
mod python;
mod reject;
mod statistics;
pub(crate) mod uncontended;
mod uncontended_try;
pub(crate) mod wait_cycle;

use std::collections::HashSet;
use std::iter;

use crate::goal::{Figure, Goal};
use crate::scene::Scene;

/// Returns all goals, in the order of the table.
#[must_use]
pub fn all() -> Vec<Goal> {
    vec![
        uncontended::goal(),
        uncontended_try::goal(),
        execute::goal(),
        layer::goal(),
        breaker::goal(),
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
        config::goal(),
        partitions::goal(),
        python::goal(),
        embedded::goal(),
    ]
}

/// Returns the goal with this name, or all goals.
#[must_use]
pub fn chosen(name: Option<&str>) -> Vec<Goal> {
    all().into_iter().filter(|goal| name.is_none_or(|name| name == goal.id)).collect()
}

/// Returns every scene with counted instructions, once. The harness and the reader of its files
/// identify a scene by its place in this list.
#[must_use]
pub fn counted() -> Vec<Scene> {
    let mut seen = HashSet::new();
    let figures = || all().into_iter().flat_map(|goal| goal.rows).map(|row| row.figure);
    // First those that are counted in two builds: `xtask` knows them by their places.
    let built = figures().filter(|figure| matches!(figure, Figure::Builds(_)));
    built.chain(figures()).flat_map(counted_in).filter(|scene| seen.insert(scene.name.clone())).collect()
}

fn counted_in(figure: Figure) -> Vec<Scene> {
    match figure {
        Figure::Instructions(ours, peer) | Figure::Locked(ours, peer) => vec![ours, peer],
        Figure::Builds(scene) | Figure::Within(scene, _) => vec![scene],
        Figure::Spread(scenes) => scenes,
        _ => Vec::new(),
    }
}

/// Returns the pairs that a run times, by goal, of the goal with this name or of all. Runs count
/// from 1, and all goals are in the first. Among the pairs of each goal is the one with the cost of
/// a locked instruction, because a machine changes its speed.
#[must_use]
pub fn timed(run: usize, name: Option<&str>) -> Vec<Vec<(Scene, Scene)>> {
    let goals = chosen(name).into_iter().filter(|goal| run <= goal.runs);
    let pairs = goals.map(|goal| goal.timed().collect::<Vec<_>>()).filter(|pairs| !pairs.is_empty());
    pairs.map(|pairs| iter::once(uncontended::locked()).chain(pairs).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Pace;

    /// The promises: how many limits each goal has.
    const PROMISED: [(&str, usize); 19] = [
        ("uncontended", 3),
        ("uncontended-try", 2),
        ("execute", 3),
        ("layer", 5),
        ("breaker", 9),
        ("statistics", 1),
        ("contended", 2),
        ("reject", 2),
        ("wait-cycle", 3),
        ("hand-off", 5),
        ("memory", 7),
        ("cancel", 2),
        ("limits", 3),
        ("flat", 1),
        ("observe", 14),
        ("config", 2),
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
    fn the_summary_has_eight_rows() {
        let rows = all().into_iter().flat_map(|goal| goal.rows);
        assert_eq!(rows.filter(|row| row.headline.is_some()).count(), 8);
    }

    #[test]
    fn only_the_contended_pairs_are_timed_in_five_runs() {
        let timed = |run| timed(run, None).into_iter().flatten().map(|(ours, _)| ours.name).collect::<Vec<_>>();
        assert!(timed(1).len() > timed(5).len());
        assert_eq!(timed(5), ["uncontended/slot", "contended/slot", "contended/slot", "contended/try_slot"]);
        assert!(timed(6).is_empty());
    }

    #[test]
    fn each_goal_is_timed_by_itself_beside_locked_instructions() {
        assert!(timed(1, None).iter().all(|pairs| pairs[0].1.name == uncontended::FLOOR));
        assert!(timed(1, Some("embedded")).is_empty());
        let pairs = timed(1, Some("breaker")).into_iter().flatten().skip(1).map(|(ours, _)| ours.name);
        let pairs: Vec<_> = pairs.collect();
        assert!(pairs.len() > 5 && pairs.iter().all(|name| name.starts_with("breaker/")), "{pairs:?}");
        assert!(chosen(Some("no such")).is_empty());
    }

    #[test]
    fn every_scene_can_be_performed() {
        let quick = |scene: &&Scene| !scene.name.contains("000") && !matches!(scene.pace, Pace::Once(_));
        let timed = timed(1, None).into_iter().flatten().flat_map(|(ours, peer)| [ours, peer]);
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
    fn the_scenes_that_xtask_counts_without_statistics_come_first() {
        let rows = all().into_iter().flat_map(|goal| goal.rows);
        let built = rows.filter(|row| matches!(row.figure, Figure::Builds(_))).flat_map(|row| counted_in(row.figure));
        let built: Vec<_> = built.map(|scene| scene.name).collect();
        let first: Vec<_> = counted().into_iter().take(2).map(|scene| scene.name).collect();
        assert_eq!(built, first, "as many as `xtask` counts");
    }

    #[test]
    fn each_name_belongs_to_one_scene() {
        let names: Vec<_> = counted().into_iter().map(|scene| scene.name).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }
}
