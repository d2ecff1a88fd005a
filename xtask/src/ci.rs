//! Everything, in the order in which it fails soonest.

use anyhow::Result;

use crate::run::{cargo, run};
use crate::step::{Outcome, Step};
use crate::{bench, embedded, lint, msrv, no_std, test};

const ISOLATION: Step = Step { name: "isolation", run: || isolation().map(|()| Outcome::Passed) };

/// What `cargo xtask ci` runs.
pub(crate) fn steps() -> Vec<Step> {
    [lint::STEPS, test::STEPS, no_std::STEPS, embedded::STEPS, msrv::STEPS, &[ISOLATION, bench::GATE]].concat()
}

fn isolation() -> Result<()> {
    run(&mut cargo(&["run", "--release", "--example", "isolation"]))
}
