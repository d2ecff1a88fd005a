//! Finds the programs of the server.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::Missing;

/// The environment variable that names the folder of the programs.
const VARIABLE: &str = "BULKLINK_POSTGRES_BIN";

/// The oldest major version that is supported.
const OLDEST: u32 = 14;

/// Where Debian has its versions: they are not on the search path.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The programs of one version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Programs {
    /// Empty if they are on the search path.
    folder: PathBuf,
}

impl Programs {
    /// Returns the programs, which run and are new enough. They are sought once, as a look at their
    /// versions takes as long as their start.
    ///
    /// # Panics
    ///
    /// Panics if the variable names a folder that does not have them.
    pub(crate) fn find() -> Result<Self, Missing> {
        static FOUND: OnceLock<Result<Programs, Missing>> = OnceLock::new();
        let named = || env::var_os(VARIABLE).map(PathBuf::from);
        // All are needed, and an installation of the client alone has some.
        let version = |programs: &Programs| {
            let version = |program| {
                let output = Command::new(programs.path(program)).arg("--version").output().ok()?;
                major(&String::from_utf8_lossy(&output.stdout))
            };
            let versions = [version("postgres")?, version("initdb")?, version("pg_basebackup")?];
            versions.into_iter().min().filter(|oldest| versions[0] == *oldest)
        };
        FOUND.get_or_init(|| choose(named(), debian(), version)).clone()
    }

    pub(crate) fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }
}

/// Debian's folders, the newest version first.
fn debian() -> Vec<PathBuf> {
    let folders = Path::new(DEBIAN).read_dir().into_iter().flatten().flatten();
    let mut versions: Vec<u32> = folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    versions.into_iter().rev().map(|version| Path::new(DEBIAN).join(version.to_string()).join("bin")).collect()
}

fn choose(
    named: Option<PathBuf>,
    usual: Vec<PathBuf>,
    version: impl Fn(&Programs) -> Option<u32>,
) -> Result<Programs, Missing> {
    let is_new = |programs: &Programs| version(programs).is_some_and(|found| found >= OLDEST);
    if let Some(folder) = named {
        let programs = Programs { folder };
        let shown = programs.folder.display();
        assert!(is_new(&programs), "{VARIABLE} names no folder of PostgreSQL {OLDEST} or later: {shown}");
        return Ok(programs);
    }
    let why = format!("no PostgreSQL of version {OLDEST} or later; {VARIABLE} can name the folder of its programs");
    let mut folders = [PathBuf::new()].into_iter().chain(usual).map(|folder| Programs { folder });
    folders.find(is_new).ok_or(Missing(why))
}

/// The major number in `postgres (PostgreSQL) 15.18 (Debian …)`.
fn major(text: &str) -> Option<u32> {
    let rest = text.split_once("(PostgreSQL) ")?.1;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(named: Option<&str>, installed: &[(&str, u32)]) -> Option<String> {
        let version = |programs: &Programs| {
            let folder = programs.folder.to_str().unwrap();
            installed.iter().find(|(name, _)| *name == folder).map(|(_, version)| *version)
        };
        let usual =
            installed.iter().map(|(name, _)| PathBuf::from(name)).filter(|folder| !folder.as_os_str().is_empty());
        let found = choose(named.map(PathBuf::from), usual.collect(), version).ok()?;
        Some(found.folder.to_string_lossy().into_owned())
    }

    #[test]
    fn the_search_path_is_preferred_and_an_old_one_is_none() {
        assert_eq!(chosen(None, &[("", 15), ("/17", 17)]).as_deref(), Some(""));
        assert_eq!(chosen(None, &[("", 13), ("/17", 17), ("/16", 16)]).as_deref(), Some("/17"));
        assert_eq!(chosen(None, &[("", 13)]), None);
        assert_eq!(chosen(Some("/mine"), &[("", 15), ("/mine", 16)]).as_deref(), Some("/mine"));
    }

    #[test]
    #[should_panic(expected = "BULKLINK_POSTGRES_BIN names no folder")]
    fn a_named_folder_without_programs_is_never_replaced() {
        chosen(Some("/mine"), &[("", 15)]);
    }

    #[test]
    fn the_version_is_read_from_the_programs_answer() {
        assert_eq!(major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some(15));
        assert_eq!(major("initdb (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major("command not found"), None);
    }
}
