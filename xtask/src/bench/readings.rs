//! The folder of one run: the readings, and the reasons for those that are missing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace;

/// The folder that the programs write their readings to.
pub(super) struct Readings {
    folder: PathBuf,
}

impl Readings {
    pub(super) fn of_this_run() -> Self {
        Readings { folder: workspace::target_path("bench/readings") }
    }

    /// Empties the folder, so that no reading of an earlier run is taken for one of this run.
    pub(super) fn clear(&self) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads a source. If that fails, the report shows the reason in place of the figures.
    pub(super) fn attempt(&self, source: &str, read: impl FnOnce() -> Result<()>) -> Result<()> {
        let Err(error) = read() else { return Ok(()) };
        eprintln!("{source}: NOT MEASURED: {error:#}");
        self.discard(source)?;
        Ok(fs::write(self.path(source).with_extension("missing"), format!("{error:#}"))?)
    }

    /// Removes what the source has written, because half of the figures would look like all of
    /// them.
    fn discard(&self, source: &str) -> Result<()> {
        let (folder, file) = (self.path(source), self.path(source).with_extension("json"));
        if folder.is_dir() {
            fs::remove_dir_all(folder)?;
        }
        if file.is_file() {
            fs::remove_file(file)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_fails_leaves_only_its_reason() {
        let folder = std::env::temp_dir().join(format!("bulklink-bench-{}", std::process::id()));
        let readings = Readings { folder };
        readings.clear().unwrap();
        fs::write(readings.path("time.json"), "half").unwrap();
        readings.attempt("time", || anyhow::bail!("interrupted")).unwrap();
        readings.attempt("memory", || Ok(fs::write(readings.path("memory.json"), "{}")?)).unwrap();
        let mut left: Vec<_> = readings.folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["memory.json", "time.missing"]);
        assert_eq!(fs::read_to_string(readings.path("time.missing")).unwrap(), "interrupted");
        fs::remove_dir_all(readings.folder).unwrap();
    }
}
