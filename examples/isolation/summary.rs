//! What the run prints at its end: the table, and in a sentence what its numbers say.

use std::{fmt::Write, time::Duration};

use crate::{
    scenario::{PerRoute, Phase, Route},
    tally::Tally,
};

#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) unloaded: PerRoute<Tally>,
    pub(crate) bare: PerRoute<Tally>,
    pub(crate) protected: PerRoute<Tally>,
}

impl Results {
    const fn of(&self, phase: Phase) -> &PerRoute<Tally> {
        match phase {
            Phase::Unloaded => &self.unloaded,
            Phase::Bare => &self.bare,
            Phase::Protected => &self.protected,
        }
    }
}

pub(crate) fn table(results: &Results) -> String {
    let mut table = format!(
        "\n{:<9} {:<25} {:>8} {:>9} {:>16} {:>9} {:>7} {:>10} {:>10}\n",
        "route", "phase", "requests", "success", "rejected at once", "timed out", "errors", "p50", "p99"
    );
    let mut failures = Vec::new();
    for route in Route::ALL {
        for phase in Phase::ALL {
            let tally = results.of(phase).of(route);
            let _ = writeln!(table, "{}", row(route, phase, tally));
            failures.extend(tally.first_failure());
        }
    }
    if let Some(failure) = failures.first() {
        let _ = writeln!(table, "first error: {failure}");
    }
    table
}

fn row(route: Route, phase: Phase, tally: &Tally) -> String {
    let share = |count| percent(count, tally.requests());
    format!(
        "{:<9} {:<25} {:>8} {:>9} {:>16} {:>9} {:>7} {:>10} {:>10}",
        route.name(),
        phase.name(),
        tally.requests(),
        share(tally.successes()),
        share(tally.rejected()),
        share(tally.timed_out()),
        tally.failed(),
        millis(tally.percentile(50)),
        millis(tally.percentile(99)),
    )
}

pub(crate) fn sentence(results: &Results) -> String {
    let Results { unloaded, bare, protected } = results;
    format!(
        "Beside a stalled neighbour, the healthy route answered {} of its requests without bulkheads and {} with them; \
         its p99 was {} without, {} with and {} unloaded; {}.",
        success(&bare.healthy),
        success(&protected.healthy),
        millis(bare.healthy.percentile(99)),
        millis(protected.healthy.percentile(99)),
        millis(unloaded.healthy.percentile(99)),
        neighbour(&protected.stalling),
    )
}

fn neighbour(stalling: &Tally) -> String {
    if stalling.rejected() == 0 {
        return "the neighbour's bulkhead had nobody to turn away".to_owned();
    }
    format!(
        "the neighbour's bulkhead turned away {} of what came for the stalled upstream at once, half of it within {}",
        percent(stalling.rejected(), stalling.requests()),
        millis(stalling.rejection_time()),
    )
}

fn success(tally: &Tally) -> String {
    percent(tally.successes(), tally.requests())
}

/// Never rounded up: 100.0 % is said of all, not of nearly all.
fn percent(count: usize, of: usize) -> String {
    let tenths = count * 1_000 / of.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}
