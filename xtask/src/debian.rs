//! Debian's compilers, unpacked into the target folder: nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::compiler::Compiler;
use crate::run::{ask, command, run, run_and_read};
use crate::workspace;

/// A compiler in a folder of its own below `target`.
pub(crate) struct Wanted<'a> {
    pub(crate) folder: &'a str,
    /// Whether what lies in the folder will do.
    pub(crate) will_do: &'a dyn Fn(&Compiler) -> bool,
    /// The compiler's own package. What it needs for other work than ours stays away.
    pub(crate) package: &'a str,
    /// Packages that are fetched with all they need, as far as the machine lacks it.
    pub(crate) others: &'a [&'a str],
}

/// The compiler, from an earlier run or fetched now; nothing where there is no apt or Debian doesn't have it.
pub(crate) fn unpacked(wanted: &Wanted<'_>) -> Option<Compiler> {
    let folder = workspace::target_path(wanted.folder);
    let there = || compiler_in(&folder).filter(wanted.will_do);
    there().or_else(|| {
        let fetched = may_fetch().then(|| fetch(&folder, wanted))?;
        fetched.inspect_err(|error| eprintln!("Debian's {} can't be had: {error:#}", wanted.package)).ok()?;
        there()
    })
}

fn may_fetch() -> bool {
    workspace::may_install() && ask(&mut command("apt-get", &["--version"])).is_some()
}

fn compiler_in(folder: &Path) -> Option<Compiler> {
    let libraries = libraries_in(&folder.join("usr/lib"))?;
    Some(Compiler { rustc: folder.join("usr/bin/rustc"), libraries: Some(libraries) })
}

/// The folder that Debian names after the architecture.
fn libraries_in(folder: &Path) -> Option<PathBuf> {
    let folders = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    folders.into_iter().find(|path| path.to_string_lossy().contains("-linux-gnu"))
}

/// Downloads and unpacks beside the folder first, so that an interrupted run leaves none that looks complete.
fn fetch(folder: &Path, wanted: &Wanted<'_>) -> Result<()> {
    let partial = folder.with_extension("partial");
    let archives = partial.join("archives");
    fs::create_dir_all(&archives)?;
    download(&archives, wanted)?;
    for archive in archives.read_dir()? {
        run(command("dpkg", &["--extract"]).arg(archive?.path()).arg(&partial))?;
    }
    fs::remove_dir_all(&archives)?;
    replace(folder, &partial)
}

fn download(archives: &Path, wanted: &Wanted<'_>) -> Result<()> {
    // Only root may refresh the lists. Anybody may download, and the lists that are there may do.
    run(&mut command("apt-get", &["update", "-qq"])).unwrap_or_else(|error| eprintln!("going on without: {error}"));
    let mut plan = command("apt-get", &["install", "-qq", "--simulate", "--no-install-recommends"]);
    let plan = run_and_read(plan.args(wanted.others))?;
    let mut download = command("apt-get", &["download", "-qq", "-o", "APT::Sandbox::User=root", wanted.package]);
    run(download.args(lacking(&plan)).current_dir(archives))
}

fn replace(folder: &Path, with: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(with, folder).context("cannot move the compiler into place")
}

/// The packages apt would add, each as `name=version`. One that it would replace is there, if older: that one will do.
fn lacking(plan: &str) -> impl Iterator<Item = String> {
    let added = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_once(" ("));
    added.filter_map(|(name, rest)| {
        let version = rest.split_whitespace().next()?;
        (!name.contains(' ')).then(|| format!("{name}={version}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_lacks_is_fetched() {
        let plan = "Inst libllvm19 (1:19.1.7-3 Debian:12.15/oldstable [amd64])\n\
                    Inst libc6 [2.36-8] (2.36-9 Debian:12.15/oldstable [amd64])\n\
                    Conf libllvm19 (1:19.1.7-3 Debian:12.15/oldstable [amd64])\n";
        assert_eq!(lacking(plan).collect::<Vec<_>>(), ["libllvm19=1:19.1.7-3"]);
    }
}
