//! The program with which gungraun runs valgrind.

use std::path::PathBuf;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::toolchain::programs;
use crate::workspace;

/// Returns the path of gungraun's runner, in exactly the version that the benches were built for.
pub(super) fn runner() -> Result<PathBuf> {
    let version =
        locked_version(&workspace::manifest("Cargo.lock")?, "gungraun").context("Cargo.lock has no gungraun")?;
    programs::from_registry("gungraun-runner", &version)
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
    fn the_version_in_the_lock_is_found_by_the_exact_name_of_the_package() {
        let lock = "[[package]]\nname = \"gungraun-common\"\nversion = \"0.1.0\"\n\
                    [[package]]\nname = \"gungraun\"\nversion = \"0.20.0\"\n";
        let lock = lock.parse().unwrap();
        assert_eq!(locked_version(&lock, "gungraun").as_deref(), Some("0.20.0"));
        assert_eq!(locked_version(&lock, "iai"), None);
    }
}
