//! Tools of cargo's registry: found below the target folder, or installed there where that may be.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::run::{cargo, run};
use crate::workspace::{self, NO_INSTALL, may_install};

/// The program of a package of that name, of this very version.
pub(crate) fn provide(name: &str, version: &str) -> Result<PathBuf> {
    let root = workspace::target_path("tools");
    let installed = fs::read_to_string(root.join(".crates.toml")).unwrap_or_default();
    let program = root.join("bin").join(name);
    if !program.is_file() || !lists(&installed, name, version) {
        ensure!(may_install(), "{name} {version} is not here, and {NO_INSTALL} forbids to install it");
        let exactly = format!("={version}");
        run(cargo(&["install", "--locked", name, "--version", &exactly, "--root"]).arg(&root))?;
    }
    Ok(program)
}

/// Whether what cargo has installed, by its own record, is of this version.
fn lists(installed: &str, name: &str, version: &str) -> bool {
    installed.contains(&format!("\"{name} {version} ("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_installed_in_this_very_version_is_found() {
        let installed = "[v1]\n\"gungraun-runner 0.20.0 (registry+https://example.org)\" = [\"gungraun-runner\"]\n";
        assert!(lists(installed, "gungraun-runner", "0.20.0"));
        assert!(!lists(installed, "gungraun-runner", "0.20") && !lists(installed, "runner", "0.20.0"));
        assert!(!lists("", "gungraun-runner", "0.20.0"));
    }
}
