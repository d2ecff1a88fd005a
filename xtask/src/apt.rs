//! Programs that apt-get installs, where that may be.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run::{ask, command, run};
use crate::workspace::{NO_INSTALL, may_install};

/// Sees to it that there is a program, which Debian has in a package of its name.
pub(crate) fn provide(program: &str) -> Result<()> {
    if is_there(program) {
        return Ok(());
    }
    ensure!(may_install(), "{program} is not here, and {NO_INSTALL} forbids to install it");
    let apt =
        || as_root("apt-get").with_context(|| format!("{program} is not here, and no apt-get that may install it"));
    // The lists that are there may do.
    run(apt()?.args(["update", "-qq"])).unwrap_or_else(|error| eprintln!("going on without: {error}"));
    run(apt()?.args(["install", "-qq", "--yes", "--no-install-recommends", program]))?;
    ensure!(is_there(program), "apt-get installed {program}, but it doesn't run");
    Ok(())
}

fn is_there(program: &str) -> bool {
    ask(&mut command(program, &["--version"])).is_some()
}

/// The program as root needs it: by itself, or through a sudo that asks for no password.
fn as_root(program: &str) -> Option<Command> {
    ask(&mut command(program, &["--version"]))?;
    if ask(&mut command("id", &["-u"]))?.trim() == "0" {
        return Some(command(program, &[]));
    }
    ask(&mut command("sudo", &["-n", "true"]))?;
    Some(command("sudo", &["-n", program]))
}
