//! Finding a compiler of one version: named by the user, in rustup's list, or from Debian. Never installs a toolchain.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::compiler::Compiler;
use crate::debian::{self, Wanted};
use crate::run::{ask, command};

/// Names the compiler to use, before any other place is looked at.
pub(crate) const VARIABLE: &str = "BULKLINK_MSRV_RUSTC";

/// Looks in all places, in order.
pub(crate) fn find(version: &str) -> Result<Option<Compiler>> {
    if let Some(rustc) = env::var_os(VARIABLE) {
        return named(rustc.into(), version).map(Some);
    }
    Ok(from_rustup(version).or_else(|| from_debian(version)))
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
    let compiler = Compiler { rustc: rustc.trim().into(), libraries: None };
    has_version(&compiler, version).then_some(compiler)
}

fn listed<'a>(list: &'a str, version: &str) -> Option<&'a str> {
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.into_iter().find(|name| is_version(name.split('-').next().unwrap_or_default(), version))
}

/// Whether `found` is `wanted` or one of its patch releases.
fn is_version(found: &str, wanted: &str) -> bool {
    found.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn has_version(compiler: &Compiler, wanted: &str) -> bool {
    compiler.version().is_some_and(|found| is_version(&found, wanted))
}

/// The version is pinned, because the distribution offers a newer compiler under the same names.
fn from_debian(version: &str) -> Option<Compiler> {
    debian::unpacked(&Wanted {
        folder: "msrv-toolchain",
        will_do: &|compiler| has_version(compiler, version),
        package: &format!("rustc-web={version}.*"),
        others: &[&format!("libstd-rust-web-{version}"), &format!("libstd-rust-web-dev={version}.*")],
    })
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
