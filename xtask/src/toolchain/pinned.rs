//! A compiler of one exact version: named by the user, installed through rustup, or from Debian.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, ensure};

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
    let advice = format!("no Rust {version}; `rustup toolchain install {version}` adds it, or name one in {VARIABLE}");
    let found = from_rustup(version).map_or_else(|| from_debian(version), Ok);
    found.map_err(|why| Missing(format!("{advice} ({why:#})")).into())
}

fn named(rustc: PathBuf, version: &str) -> Result<Compiler> {
    let compiler = Compiler { rustc, libraries: None };
    ensure!(has_version(&compiler, version), "{VARIABLE} names no compiler that is Rust {version}");
    Ok(compiler)
}

/// Uses only a toolchain that rustup lists, because rustup would fetch any other.
fn from_rustup(version: &str) -> Option<Compiler> {
    let list = ask(&mut command("rustup", &["toolchain", "list"]))?;
    let compilers = list.lines().filter_map(|line| {
        let name = line.split_whitespace().next()?;
        let rustc = ask(&mut command("rustup", &["which", "--toolchain", name, "rustc"]))?;
        Some(Compiler { rustc: rustc.trim().into(), libraries: None })
    });
    compilers.into_iter().find(|compiler| has_version(compiler, version))
}

/// Whether `found` is `wanted` or one of its patch releases.
fn is_version(found: &str, wanted: &str) -> bool {
    found.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn has_version(compiler: &Compiler, wanted: &str) -> bool {
    let answer = compiler.answer("--version").unwrap_or_default();
    answer.split_whitespace().nth(1).is_some_and(|found| is_version(found, wanted))
}

/// Pins the version, because Debian has a newer compiler under the same names.
fn from_debian(version: &str) -> Result<Compiler> {
    let others = [&*format!("libstd-rust-web-{version}"), &format!("libstd-rust-web-dev={version}.*")];
    let accepts = |compiler: &Compiler| has_version(compiler, version);
    debian::compiler("msrv-toolchain", &format!("rustc-web={version}.*"), &others, accepts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_release_is_the_version_and_a_named_compiler_of_another_version_is_an_error() {
        assert!(is_version("1.85", "1.85") && is_version("1.85.1", "1.85"));
        assert!(!is_version("1.8", "1.85") && !is_version("1.850", "1.85"));
        assert!(named("rustc".into(), "0.1").is_err());
        assert!(named("bulklink-no-such-rustc".into(), "1.85").is_err());
    }
}
