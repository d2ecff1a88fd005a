//! What the run prints on its way: a legend, a heading for each phase, a line a second.

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
         Bulkheads, where used: {healthy_slots} slots for healthy, {stalling_slots} for stalling; \
         {waiting_room} may wait, {wait_limit:?} at most.\n\
         ok: whole answer read. rej: rejected at once by a bulkhead (503). \
         late: no slot within {wait_limit:?} or no line within {pool_wait:?} (504), or the client left after \
         {client_timeout:?}.\n\
         Time counts from the instant a request was due, to success, rejection or giving up."
    )
}

pub(crate) fn heading(phase: Phase, options: &Options) -> String {
    let rates = Route::ALL.map(|route| format!("{} {}/s", route.name(), phase.rate(route, options)));
    let stall = phase.stall(options).map_or_else(String::new, |stall| format!(", upstream goes silent at {stall:?}"));
    format!("\n{}: {}{stall}", phase.name(), rates.join(", "))
}

pub(crate) fn second(phase: Phase, t: u32, tallies: &PerRoute<Tally>, in_use: usize, options: &Options) -> String {
    let mut line = format!("{:<12} {t:>2}s  pool {in_use:>2}/{}", phase.short_name(), options.pool);
    for route in Route::ALL {
        let tally = tallies.of(route);
        let _ = write!(
            line,
            " | {} {:>3} ok {:>3} rej {:>3} late p99 {:>7}",
            route.name(),
            tally.successes(),
            tally.rejected(),
            tally.timed_out(),
            p99(tally),
        );
    }
    line
}

fn p99(tally: &Tally) -> String {
    if tally.requests() == 0 {
        return "-".to_owned();
    }
    format!("{} ms", tally.percentile(99).as_millis())
}
