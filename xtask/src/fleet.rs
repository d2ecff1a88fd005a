//! Runs the contests of `tests/fleet`: of the limit, and of the circuit.

use std::ffi::OsString;
use std::path::{PathBuf, absolute};

use crate::bench::{self, machine, program};
use crate::run::{cargo, run};
use crate::step::Step;
use crate::{test, workspace};

/// The options of `cargo xtask fleet` and `cargo xtask breaker`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Less of everything: a few minutes, once built
    #[arg(long)]
    quick: bool,
    /// Run only this scene
    #[arg(long, value_name = "SCENE")]
    only: Vec<String>,
    /// Write the rows with a limit there as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The steps of `cargo xtask fleet`. A missed limit is reported, and fails nothing.
pub(crate) fn steps(options: Options) -> Vec<Step<'static>> {
    contest("fleet", options, Vec::new())
}

/// The steps of `cargo xtask breaker`: the goal of the benches, and then the contest.
pub(crate) fn breaker(options: Options) -> Vec<Step<'static>> {
    if !options.only.is_empty() {
        return contest("breaker", options, vec!["breaker".into()]);
    }
    let rows = workspace::target_path("bench/breaker.json");
    let mut steps = bench::goal("breaker", options.quick, rows.clone());
    steps.extend(contest("breaker", options, vec!["breaker".into(), "--after".into(), rows.into()]));
    steps
}

fn contest(name: &'static str, options: Options, arguments: Vec<OsString>) -> Vec<Step<'static>> {
    let build = || run(&mut cargo(&["build", "--release", "-p", "bulklink-contest"]));
    let measure = move || {
        let mut contest = program("fleet-contest");
        let how = if options.quick { "Quick run" } else { "Full run" };
        contest.args(&arguments).arg("--about").arg(format!("{how}; {}", machine(&["rustc", "redis-server"])));
        contest.args(options.quick.then_some("--quick"));
        contest.args(options.only.iter().map(|scene| format!("--only={scene}")));
        if let Some(file) = &options.json {
            contest.arg("--json").arg(absolute(file)?);
        }
        run(&mut contest)
    };
    vec![
        Step::new("servers", || test::servers(false)),
        Step::new(format!("{name} build"), build),
        Step::new(name, measure),
    ]
}
