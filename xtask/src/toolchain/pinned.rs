//! A compiler of one exact version: named by the user, installed through rustup, or from Debian.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::{Compiler, debian};
use crate::run::{ask, command};
use crate::step::Missing;

/// The environment variable that names the compiler to use.
const VARIABLE: &str = "BULKLINK_MSRV_RUSTC";

/// Returns the first compiler of this version.
pub(crate) fn find(version: &str) -> Result<Compiler> {
    if let Some(rustc) = env::var_os(VARIABLE) {
        return named(rustc.into(), version);
    }
    let found = from_rustup(version).or_else(|| from_debian(version));
    let why = format!("no Rust {version}; `rustup toolchain install {version}` adds it, or name one in {VARIABLE}");
    found.ok_or_else(|| Missing(why).into())
}

fn named(rustc: PathBuf, version: &str) -> Result<Compiler> {
    let compiler = Compiler { rustc, libraries: None };
    let found = compiler.version().with_context(|| format!("{VARIABLE} names no compiler that runs"))?;
    ensure!(is_version(&found, version), "{VARIABLE} names Rust {found}, but {version} is needed");
    Ok(compiler)
}

/// Uses only a toolchain that rustup lists, because rustup would fetch any other.
fn from_rustup(version: &str) -> Option<Compiler> {
    let list = ask(&mut command("rustup", &["toolchain", "list"]))?;
    let rustc = ask(&mut command("rustup", &["which", "--toolchain", listed(&list, version)?, "rustc"]))?;
    let compiler = Compiler { rustc: rustc.trim().into(), libraries: None };
    has_version(&compiler, version).then_some(compiler)
}

fn listed<'a>(list: &'a str, version: &str) -> Option<&'a str> {
    let mut names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.find(|name| is_version(name.split('-').next().unwrap_or_default(), version))
}

/// Whether `found` is `wanted` or one of its patch releases.
fn is_version(found: &str, wanted: &str) -> bool {
    found.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn has_version(compiler: &Compiler, wanted: &str) -> bool {
    compiler.version().is_some_and(|found| is_version(&found, wanted))
}

/// Pins the version, because Debian has a newer compiler under the same names.
fn from_debian(version: &str) -> Option<Compiler> {
    let others = [&*format!("libstd-rust-web-{version}"), &format!("libstd-rust-web-dev={version}.*")];
    let accepts = |compiler: &Compiler| has_version(compiler, version);
    debian::unpacked("msrv-toolchain", &format!("rustc-web={version}.*"), &others, accepts)
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
    fn only_a_listed_toolchain_of_the_version_is_used() {
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
