//! The end of the output: a table, and its meaning in sentences. All of it fits into 79 columns.

use std::{fmt::Write, time::Duration};

use crate::{
    scenario::{PerRoute, Phase, Route},
    tally::{Record, Tally},
};

#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) unloaded: Record,
    pub(crate) bare: Record,
    pub(crate) protected: Record,
}

impl Results {
    const fn of(&self, phase: Phase) -> &PerRoute<Tally> {
        match phase {
            Phase::Unloaded => &self.unloaded.total,
            Phase::Bare => &self.bare.total,
            Phase::Protected => &self.protected.total,
        }
    }
}

pub(crate) fn table(results: &Results) -> String {
    let mut table = format!(
        "\n{:<8} {:<12} {:>8} {:>7} {:>8} {:>7} {:>6} {:>7} {:>8}\n",
        "route", "phase", "requests", "ok", "rej", "late", "errors", "p50/ms", "p99/ms"
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
        "{:<8} {:<12} {:>8} {:>7} {:>8} {:>7} {:>6} {:>7.1} {:>8.1}",
        route.name(),
        phase.short_name(),
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
    let [unloaded, bare, protected] = Phase::ALL.map(|phase| &results.of(phase).healthy);
    format!(
        "Beside a stalled neighbour, the healthy route answered {} of its requests\n\
         without bulkheads and {} with them. Its p99 was {:.1} ms without,\n\
         {:.1} ms with, and {:.1} ms unloaded.\n{}",
        success(bare),
        success(protected),
        millis(bare.percentile(99)),
        millis(protected.percentile(99)),
        millis(unloaded.percentile(99)),
        neighbour(&results.protected.total.stalling),
    )
}

fn neighbour(stalling: &Tally) -> String {
    if stalling.rejected() == 0 {
        return "The neighbour's bulkhead rejected no request.".to_owned();
    }
    format!(
        "The neighbour's bulkhead rejected {} of the requests for the stalled\n\
         upstream immediately, half of them within {:.1} ms.",
        percent(stalling.rejected(), stalling.requests()),
        millis(stalling.rejection_time()),
    )
}

fn success(tally: &Tally) -> String {
    percent(tally.successes(), tally.requests())
}

/// Returns a share in percent. It is never rounded up, so 100.0 % means all requests.
fn percent(count: usize, of: usize) -> String {
    let tenths = count * 1_000 / of.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
