//! Finds the program of the server.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::Missing;

/// The environment variable that names the program.
const VARIABLE: &str = "BULKLINK_REDIS_BIN";

/// The scripts need what Redis and Valkey have since this major version.
const OLDEST: u32 = 7;

/// Returns the program of the server, which runs and is new enough. It is sought once, as a look at
/// its version takes longer than its start.
///
/// # Panics
///
/// Panics if the variable names a program that does not.
pub(crate) fn find() -> Result<PathBuf, Missing> {
    static FOUND: OnceLock<Result<PathBuf, Missing>> = OnceLock::new();
    let version = |program: &PathBuf| {
        let output = Command::new(program).arg("--version").output().ok()?;
        major(&String::from_utf8_lossy(&output.stdout))
    };
    FOUND.get_or_init(|| choose(env::var_os(VARIABLE).map(PathBuf::from), version)).clone()
}

fn choose(named: Option<PathBuf>, version: impl Fn(&PathBuf) -> Option<u32>) -> Result<PathBuf, Missing> {
    let is_new = |program: &PathBuf| version(program).is_some_and(|found| found >= OLDEST);
    if let Some(program) = named {
        assert!(is_new(&program), "{VARIABLE} names no server of version {OLDEST} or later: {}", program.display());
        return Ok(program);
    }
    let mut usual = ["redis-server", "valkey-server"].map(PathBuf::from).into_iter();
    let why = format!("no redis-server or valkey-server of version {OLDEST} or later; {VARIABLE} can name one");
    usual.find(is_new).ok_or(Missing(why))
}

/// The major number in `Redis server v=7.0.15 sha=…`.
fn major(text: &str) -> Option<u32> {
    text.split_once(" v=")?.1.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(named: Option<&str>, installed: &[(&str, u32)]) -> Option<String> {
        let version = |program: &PathBuf| {
            installed.iter().find(|(name, _)| program.as_os_str() == *name).map(|(_, version)| *version)
        };
        let found = choose(named.map(PathBuf::from), version).ok()?;
        Some(found.to_string_lossy().into_owned())
    }

    #[test]
    fn redis_is_preferred_and_an_old_one_is_none() {
        let (redis, valkey) = (("redis-server", 7), ("valkey-server", 8));
        assert_eq!(chosen(None, &[valkey, redis]).as_deref(), Some("redis-server"));
        assert_eq!(chosen(None, &[("redis-server", 6), valkey]).as_deref(), Some("valkey-server"));
        assert_eq!(chosen(None, &[("redis-server", 6)]), None);
        assert_eq!(chosen(Some("mine"), &[redis, ("mine", 7)]).as_deref(), Some("mine"));
    }

    #[test]
    #[should_panic(expected = "BULKLINK_REDIS_BIN names no server")]
    fn a_named_program_that_does_not_run_is_never_replaced() {
        chosen(Some("mine"), &[("redis-server", 7)]);
    }

    #[test]
    fn the_version_is_read_from_the_programs_answer() {
        assert_eq!(major("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0"), Some(7));
        assert_eq!(major("Valkey server v=8.1.0 sha=0"), Some(8));
        assert_eq!(major("command not found"), None);
    }
}
