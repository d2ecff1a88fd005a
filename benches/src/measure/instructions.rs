//! Instructions of one operation. Callgrind counts them inside the function [`callgrind`]. They are
//! read back from gungraun's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use walkdir::WalkDir;

use super::float;
use crate::goals;
use crate::scene::Scene;

/// So many that the loop around them is a rounding error.
const OPERATIONS: usize = 1_000;

/// Gungraun's name of a scene, before the scene's place in the list.
const ID: &str = "scenes_";

/// Performs a scene twice: to warm up, and to count.
pub fn count(scene: &Scene) {
    scene.perform(scene.operations(OPERATIONS), &mut |work| {
        work();
        callgrind(work);
    });
}

/// Runs the work. Callgrind knows this function by its name and counts nothing outside it, so
/// set-up and clean-up are left out.
#[inline(never)]
pub fn callgrind(work: &mut dyn FnMut()) {
    work();
}

/// What callgrind counted, divided by the operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// All instructions.
    pub all: f64,
    /// Those that lock the bus: exchanges and additions of atomics, and the mutexes' own.
    pub locked: f64,
    /// The instructions of each of our functions, without those of the functions it calls.
    pub within: BTreeMap<String, f64>,
}

impl Counts {
    /// Returns the instructions in our functions with one of the words in their names.
    #[must_use]
    pub fn within(&self, words: &[&str]) -> f64 {
        let holds = |name: &str| words.iter().any(|word| name.to_lowercase().contains(word));
        self.within.iter().filter(|(name, _)| holds(name)).map(|(_, count)| count).sum()
    }
}

/// Reads the instructions of one operation, by scene, from the folder that gungraun wrote to.
///
/// # Errors
///
/// If a summary is missing, or is not as expected.
pub fn read(home: &Path) -> Result<BTreeMap<String, Counts>> {
    let scenes = goals::counted();
    let mut counts = BTreeMap::new();
    for entry in WalkDir::new(home) {
        let entry = entry?;
        if entry.file_name() == "summary.json" {
            let read = read_scene(&scenes, entry.path());
            counts.extend([read.with_context(|| format!("in {}", entry.path().display()))?]);
        }
    }
    ensure!(!counts.is_empty(), "no summaries below {}", home.display());
    Ok(counts)
}

/// Reads a scene's name and counts from its summary and from callgrind's file beside it.
fn read_scene(scenes: &[Scene], summary: &Path) -> Result<(String, Counts)> {
    let (place, instructions, locked) = parse(&fs::read_to_string(summary)?)?;
    let scene = scenes.get(place).with_context(|| format!("there is no scene {place}"))?;
    let operations = float(scene.operations(OPERATIONS) as u128);
    let out = summary.with_file_name(format!("callgrind.scene.{ID}{place}.out"));
    let out = fs::read_to_string(&out).with_context(|| format!("cannot read {}", out.display()))?;
    let within = functions(&out);
    let sum: u64 = within.values().sum();
    ensure!(sum == instructions, "the functions have {sum} instructions in total, and the summary {instructions}");
    let ours = within.into_iter().filter(|(name, _)| is_ours(name));
    let each = |count: u64| float(count.into()) / operations;
    let within = ours.map(|(name, count)| (name, each(count))).collect();
    Ok((scene.name.clone(), Counts { all: each(instructions), locked: each(locked), within }))
}

/// Reads the instructions of each function, without those of the functions it calls. In callgrind's
/// format a line of numbers is a cost of the function named above it. The line after a `calls=` is
/// an exception: it is the cost of the callee.
#[must_use]
pub fn functions(out: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let (mut function, mut called) = ("", false);
    for line in out.lines() {
        match (line.strip_prefix("fn="), cost(line)) {
            (Some(name), _) => function = name,
            (None, Some(cost)) if !called => {
                *counts.entry(function.to_owned()).or_default() += cost;
            }
            _ => {}
        }
        called = line.starts_with("calls=");
    }
    counts
}

/// Parses the second number of a line of numbers: instructions. Those that lock the bus follow.
fn cost(line: &str) -> Option<u64> {
    let mut numbers = line.split_whitespace();
    numbers.next()?.trim_start_matches('+').parse::<i64>().ok()?;
    numbers.next()?.parse().ok()
}

/// Returns whether the function belongs to a crate that is measured, and not to a peer.
#[must_use]
pub fn is_ours(function: &str) -> bool {
    function.contains("bulklink") && !function.contains("bulklink_benches")
}

/// Parses the scene's place in the list, the instructions of all its operations, and how many of
/// them lock the bus.
///
/// # Errors
///
/// If one of them is missing, or nothing was counted.
pub fn parse(summary: &str) -> Result<(usize, u64, u64)> {
    let summary: Value = serde_json::from_str(summary)?;
    let id = summary["id"].as_str().context("the summary has no id")?;
    let place = id.strip_prefix(ID).and_then(|place| place.parse().ok());
    let place = place.with_context(|| format!("id is `{id}`, not `{ID}` and a number"))?;
    let metric = |event: &str| {
        let new = summary.pointer(&format!("/profiles/0/data/total/metrics/{event}/values/new"));
        new.and_then(Value::as_u64).with_context(|| format!("the summary has no new {event}"))
    };
    let (instructions, locked) = (metric("Ir")?, metric("Ge")?);
    ensure!(instructions > 0, "nothing was counted: callgrind did not find the function to count in");
    Ok((place, instructions, locked))
}
