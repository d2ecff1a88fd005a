//! The goals. Each has a file of the same name; `figures` has a part of *observe*.

mod adaptive;
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
mod pool;
mod python;
mod reject;
mod statistics;
pub mod uncontended;
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
        pool::goal(),
        adaptive::goal(),
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
