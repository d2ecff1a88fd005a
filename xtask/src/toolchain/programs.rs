//! Programs: from cargo's registry below `target/tools`, or from Debian through apt-get.

use std::env;
use std::env::consts::EXE_EXTENSION;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

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
    install(program)?;
    ensure!(runs(program), "apt-get installed {program}, but it does not run");
    Ok(())
}

/// Installs a Debian package through apt-get.
fn install(package: &str) -> Result<()> {
    let apt = || as_root("apt-get").with_context(|| format!("{package} is not installed, and apt-get cannot be used"));
    // The package lists that are present may be good enough.
    run(apt()?.args(["update", "-qq"])).unwrap_or_else(|error| eprintln!("continuing without: {error}"));
    run(apt()?.args(["install", "-qq", "--yes", "--no-install-recommends", package]))
}

/// Installs a Debian package, but only if the user agrees: by `yes`, with `CI=true`, or on a
/// terminal. Otherwise the error says how to install it.
pub(crate) fn from_apt_asking(package: &str, yes: bool) -> Result<()> {
    ask_first(package, yes, || install(package))
}

/// [`from_apt_asking`] for `postgresql`, whose installation would also create and start a server
/// for the whole machine.
pub(crate) fn postgresql_asking(yes: bool) -> Result<()> {
    ask_first("postgresql", yes, || {
        let no_root = || "postgresql is not installed, and apt-get cannot be used";
        let shell = |script| run(as_root("sh").with_context(no_root)?.args(["-c", script]));
        shell(WITHOUT_SERVER)?;
        let result = install("postgresql");
        shell(WITH_SERVER)?;
        result
    })
}

/// Tells the scripts of Debian's packages to create no server, as their manual says how.
const WITHOUT_SERVER: &str = "mkdir -p /etc/postgresql-common/createcluster.d && \
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/bulklink.conf";

/// Leaves later installations as they would be.
const WITH_SERVER: &str = "rm -f /etc/postgresql-common/createcluster.d/bulklink.conf; \
    rmdir --ignore-fail-on-non-empty /etc/postgresql-common/createcluster.d";

fn ask_first(package: &str, yes: bool, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let how = format!("`apt-get install {package}`, as root, adds it");
    let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal();
    match consent(may_install(), yes || env::var("CI").is_ok_and(|ci| ci == "true"), is_asked) {
        Consent::Given => {}
        Consent::Asked if agrees(package)? => {}
        Consent::Asked | Consent::Refused => bail!("{package} is not installed; {how}"),
    }
    install().context(how)
}

#[derive(Debug, PartialEq)]
enum Consent {
    Given,
    Asked,
    Refused,
}

fn consent(may_install: bool, is_given: bool, can_ask: bool) -> Consent {
    match (may_install, is_given, can_ask) {
        (true, true, _) => Consent::Given,
        (true, false, true) => Consent::Asked,
        _ => Consent::Refused,
    }
}

fn agrees(program: &str) -> Result<bool> {
    eprint!("install {program} through apt-get? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

pub(crate) fn runs(program: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_installed_without_consent_nor_against_the_variable() {
        for (may_install, is_given, can_ask, expected) in [
            (true, true, false, Consent::Given),
            (true, false, true, Consent::Asked),
            (true, false, false, Consent::Refused),
            (false, true, true, Consent::Refused),
        ] {
            assert_eq!(consent(may_install, is_given, can_ask), expected, "{may_install} {is_given} {can_ask}");
        }
    }
}
