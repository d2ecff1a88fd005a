//! The tests: those of `cargo test`, the front without its fast path, the trace replay, loom.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, flags, run};
use crate::step::{Missing, Step};
use crate::toolchain::{debian, programs};
use crate::workspace;

/// The programs of Redis that `tests/servers` looks for, also the name of the first one's Debian
/// package.
const REDIS: [&str; 2] = ["redis-server", "valkey-server"];

/// Where Debian has the versions of PostgreSQL, which `tests/servers` finds beside the search path.
const POSTGRES: &str = "/usr/lib/postgresql";

/// The features of the front and of tokio's adapter that are off by default.
const FEATURES: &str = "bulklink/tracing,bulklink/tsc,bulklink-tokio/tsc";
/// Debian's package of Prometheus, and the programs in it that the tests use.
const PROMETHEUS: (&str, [&str; 2]) = ("prometheus", ["prometheus", "promtool"]);

/// The steps of `cargo xtask test`. With `yes`, a missing server is installed without a question.
pub(crate) fn steps(yes: bool) -> Vec<Step<'static>> {
    let front = ["test", "-p", "bulklink", "-p", "bulklink-tokio"];
    let mut steps = vec![
        Step::new("servers", move || servers(yes)),
        Step::new("prometheus", prometheus),
        Step::new("tests", || run(&mut cargo(&["test", "--workspace"]))),
        // In the workspace, an example switches `tracing` on for all.
        Step::new("default features", move || run(&mut cargo(&front))),
        Step::new("features", move || run(cargo(&front).args(["--features", FEATURES]))),
        // The front as it is on targets without 64-bit atomics.
        Step::new("lock-only", move || run(&mut with_flags(&front, "lock-only", "--cfg bulklink_lock_only"))),
        conformance(None),
    ];
    steps.extend(loom());
    steps
}

/// Finds or installs the servers for the tests that need one, which otherwise skip themselves.
pub(crate) fn servers(yes: bool) -> Result<()> {
    let has_redis = || REDIS.iter().any(|server| programs::runs(server));
    let has_postgres = || programs::runs("postgres") || debian_has_postgres();
    let redis = find("BULKLINK_REDIS_BIN", has_redis, || programs::from_apt_asking(REDIS[0], yes));
    let postgres = find("BULKLINK_POSTGRES_BIN", has_postgres, || programs::postgresql_asking(yes));
    redis.and(postgres)
}

/// Finds Prometheus, or unpacks it below `target`, where the tests find it: if it were installed,
/// it would run a server for the whole machine.
fn prometheus() -> Result<()> {
    let (package, programs) = PROMETHEUS;
    let folders = [PathBuf::new(), debian::programs_in(package)];
    let is_there = || folders.iter().any(|folder| debian::programs_run(folder, &programs));
    find("BULKLINK_PROMETHEUS_BIN", is_there, || debian::unpacked_programs(package, &programs).map(drop))
}

fn find(variable: &str, is_there: impl Fn() -> bool, install: impl FnOnce() -> Result<()>) -> Result<()> {
    // The tests judge programs that a variable names.
    if env::var_os(variable).is_some() || is_there() {
        return Ok(());
    }
    let missing = |why: String| Err(Missing(why).into());
    if !programs::runs("apt-get") {
        return missing(format!(
            "no server for the tests, and {variable} names none; Homebrew and dnf have redis, valkey, postgresql and \
             prometheus"
        ));
    }
    match install() {
        Ok(()) if is_there() => Ok(()),
        Ok(()) => missing("a server was installed, but it does not run".to_owned()),
        Err(error) => missing(format!("{error:#}")),
    }
}

/// Whether a version of PostgreSQL is installed with its server.
fn debian_has_postgres() -> bool {
    let versions = Path::new(POSTGRES).read_dir().into_iter().flatten().flatten();
    versions.into_iter().any(|version| version.path().join("bin/postgres").is_file())
}

/// Runs every script of inputs up to a depth, for gates, partitions and circuits, against their
/// reference models.
pub(crate) fn exhaustive(depth: Option<u32>) -> Vec<Step<'static>> {
    let tests = ["exhaustive", "partitions", "exhaustive_circuit"];
    machine_tests("exhaustive search", tests, "BULKLINK_DEPTH", depth)
}

/// Runs long random scripts against the reference models.
pub(crate) fn properties(cases: Option<u32>) -> Vec<Step<'static>> {
    let tests = ["properties", "partition_properties", "circuit_properties"];
    machine_tests("properties", tests, "PROPTEST_CASES", cases)
}

fn machine_tests(
    name: &str,
    tests: [&'static str; 3],
    variable: &'static str,
    value: Option<u32>,
) -> Vec<Step<'static>> {
    vec![Step::new(name, move || {
        let mut test = cargo(&["test", "-p", "bulklink-core", "-p", "bulklink-breaker"]);
        test.args(tests.iter().flat_map(|test| ["--test", test]));
        run(test.envs(value.map(|value| (variable, value.to_string()))))
    })]
}

/// Replays recorded traces. A relative folder starts at the current folder of the user.
pub(crate) fn conformance(dir: Option<PathBuf>) -> Step<'static> {
    Step::new("conformance", || {
        let mut replay = cargo(&["run", "-q", "-p", "bulklink-traces", "--release", "--"]);
        run(replay.args(dir.map(std::path::absolute).transpose()?))
    })
}

/// Runs the loom scenes of the front, with the fast path and without it, and of the breaker.
pub(crate) fn loom() -> Vec<Step<'static>> {
    let scenes = ["test", "-p", "bulklink", "-p", "bulklink-breaker", "--test", "loom", "--profile", "proof"];
    [("loom", "--cfg bulklink_loom"), ("loom-lock-only", "--cfg bulklink_loom --cfg bulklink_lock_only")]
        .map(|(name, added)| Step::new(name, move || run(&mut with_flags(&scenes, name, added))))
        .into()
}

/// Cargo with more compiler flags, in its own target folder: the flags would rebuild the usual one.
fn with_flags(args: &[&str], folder: &str, added: &str) -> Command {
    let mut cargo = cargo(args);
    cargo.arg("--target-dir").arg(workspace::target_path(folder)).env("RUSTFLAGS", flags("RUSTFLAGS", added));
    cargo
}
