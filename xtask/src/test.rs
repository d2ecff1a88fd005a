//! The tests: those of `cargo test`, the front without its fast path, the trace replay, loom.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, flags, run};
use crate::step::{Missing, Step};
use crate::toolchain::{debian, programs};
use crate::workspace;

/// The steps of `cargo xtask test`. With `yes`, a missing server is installed without a question.
pub(crate) fn steps(yes: bool) -> Vec<Step> {
    let front = ["test", "-p", "bulklink", "-p", "bulklink-tokio"];
    let all = ["test", "--workspace", "--features=bulklink/tracing,bulklink/tsc,bulklink-tokio/tsc"];
    let mut steps = vec![
        Step::new("servers", move || servers(yes)),
        Step::new("prometheus", prometheus),
        Step::new("tests", move || run(&mut cargo(&all))),
        Step::new("default features", move || run(&mut cargo(&front))),
        // The front as it is on targets without 64-bit atomics.
        Step::new("lock-only", move || run(&mut with_flags(&front, "lock-only", "--cfg bulklink_lock_only"))),
        conformance(None),
    ];
    steps.extend(loom());
    steps
}

/// Finds or installs the servers for the tests that need one, which otherwise skip themselves.
pub(crate) fn servers(yes: bool) -> Result<()> {
    let has_redis = || ["redis-server", "valkey-server"].iter().any(programs::runs);
    let redis = find("BULKLINK_REDIS_BIN", has_redis, || programs::from_apt_asking("redis-server", yes));
    // Debian has the versions of PostgreSQL in this folder, where `tests/servers` finds them.
    let versions = || Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let has_postgres =
        || programs::runs("postgres") || versions().any(|version| version.path().join("bin/postgres").is_file());
    let install = || programs::from_apt_asking(programs::POSTGRESQL, yes);
    redis.and(find("BULKLINK_POSTGRES_BIN", has_postgres, install))
}

/// Finds Prometheus, or unpacks it below `target`, where the tests find it: if it were installed,
/// it would run a server for the whole machine.
fn prometheus() -> Result<()> {
    let runs_in = |folder: &Path| ["prometheus", "promtool"].iter().all(|program| programs::runs(folder.join(program)));
    let is_unpacked = |folder: &Path| runs_in(&folder.join("usr/bin")).then_some(());
    let install = || debian::unpacked("prometheus", &["prometheus"], is_unpacked);
    let is_there = || runs_in(Path::new("")) || is_unpacked(&workspace::target_path("prometheus")).is_some();
    find("BULKLINK_PROMETHEUS_BIN", is_there, install)
}

/// Installs a server that no variable names and that is not there.
fn find(variable: &str, is_there: impl Fn() -> bool, install: impl FnOnce() -> Result<()>) -> Result<()> {
    // The tests judge programs that a variable names.
    if env::var_os(variable).is_some() || is_there() {
        return Ok(());
    }
    let advice = format!("no server for the tests, and {variable} names none; Homebrew and dnf have it too");
    let why = match install() {
        Ok(()) if is_there() => return Ok(()),
        Ok(()) => "it was installed, but it does not run".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    Err(Missing(format!("{advice} ({why})")).into())
}

/// Runs every script of inputs up to a depth, for gates, partitions and circuits, against their
/// reference models.
pub(crate) fn exhaustive(depth: Option<u32>) -> Vec<Step> {
    let tests = ["exhaustive", "partitions", "exhaustive_circuit"];
    machine_tests("exhaustive search", tests, "BULKLINK_DEPTH", depth)
}

/// Runs long random scripts against the reference models.
pub(crate) fn properties(cases: Option<u32>) -> Vec<Step> {
    let tests = ["properties", "partition_properties", "circuit_properties"];
    machine_tests("properties", tests, "PROPTEST_CASES", cases)
}

fn machine_tests(name: &str, tests: [&'static str; 3], variable: &'static str, value: Option<u32>) -> Vec<Step> {
    vec![Step::new(name, move || {
        let mut test = cargo(&["test", "-p", "bulklink-core", "-p", "bulklink-breaker"]);
        test.args(tests.iter().flat_map(|test| ["--test", test]));
        run(test.envs(value.map(|value| (variable, value.to_string()))))
    })]
}

/// Replays recorded traces. A relative folder starts at the current folder of the user.
pub(crate) fn conformance(dir: Option<PathBuf>) -> Step {
    Step::new("conformance", || {
        let mut replay = cargo(&["run", "-q", "-p", "bulklink-traces", "--release", "--"]);
        run(replay.args(dir.map(std::path::absolute).transpose()?))
    })
}

/// Runs the loom scenes of the front, with the fast path and without it, and of the breaker.
pub(crate) fn loom() -> Vec<Step> {
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
