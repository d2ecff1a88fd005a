//! What the programs left in their folder, or why they left nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::measure::instructions::{self, Counts};
use crate::measure::time::Comparison;

/// Readings by their name.
pub type Named = BTreeMap<String, f64>;

/// What one program read, or why it did not.
pub type Source<T> = Result<T, String>;

/// Everything that was read in one run.
#[derive(Debug)]
pub struct Readings {
    /// Of pairs, in nanoseconds.
    pub time: Source<Vec<Comparison>>,
    /// Instructions of one operation, by scene.
    pub instructions: Source<BTreeMap<String, Counts>>,
    /// The same without statistics.
    pub without_statistics: Source<BTreeMap<String, Counts>>,
    /// Bytes and allocations.
    pub memory: Source<Named>,
    /// Nanoseconds of one operation of the Python library.
    pub python: Source<Named>,
    /// About the embedded build.
    pub embedded: Source<Named>,
}

impl Readings {
    /// Reads the folder. Of each source there is `NAME.json`, or for instructions a folder `NAME`, or else `NAME.missing`, which
    /// says why.
    ///
    /// # Errors
    ///
    /// If a file isn't what it should be.
    pub fn load(folder: &Path) -> Result<Self> {
        Ok(Readings {
            time: json(folder, "time")?,
            instructions: counts(folder, "instructions")?,
            without_statistics: counts(folder, "without-statistics")?,
            memory: json(folder, "memory")?,
            python: json(folder, "python")?,
            embedded: json(folder, "embedded")?,
        })
    }
}

fn json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Source<T>> {
    let path = folder.join(name).with_extension("json");
    if !path.exists() {
        return Ok(Err(missing(folder, name)));
    }
    let text = fs::read_to_string(&path)?;
    serde_json::from_str(&text).map(Ok).with_context(|| format!("{} is not what it should be", path.display()))
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
    fn what_is_there_is_read_and_what_is_missing_says_why() {
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
    fn a_broken_file_is_an_error_that_names_it() {
        let folder = folder("broken");
        fs::write(folder.join("time.json"), "{}").unwrap();
        let error = Readings::load(&folder).unwrap_err().to_string();
        assert!(error.ends_with("time.json is not what it should be"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
