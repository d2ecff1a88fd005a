//! Programs: from cargo's registry below `target/tools`, or from Debian through apt-get.

use std::env;
use std::env::consts::EXE_EXTENSION;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{NO_INSTALL, may_install};
use crate::run::{ask, cargo, command, run};
use crate::workspace;

/// Returns the program of the package of that name, in exactly this version. Installs it if it is
/// missing.
pub(crate) fn from_registry(name: &str, version: &str) -> Result<PathBuf> {
    let (root, program) = place(name, version);
    if !program.is_file() {
        ensure!(may_install(), "{name} {version} is not installed, and {NO_INSTALL} is set");
        let exactly = format!("={version}");
        // They start other programs, so to optimize them would take longer than it saves.
        run(cargo(&["install", "--debug", "--locked", name, "--version", &exactly, "--root"]).arg(&root))?;
    }
    Ok(program)
}

/// The program that [`from_registry`] has installed.
pub(crate) fn installed(name: &str, version: &str) -> Option<PathBuf> {
    Some(place(name, version).1).filter(|program| program.is_file())
}

fn place(name: &str, version: &str) -> (PathBuf, PathBuf) {
    let root = workspace::target_path("tools").join(format!("{name}-{version}"));
    let program = root.join("bin").join(name).with_extension(EXE_EXTENSION);
    (root, program)
}

/// Installs the Debian package of that name through apt-get, unless its program runs already.
pub(crate) fn from_apt(program: &str) -> Result<()> {
    if !runs(program) {
        ensure!(may_install(), "{program} is not installed, and {NO_INSTALL} is set");
        install(program)?;
    }
    ensure!(runs(program), "apt-get installed {program}, but it does not run");
    Ok(())
}

fn install(package: &str) -> Result<()> {
    // The package lists that are present may be good enough.
    run(as_root("apt-get")?.args(["update", "-qq"])).unwrap_or_else(|error| eprintln!("continuing without: {error}"));
    let install = ["apt-get", "install", "-qq", "--yes", "--no-install-recommends", package];
    let script = if package == POSTGRESQL { WITHOUT_SERVER } else { r#""$@""# };
    run(as_root("sh")?.args(["-c", script, "sh"]).args(install))
}

/// Installs a Debian package, but only if the user agrees: by `yes`, with `CI=true`, or on a
/// terminal. Otherwise the error has the way to install it.
pub(crate) fn from_apt_asking(package: &str, yes: bool) -> Result<()> {
    let how = format!("{package} is not installed; `apt-get install {package}`, as root, adds it");
    let is_given = yes || env::var("CI").is_ok_and(|ci| ci == "true");
    ensure!(may_install() && (is_given || agrees(package)?), "{how}");
    install(package).context(how)
}

pub(crate) const POSTGRESQL: &str = "postgresql";

/// Runs a command while the scripts of Debian's packages create no server for the whole machine, as
/// their manual describes how.
const WITHOUT_SERVER: &str = "folder=/etc/postgresql-common/createcluster.d; mkdir -p $folder; \
    trap 'rm -f $folder/bulklink.conf; rmdir --ignore-fail-on-non-empty $folder' EXIT; \
    echo 'create_main_cluster = false' >$folder/bulklink.conf; \"$@\"";

/// Asks on a terminal. Elsewhere, the answer is no.
fn agrees(package: &str) -> Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    eprint!("install {package} through apt-get? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Whether the program answers with its version. It may be a path.
pub(crate) fn runs(program: impl AsRef<OsStr>) -> bool {
    ask(&mut command(program, &["--version"])).is_some()
}

/// The program with root's rights: directly, or through a sudo that needs no password.
fn as_root(program: &str) -> Result<Command> {
    ensure!(runs("apt-get"), "there is no apt-get");
    if ask(&mut command("id", &["-u"])).is_some_and(|user| user.trim() == "0") {
        return Ok(command(program, &[]));
    }
    ensure!(ask(&mut command("sudo", &["-n", "true"])).is_some(), "{program} needs root, or a sudo without a password");
    Ok(command("sudo", &["-n", program]))
}
