//! `cargo xtask ci`: all checks, ordered so that the cheapest fail first.

use crate::run::{cargo, run};
use crate::step::Step;
use crate::{bench, embedded, lint, msrv, no_std, test};

/// The steps of `cargo xtask ci`.
pub(crate) fn steps() -> Vec<Step<'static>> {
    let isolation = || run(&mut cargo(&["run", "--release", "--example", "isolation"]));
    let mut steps = lint::steps();
    steps.extend(test::steps());
    steps.extend(no_std::steps());
    steps.extend(embedded::steps(false));
    steps.extend(msrv::steps());
    steps.push(Step::new("isolation", isolation));
    steps.extend(bench::gate());
    steps
}
