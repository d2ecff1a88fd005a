//! Finding a compiler of one version: named by the user, in rustup's list, or from Debian. Never installs a toolchain.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::debian;
use crate::run::{ask, command};

/// Names the compiler to use, before any other place is looked at.
pub(crate) const VARIABLE: &str = "BULKLINK_MSRV_RUSTC";

/// A compiler that works, and the folder with its libraries if it isn't where it was built to lie.
pub(crate) struct Compiler {
    pub(crate) rustc: PathBuf,
    pub(crate) libraries: Option<PathBuf>,
}

/// Looks in all places, in order.
pub(crate) fn find(version: &str) -> Result<Option<Compiler>> {
    if let Some(rustc) = env::var_os(VARIABLE) {
        return named(rustc.into(), version).map(Some);
    }
    Ok(from_rustup(version).or_else(|| debian::unpacked(version)))
}

fn named(rustc: PathBuf, version: &str) -> Result<Compiler> {
    let compiler = Compiler { rustc, libraries: None };
    let found = compiler.version().with_context(|| format!("{VARIABLE} names no compiler that runs"))?;
    ensure!(is_version(&found, version), "{VARIABLE} names Rust {found}, but {version} is wanted");
    Ok(compiler)
}

/// Only a toolchain that is already listed: naming another would make rustup fetch it.
fn from_rustup(version: &str) -> Option<Compiler> {
    let list = ask(&mut command("rustup", &["toolchain", "list"]))?;
    let toolchain = listed(&list, version)?;
    let rustc = ask(&mut command("rustup", &["which", "--toolchain", toolchain, "rustc"]))?;
    Compiler { rustc: rustc.trim().into(), libraries: None }.if_version(version)
}

fn listed<'a>(list: &'a str, version: &str) -> Option<&'a str> {
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.into_iter().find(|name| is_version(name.split('-').next().unwrap_or_default(), version))
}

/// Whether `found` is `wanted` or one of its patch releases.
fn is_version(found: &str, wanted: &str) -> bool {
    found.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Compiler {
    /// Itself, if it runs and is that version.
    pub(crate) fn if_version(self, version: &str) -> Option<Self> {
        let found = self.version()?;
        is_version(&found, version).then_some(self)
    }

    /// Makes cargo use this compiler.
    pub(crate) fn apply<'a>(&self, cargo: &'a mut Command) -> &'a mut Command {
        self.with_libraries(cargo).env("RUSTC", &self.rustc).env("RUSTDOC", self.rustc.with_file_name("rustdoc"))
    }

    fn version(&self) -> Option<String> {
        let answer = ask(self.with_libraries(&mut command(&self.rustc, &["--version"])))?;
        answer.split_whitespace().nth(1).map(str::to_owned)
    }

    fn with_libraries<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.libraries {
            Some(folder) => command.env("LD_LIBRARY_PATH", folder),
            None => command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_release_is_the_version_and_a_longer_number_is_not() {
        assert!(is_version("1.85", "1.85") && is_version("1.85.1", "1.85"));
        assert!(!is_version("1.8", "1.85") && !is_version("1.850", "1.85"));
    }

    #[test]
    fn only_a_listed_toolchain_of_the_version_is_taken() {
        let list = "stable-x86_64-unknown-linux-gnu (active, default)\n1.85.1-x86_64-unknown-linux-gnu\n";
        assert_eq!(listed(list, "1.85"), Some("1.85.1-x86_64-unknown-linux-gnu"));
        assert_eq!(listed(list, "1.84"), None);
        assert_eq!(listed("no installed toolchains\n", "1.85"), None);
    }

    #[test]
    fn a_named_compiler_of_another_version_is_an_error() {
        assert!(named("rustc".into(), "0.1").is_err());
        assert!(named("bulklink-no-such-rustc".into(), "1.85").is_err());
    }
}
