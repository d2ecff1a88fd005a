//! Debian's build of an old compiler, unpacked into the target folder: nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::compiler::Compiler;
use crate::run::{ask, command, run, run_and_read};
use crate::workspace;

/// The compiler, from an earlier run or fetched now; nothing where there is no apt or Debian has dropped the version.
pub(crate) fn unpacked(version: &str) -> Option<Compiler> {
    let folder = workspace::target_path("msrv-toolchain");
    compiler_in(&folder, version).or_else(|| {
        let fetched = may_fetch().then(|| fetch(&folder, version))?;
        fetched.inspect_err(|error| eprintln!("Debian's Rust {version} can't be had: {error:#}")).ok()?;
        compiler_in(&folder, version)
    })
}

fn may_fetch() -> bool {
    workspace::may_install() && ask(&mut command("apt-get", &["--version"])).is_some()
}

fn compiler_in(folder: &Path, version: &str) -> Option<Compiler> {
    let libraries = libraries_in(&folder.join("usr/lib"))?;
    Compiler { rustc: folder.join("usr/bin/rustc"), libraries: Some(libraries) }.if_version(version)
}

/// The folder that Debian names after the architecture.
fn libraries_in(folder: &Path) -> Option<PathBuf> {
    let folders = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    folders.into_iter().find(|path| path.to_string_lossy().contains("-linux-gnu"))
}

/// Downloads and unpacks beside the folder first, so that an interrupted run leaves none that looks complete.
fn fetch(folder: &Path, version: &str) -> Result<()> {
    let partial = folder.with_extension("partial");
    let archives = partial.join("archives");
    fs::create_dir_all(&archives)?;
    download(&archives, version)?;
    for archive in archives.read_dir()? {
        run(command("dpkg", &["--extract"]).arg(archive?.path()).arg(&partial))?;
    }
    fs::remove_dir_all(&archives)?;
    replace(folder, &partial)
}

fn download(archives: &Path, version: &str) -> Result<()> {
    // Only root may refresh the lists. Anybody may download, and the lists that are there may do.
    run(&mut command("apt-get", &["update", "-qq"])).unwrap_or_else(|error| eprintln!("going on without: {error}"));
    let packages = packages(version)?;
    let mut download = command("apt-get", &["download", "-qq", "-o", "APT::Sandbox::User=root"]);
    run(download.args(packages).current_dir(archives))
}

fn replace(folder: &Path, with: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(with, folder).context("cannot move the compiler into place")
}

/// The compiler's packages, and of what they need whatever the machine lacks. The version is pinned, because the
/// distribution offers a newer compiler under the same names.
fn packages(version: &str) -> Result<Vec<String>> {
    let library = format!("libstd-rust-web-{version}");
    let headers = format!("libstd-rust-web-dev={version}.*");
    let mut plan = command("apt-get", &["install", "-qq", "--simulate", "--no-install-recommends", &library, &headers]);
    let plan = run_and_read(&mut plan)?;
    Ok([format!("rustc-web={version}.*")].into_iter().chain(lacking(&plan)).collect())
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
