//! Programs: from cargo's registry below `target/tools`, or from Debian through apt-get.

use std::env::consts::EXE_EXTENSION;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{NO_INSTALL, may_install};
use crate::run::{ask, cargo, command, run};
use crate::workspace;

/// Returns the program of the package of that name, in exactly this version. Installs it if it is
/// missing.
pub(crate) fn from_registry(name: &str, version: &str) -> Result<PathBuf> {
    let root = workspace::target_path("tools").join(format!("{name}-{version}"));
    let program = root.join("bin").join(name).with_extension(EXE_EXTENSION);
    if !program.is_file() {
        ensure!(may_install(), "{name} {version} is not installed, and {NO_INSTALL} is set");
        let exactly = format!("={version}");
        run(cargo(&["install", "--locked", name, "--version", &exactly, "--root"]).arg(&root))?;
    }
    Ok(program)
}

/// Installs the Debian package of that name through apt-get, unless its program runs already.
pub(crate) fn from_apt(program: &str) -> Result<()> {
    if runs(program) {
        return Ok(());
    }
    ensure!(may_install(), "{program} is not installed, and {NO_INSTALL} is set");
    let apt = || as_root("apt-get").with_context(|| format!("{program} is not installed, and apt-get cannot be used"));
    // The package lists that are present may be good enough.
    run(apt()?.args(["update", "-qq"])).unwrap_or_else(|error| eprintln!("continuing without: {error}"));
    run(apt()?.args(["install", "-qq", "--yes", "--no-install-recommends", program]))?;
    ensure!(runs(program), "apt-get installed {program}, but it does not run");
    Ok(())
}

fn runs(program: &str) -> bool {
    ask(&mut command(program, &["--version"])).is_some()
}

/// The program with root's rights: directly, or through a sudo that needs no password.
fn as_root(program: &str) -> Option<Command> {
    ask(&mut command(program, &["--version"]))?;
    if ask(&mut command("id", &["-u"]))?.trim() == "0" {
        return Some(command(program, &[]));
    }
    ask(&mut command("sudo", &["-n", "true"]))?;
    Some(command("sudo", &["-n", program]))
}
