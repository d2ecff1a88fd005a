//! The folder of one run: what was read, and for what was not, why.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace;

/// Where the programs leave what they read.
pub(super) struct Readings {
    folder: PathBuf,
}

impl Readings {
    /// An empty folder: nothing of an earlier run may pass for a result of this one.
    pub(super) fn fresh() -> Result<Self> {
        Self::at(workspace::target_path("bench/readings"))
    }

    fn at(folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Readings { folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs what reads a source. If that fails, the reason is what the report tells in its place.
    pub(super) fn attempt(&self, source: &str, read: impl FnOnce() -> Result<()>) -> Result<()> {
        let Err(error) = read() else { return Ok(()) };
        eprintln!("{source}: NOT MEASURED: {error:#}");
        self.discard(source)?;
        Ok(fs::write(self.path(source).with_extension("missing"), format!("{error:#}"))?)
    }

    /// Half of the figures would look like all of them.
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
    fn a_source_that_fails_leaves_its_reason_and_nothing_else() {
        let readings =
            Readings::at(std::env::temp_dir().join(format!("bulklink-bench-{}", std::process::id()))).unwrap();
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
