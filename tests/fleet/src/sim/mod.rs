//! A simulation of a fleet in virtual time: the machines of shares beside a call to the server for
//! each admission, and beside a static split of the limit.
//!
//! The machines are those of `bulklink-fleet`. Bulkheads, operations and the network are models;
//! the server takes no time. So it judges the rules, and not the speed of a store.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "times and counts of a run are small"
)]

mod bulkhead;
mod load;
mod measure;
mod world;

use bulklink_fleet::share::Tuning;

use self::load::{Case, LARGE, cases};
use self::measure::Measured;
use self::world::World;

/// How the limit is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scheme {
    /// Each call asks the server, and waits there in one queue.
    PerCall,
    /// Each process has an equal part of the limit.
    Split,
    Shares(Tuning),
}

/// The times of a round trip, in microseconds.
const ROUND_TRIPS: [u64; 2] = [500, 2_000];

/// Runs all loads with all schemes, and returns a table in Markdown. `quick` simulates a fifth of
/// the time.
pub fn table(quick: bool) -> String {
    let mut lines = vec![Measured::HEAD.to_owned(), Measured::RULE.to_owned()];
    let mut play = |case: Case, scheme, round_trip| {
        let time = if quick { case.time / 5 } else { case.time };
        let measured = World::new(Case { time, ..case }, scheme, round_trip).run();
        lines.push(measured.row(&case, scheme, round_trip));
    };
    let tuning = Tuning::default();
    for case in cases() {
        for round_trip in ROUND_TRIPS {
            for scheme in schemes(&case, tuning) {
                play(case, scheme, round_trip);
            }
        }
    }
    play(LARGE, Scheme::Shares(tuning), ROUND_TRIPS[0]);
    lines.join("\n")
}

fn schemes(case: &Case, tuning: Tuning) -> Vec<Scheme> {
    let split = (case.limit as usize >= case.processes).then_some(Scheme::Split);
    let shares = [Scheme::Shares(tuning), Scheme::Shares(tuning.strict())];
    [Scheme::PerCall].into_iter().chain(split).chain(shares).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares use more of a limit than calls to a server do, with fewer commands, and never more
    /// than there is.
    #[test]
    fn shares_keep_the_limit_and_use_it() {
        let even = Case { time: 2_000_000, ..cases()[3] };
        let shares = World::new(even, Scheme::Shares(Tuning::default()), 500).run();
        let per_call = World::new(even, Scheme::PerCall, 500).run();
        assert_eq!((shares.over, per_call.over), (0, 0));
        assert!(shares.usage() > per_call.usage() && shares.usage() > 0.97, "{} {}", shares.usage(), per_call.usage());
        assert!(shares.commands() < 0.5 && per_call.commands() > 1.5);
    }

    #[test]
    fn a_strict_share_passes_a_unit_on() {
        let closed = cases().into_iter().find(|case| case.limit == 1).unwrap();
        let scheme = Scheme::Shares(Tuning::default().strict());
        let measured = World::new(Case { time: 2_000_000, ..closed }, scheme, 500).run();
        assert_eq!(measured.over, 0);
        assert!(measured.usage() > 0.8 && measured.commands() < 1.2, "{measured:?}");
    }
}
