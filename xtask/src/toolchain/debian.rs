//! Debian's compilers and programs, unpacked below the target folder without being installed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Compiler, NO_INSTALL, may_install};
use crate::run::{HOUR, ask, command, run, run_and_read};
use crate::workspace;

/// Returns what `find` finds in a folder below `target`. If it finds nothing, unpacks Debian's
/// packages there first: one without its dependencies, and the others with the dependencies that
/// the machine lacks.
pub(crate) fn unpacked<T>(folder: &str, packages: &[&str], find: impl Fn(&Path) -> Option<T>) -> Result<T> {
    let (folder, names) = (workspace::target_path(folder), packages.join(", "));
    if let Some(found) = find(&folder) {
        return Ok(found);
    }
    ensure!(may_install(), "{names} is not there, and {NO_INSTALL} is set");
    fetch(&folder, packages).with_context(|| format!("cannot fetch Debian's {names}"))?;
    find(&folder).with_context(|| format!("Debian's {names} was unpacked, but it cannot be used"))
}

/// [`unpacked`] for a compiler.
pub(crate) fn compiler(folder: &str, packages: &[&str], accepts: impl Fn(&Compiler) -> bool) -> Result<Compiler> {
    unpacked(folder, packages, |folder| {
        // Debian names this folder after the architecture.
        let mut libraries = folder.join("usr/lib").read_dir().ok()?.flatten().map(|entry| entry.path());
        let libraries = libraries.find(|path| path.to_string_lossy().contains("-linux-gnu"))?;
        let compiler = Compiler { rustc: folder.join("usr/bin/rustc"), libraries: Some(libraries) };
        accepts(&compiler).then_some(compiler)
    })
}

/// Unpacks into a folder beside `folder` first, so that an interrupted run leaves nothing that
/// looks complete.
fn fetch(folder: &Path, packages: &[&str]) -> Result<()> {
    let partial = folder.with_extension("partial");
    let archives = partial.join("archives");
    fs::create_dir_all(&archives)?;
    download(&archives, packages)?;
    for archive in archives.read_dir()? {
        run(command("dpkg", &["--extract"]).arg(archive?.path()).arg(&partial))?;
    }
    fs::remove_dir_all(&archives)?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(&partial, folder).context("cannot move the package into place")
}

fn download(archives: &Path, packages: &[&str]) -> Result<()> {
    // Only root can refresh the lists; the lists that are present may be good enough.
    ask(&mut command("apt-get", &["update", "-qq"]));
    let mut plan = command("apt-get", &["install", "-qq", "--simulate", "--no-install-recommends"]);
    let plan = run_and_read(plan.args(&packages[1..]), HOUR)?;
    let mut download = command("apt-get", &["download", "-qq", "-o", "APT::Sandbox::User=root", packages[0]]);
    run(download.args(lacking(&plan)).current_dir(archives))
}

/// The packages that apt would add, as `name=version`. A package that apt would only upgrade is
/// installed already and is left out.
fn lacking(plan: &str) -> impl Iterator<Item = String> {
    let added = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_once(" ("));
    let added = added.filter(|(name, _)| !name.contains(' '));
    added.filter_map(|(name, rest)| Some(format!("{name}={}", rest.split_whitespace().next()?)))
}

#[cfg(test)]
mod tests {
    use super::lacking;

    #[test]
    fn only_packages_that_the_machine_lacks_are_fetched() {
        let plan = "Inst libllvm19 (1:19.1.7-3 Debian:12.15/oldstable [amd64])\n\
                    Inst libc6 [2.36-8] (2.36-9 Debian:12.15/oldstable [amd64])\n\
                    Conf libllvm19 (1:19.1.7-3 Debian:12.15/oldstable [amd64])\n";
        assert_eq!(lacking(plan).collect::<Vec<_>>(), ["libllvm19=1:19.1.7-3"]);
    }
}
