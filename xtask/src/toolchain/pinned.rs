//! A compiler of one exact version: named by the user, installed through rustup, or from Debian.

use std::env;

use anyhow::{Result, ensure};

use super::{Compiler, debian};
use crate::run::{ask, command};
use crate::step::Missing;

/// The environment variable that names the compiler to use.
const VARIABLE: &str = "BULKLINK_MSRV_RUSTC";

/// Returns the first compiler of this version.
pub(crate) fn find(version: &str) -> Result<Compiler> {
    let has_version = |compiler: &Compiler| {
        let answer = compiler.answer("--version").unwrap_or_default();
        answer.split_whitespace().nth(1).is_some_and(|found| is_version(found, version))
    };
    if let Some(rustc) = env::var_os(VARIABLE) {
        let named = Compiler { rustc: rustc.into(), libraries: None };
        ensure!(has_version(&named), "{VARIABLE} names no compiler that is Rust {version}");
        return Ok(named);
    }
    // Pins the version, because Debian has a newer compiler under the same names.
    let packages = ["rustc-web=V.*", "libstd-rust-web-V", "libstd-rust-web-dev=V.*"];
    let packages = packages.map(|package| package.replace('V', version));
    let debian = || debian::compiler("msrv-toolchain", &packages.each_ref().map(String::as_str), has_version);
    let found = from_rustup().into_iter().find(has_version).map_or_else(debian, Ok);
    let advice = format!("no Rust {version}; `rustup toolchain install {version}` adds it, or name one in {VARIABLE}");
    found.map_err(|why| Missing(format!("{advice} ({why:#})")).into())
}

/// Returns only the toolchains that rustup lists, because rustup would fetch any other.
fn from_rustup() -> Vec<Compiler> {
    let list = ask(&mut command("rustup", &["toolchain", "list"])).unwrap_or_default();
    let compiler = |line: &str| {
        let name = line.split_whitespace().next()?;
        let rustc = ask(&mut command("rustup", &["which", "--toolchain", name, "rustc"]))?;
        Some(Compiler { rustc: rustc.trim().into(), libraries: None })
    };
    list.lines().filter_map(compiler).collect()
}

/// Whether `found` is `wanted` or one of its patch releases.
fn is_version(found: &str, wanted: &str) -> bool {
    found.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_patch_release_is_the_version_and_a_longer_number_is_not() {
        let is_version = |found| super::is_version(found, "1.85");
        assert_eq!(["1.85", "1.85.1", "1.8", "1.850"].map(is_version), [true, true, false, false]);
    }
}
