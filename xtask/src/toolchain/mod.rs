//! Used when a check needs a compiler or a program that the machine does not have: `msrv`,
//! `no-std`, `embedded`, `size`, `bench`, `fuzz` and `mutants` find it here.
//!
//! What is missing is unpacked or installed below `target/`, or installed through apt-get, unless
//! [`NO_INSTALL`] is set. No toolchain is ever installed, neither through rustup nor otherwise.

pub(crate) mod bare;
mod compiler;
mod debian;
pub(crate) mod pinned;
pub(crate) mod programs;

use std::env;

/// The environment variable that keeps all commands from fetching anything.
pub(crate) const NO_INSTALL: &str = "BULKLINK_NO_INSTALL";

/// Returns whether a missing program may be fetched.
pub(crate) fn may_install() -> bool {
    env::var_os(NO_INSTALL).is_none()
}
