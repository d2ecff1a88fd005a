//! Runs the contest of `tests/fleet`.

use std::path::{PathBuf, absolute};

use crate::bench::{machine, program};
use crate::run::{cargo, run};
use crate::step::Step;
use crate::test;

/// The options of `cargo xtask fleet`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Less of everything: about three minutes instead of half an hour, once built
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
    let build = || run(&mut cargo(&["build", "--release", "-p", "bulklink-contest"]));
    let measure = move || {
        let mut contest = program("fleet-contest");
        let how = if options.quick { "Quick run" } else { "Full run" };
        contest.arg("--about").arg(format!("{how}; {}", machine(&["rustc", "redis-server"])));
        contest.args(options.quick.then_some("--quick"));
        contest.args(options.only.iter().map(|scene| format!("--only={scene}")));
        if let Some(file) = &options.json {
            contest.arg("--json").arg(absolute(file)?);
        }
        run(&mut contest)
    };
    vec![Step::new("servers", || test::servers(false)), Step::new("fleet build", build), Step::new("fleet", measure)]
}
