//! The goals, and the scenes that are counted and timed.

use std::collections::HashSet;

use bulklink_benches::goal::{Figure, Goal};
use bulklink_benches::goals::{all, chosen, counted, timed, uncontended};
use bulklink_benches::scene::{Pace, Scene};

/// The promises: how many limits each goal has.
const PROMISED: [(&str, usize); 21] = [
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
    ("pool", 4),
    ("adaptive", 2),
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
    let built = rows.filter_map(|row| match row.figure {
        Figure::Builds(scene) => Some(scene.name),
        _ => None,
    });
    let built: Vec<_> = built.collect();
    let first: Vec<_> = counted().into_iter().take(2).map(|scene| scene.name).collect();
    assert_eq!(built, first, "as many as `xtask` counts");
}

#[test]
fn each_name_belongs_to_one_scene() {
    let names: Vec<_> = counted().into_iter().map(|scene| scene.name).collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
}
