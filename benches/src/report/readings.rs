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

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("bulklink-readings-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn sources_are_read_and_a_missing_source_says_why() {
        let folder = folder("there");
        fs::write(folder.join("memory.json"), r#"{"slot": 16}"#).unwrap();
        fs::write(folder.join("python.missing"), "no pip\n").unwrap();
        let readings = Readings::load(&folder).unwrap();
        assert_eq!(readings.memory.unwrap()["slot"], 16.0);
        assert_eq!(readings.python.unwrap_err(), "no pip");
        assert_eq!(readings.time.unwrap_err(), "no program read it in this run");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_times_of_all_runs_are_in_one_list() {
        let folder = folder("runs");
        fs::create_dir(folder.join("time")).unwrap();
        for (run, ratio) in [("1.json", 0.5), ("2.json", 0.75)] {
            let text = format!(r#"[{{"ours": "a", "peer": "b", "ours_ns": 1, "peer_ns": 2, "ratio": {ratio}}}]"#);
            fs::write(folder.join("time").join(run), text).unwrap();
        }
        let mut ratios: Vec<_> = Readings::load(&folder).unwrap().time.unwrap().iter().map(|pair| pair.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        assert_eq!(ratios, [0.5, 0.75]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_broken_file_is_an_error_that_names_it() {
        let folder = folder("broken");
        fs::create_dir(folder.join("time")).unwrap();
        fs::write(folder.join("time/2.json"), "{}").unwrap();
        let error = Readings::load(&folder).unwrap_err().to_string();
        assert!(error.ends_with("2.json is not as expected"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
