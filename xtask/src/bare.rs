//! Compilers for targets without an operating system: the usual one where it has the target, else Debian's, which builds
//! the library from its source. Never installs a toolchain.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::compiler::Compiler;
use crate::debian::{self, Wanted};
use crate::run::{ask, cargo, command};
use crate::workspace;

/// What builds for a target.
#[derive(Debug)]
pub(crate) enum Toolchain {
    /// The usual compiler.
    Usual,
    /// Debian's, which has the library for its own machine only.
    Debian(&'static Compiler),
}

impl Toolchain {
    /// Looks in all places, in order.
    pub(crate) fn find(target: &str) -> Option<Self> {
        if is_installed(target) {
            return Some(Toolchain::Usual);
        }
        // A name that nobody knows is not worth a download.
        let known = ask(&mut command("rustc", &["--print", "target-list"]))?;
        known.lines().any(|name| name == target).then(debian).flatten().map(Toolchain::Debian)
    }

    /// Cargo for a target, in the target folder of that name.
    pub(crate) fn cargo(&self, args: &[&str], target: &str, folder: &str) -> Command {
        let mut cargo = cargo(args);
        cargo.args(["--target", target, "--target-dir", &workspace::target_dir(folder)]);
        if let Toolchain::Debian(compiler) = self {
            compiler.apply(&mut cargo).arg("-Zbuild-std=core,alloc").env("RUSTC_BOOTSTRAP", "1");
            // Debian's has no linker of its own for these.
            cargo.env(linker_variable(target), linker());
        }
        cargo
    }
}

/// Says which targets had to be left out, and how to get them.
pub(crate) fn absent(targets: &[&str]) -> String {
    let (names, args) = (targets.join(", "), targets.join(" "));
    format!("{names} not installed, and no compiler from Debian; `rustup target add {args}` adds them")
}

/// Whether the compiler has a core library for the target.
pub(crate) fn is_installed(target: &str) -> bool {
    let folder = ask(&mut command("rustc", &["--print", "target-libdir", "--target", target]));
    folder.is_some_and(|folder| has_core(Path::new(folder.trim())))
}

fn has_core(folder: &Path) -> bool {
    let files = folder.read_dir().into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
}

/// Debian's compiler with the source of its library: the machine's, or one of our own. Looked for once.
fn debian() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    FOUND.get_or_init(|| installed().or_else(unpacked)).as_ref()
}

fn installed() -> Option<Compiler> {
    Some(Compiler { rustc: "/usr/bin/rustc".into(), libraries: None }).filter(will_do)
}

fn unpacked() -> Option<Compiler> {
    debian::unpacked(&Wanted {
        folder: "bare-toolchain",
        will_do: &will_do,
        package: "rustc-web",
        others: &["libstd-rust-web-dev", "rust-web-src"],
    })
}

fn will_do(compiler: &Compiler) -> bool {
    let promised = workspace::rust_version().ok();
    let is_new =
        compiler.version().zip(promised).is_some_and(|(found, promised)| numbers(&found) >= numbers(&promised));
    is_new && compiler.has_sources()
}

/// The major and the minor number of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn linker_variable(target: &str) -> String {
    format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"))
}

/// The `rust-lld` that comes with the usual compiler, or else whichever is in the path.
fn linker() -> String {
    let folder = ask(&mut command("rustc", &["--print", "target-libdir"])).unwrap_or_default();
    let own = Path::new(folder.trim()).with_file_name("bin").join("rust-lld");
    if own.is_file() { own.to_string_lossy().into_owned() } else { "rust-lld".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_core_is_not_installed_and_one_that_nobody_knows_is_not_looked_for() {
        assert!(!is_installed("thumbv0-none-bulklink"));
        assert!(Toolchain::find("thumbv0-none-bulklink").is_none());
    }

    #[test]
    fn what_is_absent_is_named_and_how_to_add_it() {
        assert!(absent(&["a", "b"]).starts_with("a, b not installed"));
        assert!(absent(&["a", "b"]).ends_with("`rustup target add a b` adds them"));
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(numbers("1.100.0") > numbers("1.85"));
        assert_eq!(numbers("1.85.1-nightly"), numbers("1.85"));
        assert_eq!(numbers("nightly"), None);
    }

    #[test]
    fn debians_compiler_builds_the_library_and_the_usual_one_does_not() {
        let compiler = Box::leak(Box::new(Compiler { rustc: "debian/rustc".into(), libraries: None }));
        let arguments =
            |toolchain: Toolchain| format!("{:?}", toolchain.cargo(&["check"], "thumbv7m-none-eabi", "bare"));
        let debian = arguments(Toolchain::Debian(compiler));
        assert!(debian.contains("-Zbuild-std=core,alloc") && debian.contains("RUSTC=\"debian/rustc\""), "{debian}");
        let usual = arguments(Toolchain::Usual);
        assert!(!usual.contains("build-std") && !usual.contains("RUSTC"), "{usual}");
    }

    #[test]
    fn cargo_knows_the_linker_of_a_target_by_this_name() {
        assert_eq!(linker_variable("thumbv7em-none-eabi"), "CARGO_TARGET_THUMBV7EM_NONE_EABI_LINKER");
    }
}
