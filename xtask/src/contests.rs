//! `cargo xtask overload`, `fleet` and `breaker`: contests beside the peers, judged from outside.
//! BENCHMARKS.md describes how. A missed limit is reported, and fails nothing.

use std::path::PathBuf;

use clap::Args;

use crate::bench::{self, Measure, PACKAGE};
use crate::run::{cargo, run};
use crate::step::Step;
use crate::{test, workspace};

/// The program of `cargo xtask overload --sim`, after `cargo run`.
pub(crate) const SIMULATION: &[&str] = &["-p", "bulklink-overload", "--"];

/// The options of `cargo xtask overload`.
#[derive(Args)]
pub(crate) struct Overload {
    #[command(flatten)]
    measure: Measure,
    /// Write the tables between the markers of this document, and the plots to docs
    #[arg(long, value_name = "FILE", conflicts_with = "sim")]
    write: Option<PathBuf>,
    /// Only the scenes for adaptive limits
    #[arg(long, conflicts_with_all = ["sim", "json"])]
    adaptive: bool,
    /// Only the scene of tenants
    #[arg(long, conflicts_with_all = ["sim", "adaptive"])]
    tenants: bool,
    /// Only fixed limits in the scenes for adaptive ones, to find the best
    #[arg(long, conflicts_with_all = ["sim", "json", "write", "adaptive", "tenants"])]
    sweep: bool,
    #[command(flatten)]
    simulated: Simulated,
}

/// The options of `cargo xtask overload --sim`.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
struct Simulated {
    /// Compare rules for a limit in virtual time instead, and write docs/OVERLOAD.md; `--quick`
    /// writes nothing
    #[arg(long)]
    sim: bool,
    /// Twenty seeds, an hour of one plant, no waiting room, and the disciplines of a queue
    #[arg(long, requires = "sim", conflicts_with = "quick")]
    full: bool,
    /// Write nothing, and fail unless the document is what these runs give
    #[arg(long, requires = "sim")]
    check: bool,
    /// Print the limit over the time of one run for each plant and controller
    #[arg(long, requires = "sim")]
    trace: bool,
    /// Run only these sets
    #[arg(long, value_name = "SET", requires = "sim")]
    set: Vec<String>,
    /// Run only these plants, by the first word of their names
    #[arg(long, value_name = "PLANT", requires = "sim")]
    only: Vec<String>,
    /// Run only these controllers
    #[arg(long, value_name = "CONTROLLER", requires = "sim")]
    controller: Vec<String>,
}

/// The options of `cargo xtask fleet`.
#[derive(Args)]
pub(crate) struct Fleet {
    #[command(flatten)]
    contest: Contest,
    /// Simulate the rules of shares in virtual time instead, without servers
    #[arg(long)]
    sim: bool,
}

/// The options of `cargo xtask fleet` and `cargo xtask breaker`.
#[derive(Args)]
pub(crate) struct Contest {
    #[command(flatten)]
    measure: Measure,
    /// Run only this scene
    #[arg(long, value_name = "SCENE")]
    only: Vec<String>,
    /// Install a missing Redis or PostgreSQL through apt-get without asking
    #[arg(long)]
    yes: bool,
}

/// The steps of `cargo xtask overload`: goodput under overload.
pub(crate) fn overload(Overload { measure, write, adaptive, tenants, sweep, simulated }: Overload) -> Vec<Step> {
    if simulated.sim {
        return simulated.steps(measure);
    }
    let build = || run(&mut cargo(&["build", "--release", "-p", PACKAGE, "--bin", "bench-overload"]));
    let work = move || {
        let mut overload = measure.program("bench-overload", &["rustc"], write.as_deref())?;
        let folder = if write.is_some() { workspace::root().join("docs") } else { workspace::target_path("") };
        if sweep {
            return run(overload.arg("--sweep"));
        }
        let only = [(adaptive, "--adaptive"), (tenants, "--tenants")];
        overload.args(only.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag));
        run(overload.arg("--plots").arg(folder))
    };
    vec![Step::new("overload build", build), Step::new("overload", work)]
}

impl Simulated {
    fn steps(self, measure: Measure) -> Vec<Step> {
        let Simulated { full, check, trace, set, only, controller, .. } = self;
        let flags = [("--quick", measure.quick), ("--full", full), ("--check", check), ("--trace", trace)];
        let lists = [("--set", set), ("--only", only), ("--controller", controller)];
        let mut simulation = cargo(&[&["run", "-q", "--release"], SIMULATION].concat());
        simulation.args(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag));
        for (option, names) in lists {
            simulation.args(names.iter().map(|name| format!("{option}={name}")));
        }
        let json = measure.json.unwrap_or_else(|| workspace::target_path("overload-simulation.jsonl"));
        simulation.arg("--json").arg(json);
        vec![Step::new("overload simulation", move || run(&mut simulation))]
    }
}

/// The steps of `cargo xtask fleet`: the limit of a fleet.
pub(crate) fn fleet(Fleet { contest: options, sim }: Fleet) -> Vec<Step> {
    if sim { simulation(options.measure.quick) } else { contest("fleet", options, vec![]) }
}

/// The steps of `cargo xtask breaker`: the goal of the benches, and then the circuit of a fleet.
pub(crate) fn breaker(options: Contest) -> Vec<Step> {
    if !options.only.is_empty() {
        return contest("breaker", options, vec!["breaker".into()]);
    }
    let rows = workspace::target_path("bench/breaker.json");
    let mut steps = bench::goal("breaker", options.measure.quick, rows.clone());
    steps.extend(contest("breaker", options, vec!["breaker".into(), "--after".into(), rows]));
    steps
}

/// The steps of `cargo xtask fleet --sim`, which needs no server.
fn simulation(quick: bool) -> Vec<Step> {
    let work = move || {
        let mut sim =
            cargo(&["run", "-q", "--release", "-p", "bulklink-contest", "--bin", "fleet-contest", "--", "sim"]);
        run(sim.args(quick.then_some("--quick")))
    };
    vec![Step::new("fleet simulation", work)]
}

fn contest(name: &'static str, options: Contest, arguments: Vec<PathBuf>) -> Vec<Step> {
    let Contest { measure, only, yes } = options;
    let build = || run(&mut cargo(&["build", "--release", "-p", "bulklink-contest"]));
    let work = move || {
        let mut contest = measure.program("fleet-contest", &["rustc", "redis-server"], None)?;
        run(contest.args(arguments).args(only.iter().map(|scene| format!("--only={scene}"))))
    };
    vec![test::required_servers(yes), Step::new(format!("{name} build"), build), Step::new(name, work)]
}
