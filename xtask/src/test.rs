//! The tests: those that a change needs, and the proofs, which take longer.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use crate::run::{cargo, flags, run};
use crate::step::{Missing, Step};
use crate::suites::{self, Suite};
use crate::toolchain::{debian, programs};
use crate::{bench, cfg, contests, workspace};

/// The steps of `cargo xtask test`. With `yes`, a missing server is installed without a question.
pub(crate) fn steps(yes: bool) -> Vec<Step> {
    let servers = Step::new("servers", move || servers(yes));
    vec![servers, Step::new("prometheus", prometheus), Step::new("tests", suites::run_all)]
}

/// The steps of `cargo xtask prove`, with `yes` as in [`steps`].
pub(crate) fn proofs(yes: bool) -> Vec<Step> {
    vec![Step::new("servers", move || servers(yes)), Step::new("proofs", prove)]
}

/// Runs all proofs side by side, those first that take longest.
fn prove() -> Result<()> {
    const FRONT: [&str; 5] = ["test", "-p", "bulklink", "-p", "bulklink-tokio"];
    let tests = [SEARCHES, &["differential"], PROPERTIES, SIMULATIONS].concat();
    let values = [(DEPTH, PROVEN_DEPTH), (CASES, PROVEN_CASES), ("BULKLINK_COMMANDS", 120_000)];
    let longer = suites::only(&tests, &values)?;
    let mut lock_only = cargo(&FRONT);
    cfg::add(&mut lock_only, LOCK_ONLY)?;
    let others = [
        Suite::of_cargo("lock-only", lock_only),
        Suite::of_cargo("default-features", cargo(&FRONT)),
        // As the gate builds them, so that it need not build peers and scenes again.
        Suite::of_cargo("benches", cargo(&[&["test", "--profile", "bench"], &bench::GATED[..]].concat())),
        // The published table of limits is that of the rules as they are.
        Suite::of_cargo(
            "limits",
            cargo(&[&["run", "--release"], contests::SIMULATION, &["--quick", "--check"]].concat()),
        ),
    ];
    suites::side_by_side(scenes()?.into_iter().chain(longer).chain(others).collect())
}

/// The step of a command that cannot do without servers: a missing one ends it.
pub(crate) fn required_servers(yes: bool) -> Step {
    Step::new("servers", move || servers(yes).map_err(|missing| anyhow!("{missing:#}")))
}

/// Finds or installs the servers for the tests that need one, which otherwise skip themselves.
fn servers(yes: bool) -> Result<()> {
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

/// The scripts of the gate's search in the proofs.
pub(crate) const PROVEN_DEPTH: u32 = 4;

/// The random scripts of each kind in the proofs.
pub(crate) const PROVEN_CASES: u32 = 400;

const DEPTH: &str = "BULKLINK_DEPTH";
const SEARCHES: &[&str] = &["exhaustive", "partitions", "pool", "exhaustive_circuit", "shares", "replicas"];

/// The simulation of a planner: it has more calls at the depth of the proofs.
const SIMULATIONS: &[&str] = &["laws", "lockstep", "planning"];

const CASES: &str = "PROPTEST_CASES";
const PROPERTIES: &[&str] = &["properties", "partition_properties", "pool_properties", "circuit_properties", "reserve"];

/// Runs every script of inputs up to a depth against the reference models, and those of a fleet
/// against its rules.
pub(crate) fn exhaustive(depth: u32) -> Step {
    longer("exhaustive search", SEARCHES.into(), vec![(DEPTH, depth)])
}

/// Runs long random scripts against the reference models.
pub(crate) fn properties(cases: u32) -> Step {
    longer("properties", PROPERTIES.into(), vec![(CASES, cases)])
}

/// Tests of the usual build, with other values than usual.
fn longer(name: &str, tests: Vec<&'static str>, values: Vec<(&'static str, u32)>) -> Step {
    Step::new(name, move || suites::side_by_side(suites::only(&tests, &values)?))
}

/// Replays recorded traces. A relative folder starts at the current folder of the user.
pub(crate) fn conformance(dir: Option<PathBuf>) -> Step {
    Step::new("conformance", || {
        let mut replay = cargo(&["run", "-q", "-p", "bulklink-traces", "--release", "--"]);
        run(replay.args(dir.map(std::path::absolute).transpose()?))
    })
}

/// The front as it is on targets without 64-bit atomics.
const LOCK_ONLY: &str = "bulklink_lock_only";

/// Runs the loom scenes of front and breaker, with the fast path and without it.
pub(crate) fn loom() -> Step {
    Step::new("loom", || suites::side_by_side(scenes()?))
}

fn scenes() -> Result<Vec<Suite>> {
    let scenes = || {
        let mut cargo = cargo(&["test", "-p", "bulklink-loom", "--profile", "proof", "--target-dir"]);
        // In its own target folder, because the flag, by which loom is a dependency, is for all.
        cargo.arg(workspace::target_path("loom")).env("RUSTFLAGS", flags("RUSTFLAGS", "--cfg bulklink_loom"));
        // Each execution maps and unmaps stacks, which the threads of one process do by turns.
        cargo.env("RUST_TEST_THREADS", "1");
        cargo
    };
    let mut lock_only = scenes();
    cfg::add(&mut lock_only, LOCK_ONLY)?;
    Ok(vec![Suite::of_cargo("loom", scenes()), Suite::of_cargo("loom-lock-only", lock_only)])
}
