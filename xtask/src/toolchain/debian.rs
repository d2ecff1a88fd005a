//! Debian's compilers and programs, unpacked below the target folder without being installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Compiler, NO_INSTALL, may_install};
use crate::run::{ask, command, run, run_and_read};
use crate::workspace;

/// Returns the compiler of an earlier run, unpacked in a folder below `target`, or fetches it.
/// `None` without apt-get, or if Debian does not have it.
///
/// The `package` of the compiler is unpacked without its dependencies; `others` are unpacked with
/// the dependencies that the machine lacks.
pub(crate) fn unpacked(
    folder: &str,
    package: &str,
    others: &[&str],
    accepts: impl Fn(&Compiler) -> bool,
) -> Option<Compiler> {
    let folder = workspace::target_path(folder);
    if let Some(present) = compiler_in(&folder).filter(&accepts) {
        return Some(present);
    }
    let may_fetch = may_install() && ask(&mut command("apt-get", &["--version"])).is_some();
    let fetched = may_fetch.then(|| fetch(&folder, package, others))?;
    fetched.inspect_err(|error| eprintln!("cannot fetch Debian's {package}: {error:#}")).ok()?;
    compiler_in(&folder).filter(accepts)
}

/// Returns the folder of the programs of a package that need no other package, unpacked below
/// `target`, by an earlier run or now.
pub(crate) fn unpacked_programs(package: &str, programs: &[&str]) -> Result<PathBuf> {
    let folder = workspace::target_path(package);
    let all_run = || programs_run(&programs_in(package), programs);
    if !all_run() {
        ensure!(may_install(), "{package} is not there, and {NO_INSTALL} is set");
        fetch(&folder, package, &[])?;
        ensure!(all_run(), "{package} was unpacked, but does not run");
    }
    Ok(programs_in(package))
}

/// Where the programs of a package are, if it was unpacked.
pub(crate) fn programs_in(package: &str) -> PathBuf {
    workspace::target_path(package).join("usr/bin")
}

/// Whether all programs are in the folder and run.
pub(crate) fn programs_run(folder: &Path, programs: &[&str]) -> bool {
    programs.iter().all(|program| ask(&mut command(folder.join(program), &["--version"])).is_some())
}

fn compiler_in(folder: &Path) -> Option<Compiler> {
    // Debian names this folder after the architecture.
    let mut libraries = folder.join("usr/lib").read_dir().ok()?.flatten().map(|entry| entry.path());
    let libraries = libraries.find(|path| path.to_string_lossy().contains("-linux-gnu"))?;
    Some(Compiler { rustc: folder.join("usr/bin/rustc"), libraries: Some(libraries) })
}

/// Unpacks into a folder beside `folder` first, so that an interrupted run leaves nothing that
/// looks complete.
fn fetch(folder: &Path, package: &str, others: &[&str]) -> Result<()> {
    let partial = folder.with_extension("partial");
    let archives = partial.join("archives");
    fs::create_dir_all(&archives)?;
    download(&archives, package, others)?;
    for archive in archives.read_dir()? {
        run(command("dpkg", &["--extract"]).arg(archive?.path()).arg(&partial))?;
    }
    fs::remove_dir_all(&archives)?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(&partial, folder).context("cannot move the package into place")
}

fn download(archives: &Path, package: &str, others: &[&str]) -> Result<()> {
    // Only root can refresh the lists; the lists that are present may be good enough.
    run(&mut command("apt-get", &["update", "-qq"])).unwrap_or_else(|error| eprintln!("continuing without: {error}"));
    let mut plan = command("apt-get", &["install", "-qq", "--simulate", "--no-install-recommends"]);
    let plan = run_and_read(plan.args(others))?;
    let mut download = command("apt-get", &["download", "-qq", "-o", "APT::Sandbox::User=root", package]);
    run(download.args(lacking(&plan)).current_dir(archives))
}

/// The packages that apt would add, as `name=version`. A package that apt would only upgrade is
/// installed already and is left out.
fn lacking(plan: &str) -> impl Iterator<Item = String> {
    let added = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_once(" ("));
    added.filter_map(|(name, rest)| {
        let version = rest.split_whitespace().next()?;
        (!name.contains(' ')).then(|| format!("{name}={version}"))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{lacking, programs_run};

    #[test]
    fn only_packages_that_the_machine_lacks_are_fetched() {
        let plan = "Inst libllvm19 (1:19.1.7-3 Debian:12.15/oldstable [amd64])\n\
                    Inst libc6 [2.36-8] (2.36-9 Debian:12.15/oldstable [amd64])\n\
                    Conf libllvm19 (1:19.1.7-3 Debian:12.15/oldstable [amd64])\n";
        assert_eq!(lacking(plan).collect::<Vec<_>>(), ["libllvm19=1:19.1.7-3"]);
    }

    #[test]
    fn programs_are_there_only_if_all_of_them_run() {
        let on_the_path = Path::new("");
        assert!(programs_run(on_the_path, &["cargo", "rustc"]));
        assert!(!programs_run(on_the_path, &["cargo", "bulklink-no-such-program"]));
        assert!(!programs_run(Path::new("/bulklink-no-such-folder"), &["cargo"]));
    }
}
