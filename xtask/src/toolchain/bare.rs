//! Compilers for targets without an operating system: the usual one if it has the target, else
//! Debian's, which builds core and alloc from their source.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::Result;

use super::{Compiler, debian};
use crate::run::{ask, cargo, command};
use crate::step::Missing;
use crate::workspace;

/// A compiler that can build for a target.
#[derive(Debug)]
pub(crate) enum Toolchain {
    Usual,
    /// Debian's, which has core and alloc for the host only.
    Debian(&'static Compiler),
}

impl Toolchain {
    /// Returns the first compiler for the target, or a [`Missing`] error.
    pub(crate) fn find(target: &str) -> Result<Self> {
        if is_installed(target) {
            return Ok(Toolchain::Usual);
        }
        // Nothing is fetched for a target that rustc does not know.
        let known = ask(&mut command("rustc", &["--print", "target-list"])).unwrap_or_default();
        let compiler = known.lines().any(|name| name == target).then(debian).flatten();
        let why = format!("{target} is not installed, nor Debian's compiler; `rustup target add {target}` adds it");
        compiler.map(Toolchain::Debian).ok_or_else(|| Missing(why).into())
    }

    /// Cargo for a target, in the target folder of that name.
    pub(crate) fn cargo(&self, args: &[&str], target: &str, folder: &str) -> Command {
        let mut cargo = cargo(args);
        cargo.args(["--target", target, "--target-dir"]).arg(workspace::target_path(folder));
        if let Toolchain::Debian(compiler) = self {
            compiler.apply(&mut cargo).arg("-Zbuild-std=core,alloc").env("RUSTC_BOOTSTRAP", "1");
            // Debian's compiler has no linker for these targets.
            let target = target.to_uppercase().replace('-', "_");
            cargo.env(format!("CARGO_TARGET_{target}_LINKER"), linker());
        }
        cargo
    }
}

/// Whether the usual compiler has the libraries of the target.
pub(crate) fn is_installed(target: &str) -> bool {
    let folder = ask(&mut command("rustc", &["--print", "target-libdir", "--target", target]));
    folder.is_some_and(|folder| Path::new(folder.trim()).is_dir())
}

/// Debian's compiler with the source of the library: the installed one, or one that is unpacked
/// here. Looks only once.
fn debian() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    let installed = Compiler { rustc: "/usr/bin/rustc".into(), libraries: None };
    let others = ["libstd-rust-web-dev", "rust-web-src"];
    let unpacked = || debian::unpacked("bare-toolchain", "rustc-web", &others, accepts);
    FOUND.get_or_init(|| Some(installed).filter(accepts).or_else(unpacked)).as_ref()
}

fn accepts(compiler: &Compiler) -> bool {
    let oldest = workspace::rust_version().ok();
    let is_new = compiler.version().zip(oldest).is_some_and(|(found, oldest)| minor(&found) >= minor(&oldest));
    is_new && compiler.has_sources()
}

/// The minor number of a version.
fn minor(version: &str) -> Option<u32> {
    version.split('.').nth(1)?.parse().ok()
}

/// The `rust-lld` of the usual compiler, or else the one in the path.
fn linker() -> String {
    let folder = ask(&mut command("rustc", &["--print", "target-libdir"])).unwrap_or_default();
    let own = Path::new(folder.trim()).with_file_name("bin").join("rust-lld");
    if own.is_file() { own.to_string_lossy().into_owned() } else { "rust-lld".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_target_is_missing() {
        let error = Toolchain::find("thumbv0-none-bulklink").unwrap_err();
        assert!(error.is::<Missing>() && error.to_string().contains("`rustup target add thumbv0-none-bulklink`"));
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(minor("1.100.0") > minor("1.85"));
        assert_eq!((minor("1.85.1-nightly"), minor("nightly")), (Some(85), None));
    }

    #[test]
    fn only_debians_compiler_builds_the_library() {
        let compiler = Box::leak(Box::new(Compiler { rustc: "debian/rustc".into(), libraries: None }));
        let text = |toolchain: Toolchain| format!("{:?}", toolchain.cargo(&["check"], "thumbv7em-none-eabi", "bare"));
        let (debian, usual) = (text(Toolchain::Debian(compiler)), text(Toolchain::Usual));
        assert!(debian.contains("-Zbuild-std=core,alloc") && debian.contains("RUSTC=\"debian/rustc\""), "{debian}");
        assert!(debian.contains("CARGO_TARGET_THUMBV7EM_NONE_EABI_LINKER="), "{debian}");
        assert!(!usual.contains("build-std") && !usual.contains("RUSTC"), "{usual}");
    }
}
