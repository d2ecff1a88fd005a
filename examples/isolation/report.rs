//! Everything printed while the run goes on: a legend, a heading for each phase, a row per second.
//! All of it fits into 79 columns.

use std::fmt::Write;

use crate::{
    options::Options,
    scenario::{PerRoute, Phase, Route},
    tally::Tally,
};

pub(crate) fn legend(options: &Options) -> String {
    let Options { pool, pool_wait, client_timeout, healthy_slots, stalling_slots, waiting_room, wait_limit, .. } =
        options;
    format!(
        "A gateway with {pool} outbound lines that two routes share.\n\
         Bulkheads: {healthy_slots} slots for the healthy route, {stalling_slots} for the stalling one.\n\
         In each bulkhead {waiting_room} requests may wait, for {wait_limit:?} at most.\n\
         \n\
         ok    the whole response was read\n\
         rej   a bulkhead rejected the request immediately (503)\n\
         late  no slot within {wait_limit:?} or no line within {pool_wait:?} (504),\n      \
               or the client gave up after {client_timeout:?}\n\
         p99   counts from the instant a request was due to its outcome"
    )
}

pub(crate) fn heading(phase: Phase, options: &Options) -> String {
    let rates = Route::ALL.map(|route| format!("{} {}/s", route.name(), phase.rate(route, options)));
    let stall = phase.stall(options).map_or_else(String::new, |stall| format!(", silent from {stall:?}"));
    let [left, right] = Route::ALL.map(Route::name);
    let mut heading = format!("\n{}: {}{stall}\n", phase.name(), rates.join(", "));
    let _ = writeln!(heading, "{:14} | {left:26} | {right}", "");
    let _ = write!(heading, "{:>4} {:>9}", "time", "lines");
    for _ in Route::ALL {
        let _ = write!(heading, " | {:>4} {:>4} {:>4} {:>11}", "ok", "rej", "late", "p99");
    }
    heading
}

pub(crate) fn second(t: u32, tallies: &PerRoute<Tally>, in_use: usize, options: &Options) -> String {
    let mut line = format!("{:>4} {:>9}", format!("{t}s"), format!("{in_use}/{}", options.pool));
    for route in Route::ALL {
        let tally = tallies.of(route);
        let (ok, rejected, late) = (tally.successes(), tally.rejected(), tally.timed_out());
        let _ = write!(line, " | {ok:>4} {rejected:>4} {late:>4} {:>11}", p99(tally));
    }
    line
}

fn p99(tally: &Tally) -> String {
    if tally.requests() == 0 {
        return "-".to_owned();
    }
    format!("{} ms", tally.percentile(99).as_millis())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::{
        summary::{self, Results},
        tally::{Outcome, Record, Sample},
    };

    /// A minute of the highest rate, in which every request took a minute.
    fn slowest() -> PerRoute<Tally> {
        let mut tallies = PerRoute::<Tally>::default();
        for route in Route::ALL {
            for outcome in [Outcome::Success, Outcome::Rejected, Outcome::TimedOut] {
                for _ in 0..2_000 {
                    let sample = Sample { route, outcome: outcome.clone(), latency: Duration::from_mins(1) };
                    tallies.of_mut(route).add(sample);
                }
            }
        }
        tallies
    }

    fn record() -> Record {
        Record { total: slowest(), healthy: Vec::new() }
    }

    #[test]
    fn what_is_printed_fits_into_79_columns() {
        let options = Options::try_parse_from(["isolation"]).unwrap();
        let widest = Options { pool: 4_096, ..options.clone() };
        let results = Results { unloaded: record(), bare: record(), protected: record() };
        let mut texts = vec![legend(&options), second(60, &slowest(), 4_096, &widest)];
        texts.extend(Phase::ALL.map(|phase| heading(phase, &options)));
        texts.extend([summary::table(&results), summary::sentence(&results)]);
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 79, "{line}");
        }
    }
}
