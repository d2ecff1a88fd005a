//! Docs as docs.rs makes them: with the features of a nightly compiler. Only rustdoc gets these, by
//! a program around the usual one: dependencies that look for them would be compiled anew.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::cfg;
use crate::workspace;

/// The folder of this program.
const FOLDER: &str = "nightly";

/// Makes cargo document with the features of a nightly rustdoc.
pub(crate) fn add(cargo: &mut Command) -> Result<()> {
    let rustdoc = workspace::target_path(FOLDER).join("rustdoc").with_extension(env::consts::EXE_EXTENSION);
    cfg::copy_own(&rustdoc)?;
    cargo.env("RUSTDOC", rustdoc);
    Ok(())
}

/// Documents, if cargo has started this program as that rustdoc.
pub(crate) fn document() -> Option<ExitCode> {
    let mut args = env::args_os();
    let own = args.next()?;
    if Path::new(&own).parent()?.file_name() != Some(OsStr::new(FOLDER)) {
        return None;
    }
    Some(cfg::finish(Command::new("rustdoc").args(args).env("RUSTC_BOOTSTRAP", "1")))
}
