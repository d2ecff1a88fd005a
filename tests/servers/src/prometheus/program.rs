//! Finds the programs of Prometheus.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Missing;

/// The environment variable that names the folder of the programs.
const VARIABLE: &str = "BULKLINK_PROMETHEUS_BIN";

/// The oldest major version that is supported.
const OLDEST: u32 = 2;

/// Where `cargo xtask test` unpacks Debian's package, below the target folder.
const UNPACKED: &str = "prometheus/usr/bin";

/// The server and the tool beside it.
const PROGRAMS: [&str; 2] = ["prometheus", "promtool"];

/// Returns the folder of the programs, which run and are new enough. It is empty if they are on the
/// search path.
///
/// # Panics
///
/// Panics if the variable names a folder that does not have them.
pub(crate) fn find() -> Result<PathBuf, Missing> {
    let test = env::current_exe().unwrap_or_default();
    choose(env::var_os(VARIABLE).map(PathBuf::from), &test, |folder| {
        let versions = PROGRAMS.map(|program| {
            let output = Command::new(folder.join(program)).arg("--version").output().ok()?;
            major(&String::from_utf8_lossy(&output.stdout))
        });
        versions.into_iter().min().flatten()
    })
}

/// A test runs in or below the target folder.
fn choose(named: Option<PathBuf>, test: &Path, version: impl Fn(&Path) -> Option<u32>) -> Result<PathBuf, Missing> {
    let is_new = |folder: &PathBuf| version(folder).is_some_and(|found| found >= OLDEST);
    if let Some(folder) = named {
        assert!(is_new(&folder), "{VARIABLE} names no folder of Prometheus {OLDEST} or later: {}", folder.display());
        return Ok(folder);
    }
    let unpacked = test.ancestors().skip(1).map(|folder| folder.join(UNPACKED));
    let mut folders = [PathBuf::new()].into_iter().chain(unpacked);
    let why = format!(
        "no prometheus and promtool of version {OLDEST} or later; `cargo xtask test` fetches them, \
         and {VARIABLE} can name the folder of the programs"
    );
    folders.find(is_new).ok_or(Missing(why))
}

/// The major number in `promtool, version 2.42.0+ds (branch: …)`.
fn major(text: &str) -> Option<u32> {
    text.split_once("version ")?.1.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(named: Option<&str>, installed: &[(&str, u32)]) -> Option<PathBuf> {
        let version =
            |folder: &Path| installed.iter().find(|(name, _)| Path::new(name) == folder).map(|(_, version)| *version);
        choose(named.map(PathBuf::from), Path::new("/a/target/debug/deps/test"), version).ok()
    }

    #[test]
    fn the_search_path_is_preferred_and_an_old_one_is_none() {
        let unpacked = "/a/target/prometheus/usr/bin";
        assert_eq!(chosen(None, &[("", 2), (unpacked, 3)]), Some("".into()));
        assert_eq!(chosen(None, &[("", 1), (unpacked, 2)]), Some(unpacked.into()));
        assert_eq!(chosen(None, &[("", 1), ("/a/b/usr/bin", 2)]), None);
        assert_eq!(chosen(Some("/mine"), &[("", 2), ("/mine", 3)]), Some("/mine".into()));
    }

    #[test]
    #[should_panic(expected = "BULKLINK_PROMETHEUS_BIN names no folder")]
    fn a_named_folder_without_programs_is_never_replaced() {
        chosen(Some("/mine"), &[("", 2)]);
    }

    #[test]
    fn the_version_is_read_from_the_programs_answer() {
        assert_eq!(major("promtool, version 2.42.0+ds (branch: debian/sid, revision: 1)"), Some(2));
        assert_eq!(major("prometheus, version 3.5.0 (branch: HEAD)"), Some(3));
        assert_eq!(major("command not found"), None);
    }
}
