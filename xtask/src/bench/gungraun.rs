//! The runner that gungraun drives valgrind with: found, or installed where that may be.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

use crate::run::{ask, cargo, command, run};
use crate::workspace::{self, NO_INSTALL, may_install};

/// Gungraun's runner, of the very version that the benches were built for, below the target folder.
pub(super) fn runner() -> Result<PathBuf> {
    let version =
        locked_version(&workspace::manifest("Cargo.lock")?, "gungraun").context("Cargo.lock has no gungraun")?;
    let root = workspace::target_path("tools");
    let runner = root.join("bin/gungraun-runner");
    if !is_version(&runner, &version) {
        ensure!(may_install(), "gungraun-runner {version} is not here, and {NO_INSTALL} forbids to install it");
        let exactly = format!("={version}");
        let mut install = cargo(&["install", "--locked", "gungraun-runner", "--version", &exactly, "--root"]);
        run(install.arg(&root))?;
    }
    Ok(runner)
}

fn is_version(runner: &PathBuf, version: &str) -> bool {
    let answer = ask(&mut command(runner, &["--version"]));
    answer.is_some_and(|answer| answer.split_whitespace().last() == Some(version))
}

fn locked_version(lock: &Table, name: &str) -> Option<String> {
    let mut packages = lock.get("package")?.as_array()?.iter();
    let package = packages.find(|package| package.get("name").and_then(Value::as_str) == Some(name))?;
    package.get("version").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_the_lock_is_that_of_the_package_of_this_very_name() {
        let lock = "[[package]]\nname = \"gungraun-common\"\nversion = \"0.1.0\"\n\
                    [[package]]\nname = \"gungraun\"\nversion = \"0.20.0\"\n";
        let lock = lock.parse().unwrap();
        assert_eq!(locked_version(&lock, "gungraun").as_deref(), Some("0.20.0"));
        assert_eq!(locked_version(&lock, "iai"), None);
    }

    #[test]
    fn a_runner_that_is_absent_is_of_no_version() {
        assert!(!is_version(&"bulklink-no-such-runner".into(), "0.20.0"));
    }
}
