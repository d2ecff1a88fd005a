//! The readings of one run, or the reasons why there are none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::goals::uncontended::FLOOR;
use crate::measure::instructions::{self, Counts};
use crate::measure::time::{Comparison, median};

/// Readings by name.
pub type Named = BTreeMap<String, f64>;

/// The readings of one program, or the reason why there are none.
pub type Source<T> = Result<T, String>;

/// All readings.
#[derive(Debug)]
pub struct Readings {
    /// Times of pairs, in nanoseconds. A pair that was timed in several runs is there several
    /// times.
    pub time: Source<Vec<Comparison>>,
    /// Instructions of one operation, by scene.
    pub instructions: Source<BTreeMap<String, Counts>>,
    /// The same without statistics.
    pub without_statistics: Source<BTreeMap<String, Counts>>,
    /// Bytes and allocations.
    pub memory: Source<Named>,
    /// Nanoseconds of one operation of the Python library.
    pub python: Source<Named>,
    /// Figures of the embedded build.
    pub embedded: Source<Named>,
}

impl Readings {
    /// Reads the folder. Each source is a file `NAME.json`, or a folder `NAME` for instructions and
    /// time. If both are missing, `NAME.missing` has the reason.
    ///
    /// # Errors
    ///
    /// If a file is not as expected.
    pub fn load(folder: &Path) -> Result<Self> {
        Ok(Readings {
            time: runs(folder, "time")?,
            instructions: counts(folder, "instructions")?,
            without_statistics: counts(folder, "without-statistics")?,
            memory: json(folder, "memory")?,
            python: json(folder, "python")?,
            embedded: json(folder, "embedded")?,
        })
    }

    /// Returns the nanoseconds of a locked instruction, if there are times.
    #[must_use]
    pub fn locked(&self) -> Option<f64> {
        let floors = self.time.iter().flatten().filter(|pair| pair.peer == FLOOR);
        let times: Vec<_> = floors.map(|pair| pair.peer_ns / 2.0).collect();
        (!times.is_empty()).then(|| median(times.into_iter()))
    }
}

fn json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Source<T>> {
    let path = folder.join(name).with_extension("json");
    if !path.exists() {
        return Ok(Err(missing(folder, name)));
    }
    parse(&path).map(Ok)
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path)?;
    serde_json::from_str(&text).with_context(|| format!("{} is not as expected", path.display()))
}

/// Reads the files of a folder, one for each run, into one list.
fn runs<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Source<Vec<T>>> {
    let home = folder.join(name);
    if !home.is_dir() {
        return Ok(Err(missing(folder, name)));
    }
    let mut all = Vec::new();
    for entry in home.read_dir()? {
        all.extend(parse::<Vec<T>>(&entry?.path())?);
    }
    Ok(Ok(all))
}

fn counts(folder: &Path, name: &str) -> Result<Source<BTreeMap<String, Counts>>> {
    let home = folder.join(name);
    if home.is_dir() { instructions::read(&home).map(Ok) } else { Ok(Err(missing(folder, name))) }
}

fn missing(folder: &Path, name: &str) -> String {
    let why = fs::read_to_string(folder.join(name).with_extension("missing"));
    why.map_or_else(|_| "no program read it in this run".to_owned(), |why| why.trim().to_owned())
}
