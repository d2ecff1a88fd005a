//! The folder of one run: the readings, and the reasons for those that are missing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace;

/// The folder that the programs write their readings to.
pub(super) fn folder() -> PathBuf {
    workspace::target_path("bench/readings")
}

/// Empties the folder, so that no reading of an earlier run is taken for one of this run.
pub(super) fn clear(folder: &Path) -> Result<()> {
    remove(folder)?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Reads a source. If that fails, the report shows the reason in place of the figures.
pub(super) fn attempt(folder: &Path, source: &str, read: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let Err(error) = read(folder) else { return Ok(()) };
    eprintln!("{source}: NOT MEASURED: {error:#}");
    // Half of the figures would look like all of them.
    remove(&folder.join(source))?;
    remove(&folder.join(source).with_extension("json"))?;
    Ok(fs::write(folder.join(source).with_extension("missing"), format!("{error:#}"))?)
}

/// Removes a file or a folder that may not exist.
fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    if path.exists() { Ok(removed?) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_fails_leaves_only_its_reason() {
        let folder = std::env::temp_dir().join(format!("bulklink-bench-{}", std::process::id()));
        clear(&folder).unwrap();
        fs::create_dir(folder.join("time")).unwrap();
        fs::write(folder.join("time.json"), "half").unwrap();
        attempt(&folder, "time", |_| anyhow::bail!("interrupted")).unwrap();
        attempt(&folder, "memory", |folder| Ok(fs::write(folder.join("memory.json"), "{}")?)).unwrap();
        let mut left: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["memory.json", "time.missing"]);
        assert_eq!(fs::read_to_string(folder.join("time.missing")).unwrap(), "interrupted");
        remove(&folder).unwrap();
    }
}
