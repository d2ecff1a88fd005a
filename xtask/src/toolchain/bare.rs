//! Compilers for targets without an operating system: the usual one if it has the target, else
//! Debian's, which builds core and alloc from their source, and std where the target has it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Compiler, debian};
use crate::run::{ask, cargo, command};
use crate::step::Missing;
use crate::workspace;

/// A compiler that can build for a target.
pub(crate) enum Toolchain {
    Usual,
    /// Debian's, which has core and alloc for the host only.
    Debian(Compiler),
}

impl Toolchain {
    /// Returns the first compiler for the target, or a [`Missing`] error.
    pub(crate) fn find(target: &str) -> Result<Self> {
        if is_installed(target) {
            return Ok(Toolchain::Usual);
        }
        let advice = format!("{target} is not installed; `rustup target add {target}` adds it");
        debian().map(Toolchain::Debian).map_err(|why| Missing(format!("{advice} ({why:#})")).into())
    }

    /// Cargo for a target, in the target folder of that name.
    pub(crate) fn cargo(&self, args: &[&str], target: &str, folder: &str) -> Command {
        let mut cargo = cargo(args);
        cargo.args(["--target", target, "--target-dir"]).arg(workspace::target_path(folder));
        if let Toolchain::Debian(compiler) = self {
            let libraries = if target.contains("-none-") { "core,alloc" } else { "std,panic_abort" };
            cargo.envs(compiler.variables()).arg(format!("-Zbuild-std={libraries}")).env("RUSTC_BOOTSTRAP", "1");
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

/// Debian's compiler with the source of the library.
fn debian() -> Result<Compiler> {
    debian::compiler("bare-toolchain", &["rustc-web", "libstd-rust-web-dev", "rust-web-src"], |compiler| {
        let root = compiler.answer("--print=sysroot");
        root.is_some_and(|root| Path::new(&root).join("lib/rustlib/src/rust/library/core").is_dir())
    })
}

/// The `rust-lld` of the usual compiler, or else the one in the path.
fn linker() -> String {
    let folder = ask(&mut command("rustc", &["--print", "target-libdir"])).unwrap_or_default();
    let own = Path::new(folder.trim()).with_file_name("bin").join("rust-lld");
    if own.is_file() { own.to_string_lossy().into_owned() } else { "rust-lld".to_owned() }
}
