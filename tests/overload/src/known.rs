//! The best fixed limits that a run has found, so that a quick one need not find them again.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};

use crate::best::{Best, best};
use crate::document::digest;
use crate::plant::Plant;

/// The first line of the file.
const ABOUT: &str = "# The best fixed limits: plant (a digest), limit, calls/s, p99 in s, refused share, name.\n";

/// The best fixed limits of some plants.
#[derive(Clone, Debug, Default)]
pub struct Known(BTreeMap<u64, Best>);

impl Known {
    /// Reads what [`text`] wrote.
    ///
    /// # Errors
    ///
    /// If a line has other fields.
    pub fn read(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let read = |line: &str| parse(line).with_context(|| format!("not a best limit: `{line}`"));
        lines.map(read).collect::<Result<_>>().map(Known)
    }

    /// Returns the best fixed limit of each plant, and finds those that are not known.
    pub fn complete(&self, plants: &[Plant], threads: usize) -> Vec<Best> {
        let find = |plant: &Plant| self.0.get(&key(plant)).copied();
        let missing: Vec<Plant> = plants.iter().filter(|plant| find(plant).is_none()).cloned().collect();
        let mut found = best(&missing, threads).into_iter();
        plants.iter().filter_map(|plant| find(plant).or_else(|| found.next())).collect()
    }
}

/// Returns the best fixed limits as a text, in which all numbers are exact.
pub fn text<'a>(plants: impl IntoIterator<Item = (&'a Plant, &'a Best)>) -> String {
    plants.into_iter().fold(ABOUT.to_owned(), |mut text, (plant, best)| {
        let Best { limit, goodput, latency, refused } = best;
        let _ = writeln!(text, "{:016x} {limit} {goodput} {latency} {refused} {}", key(plant), plant.name);
        text
    })
}

fn parse(line: &str) -> Option<(u64, Best)> {
    let mut fields = line.split(' ');
    let key = u64::from_str_radix(fields.next()?, 16).ok()?;
    let limit = fields.next()?.parse().ok()?;
    let mut number = || fields.next()?.parse().ok();
    Some((key, Best { limit, goodput: number()?, latency: number()?, refused: number()? }))
}

/// A number of all that defines a plant.
fn key(plant: &Plant) -> u64 {
    digest([format!("{plant:?}").as_str()])
}
