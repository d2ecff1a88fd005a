//! Used when a check needs a compiler or a program that the machine does not have: `msrv`,
//! `no-std`, `embedded`, `size`, `bench`, `fuzz`, `mutants` and `test` find it here.
//!
//! A missing tool is unpacked or installed below `target/`, or installed through apt-get, unless
//! [`NO_INSTALL`] is set. No toolchain is ever installed, neither through rustup nor otherwise.

pub(crate) mod bare;
pub(crate) mod debian;
pub(crate) mod pinned;
pub(crate) mod programs;

use std::env;
use std::path::PathBuf;

use crate::run::{ask, command};

/// The environment variable that keeps all commands from fetching anything.
pub(crate) const NO_INSTALL: &str = "BULKLINK_NO_INSTALL";

/// Returns whether a missing program may be fetched.
pub(crate) fn may_install() -> bool {
    env::var_os(NO_INSTALL).is_none()
}

/// A compiler other than the usual one, and the folder of its shared libraries if the loader does
/// not find them.
pub(crate) struct Compiler {
    pub(crate) rustc: PathBuf,
    pub(crate) libraries: Option<PathBuf>,
}

impl Compiler {
    /// The variables that make cargo use this compiler, and the loader find its libraries.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let programs = [("RUSTC", self.rustc.clone()), ("RUSTDOC", self.rustc.with_file_name("rustdoc"))];
        programs.into_iter().chain(self.libraries.iter().map(|folder| ("LD_LIBRARY_PATH", folder.clone())))
    }

    /// Returns the compiler's answer to an option, or `None` if it does not run.
    pub(crate) fn answer(&self, option: &str) -> Option<String> {
        ask(command(&self.rustc, &[option]).envs(self.variables())).map(|answer| answer.trim().to_owned())
    }
}
