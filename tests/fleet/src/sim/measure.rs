//! The measurements of a run of the simulation.

use super::load::Case;
use super::{Scheme, Tuning};

/// The sums of a run, after a time to warm up. Times are in microseconds.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) limit: u32,
    pub(super) span: u64,
    /// Units in use, times microseconds.
    pub(super) busy: u64,
    pub(super) admitted: u64,
    pub(super) rejected: u64,
    pub(super) commands: u64,
    pub(super) pushes: u64,
    /// How often more units were in use than the limit.
    pub(super) over: u64,
    pub(super) waits: Vec<u64>,
    /// The admissions of each process.
    pub(super) shares: Vec<u64>,
    /// How long it took until a hot process had half of the limit.
    pub(super) moved: Vec<u64>,
}

impl Measured {
    pub(super) const HEAD: &str = "| load | RTT ms | scheme | use | wait p50, p99 ms | commands, pushes \
                                   an admission | rejected | Jain | over | moved p50, max ms |";
    pub(super) const RULE: &str = "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |";

    /// Returns the part of the limit that was in use.
    pub(super) fn usage(&self) -> f64 {
        ratio(self.busy, self.span) / f64::from(self.limit)
    }

    /// Returns the commands for each admission.
    pub(super) fn commands(&self) -> f64 {
        ratio(self.commands, self.admitted)
    }

    /// Returns Jain's index of the admissions of processes: 1 if all have the same.
    fn fairness(&self) -> f64 {
        let shares: Vec<_> = self.shares.iter().map(|share| *share as f64).collect();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * squares).max(1.0)
    }

    /// Returns a row of the table.
    pub(super) fn row(&self, case: &Case, scheme: Scheme, round_trip: u64) -> String {
        let name = match scheme {
            Scheme::PerCall => "per call",
            Scheme::Split => "split",
            Scheme::Shares(Tuning { turn, .. }) if turn.is_zero() => "strict",
            Scheme::Shares(_) => "**shares**",
        };
        let fair = if case.load.is_closed() { format!("{:.2}", self.fairness()) } else { String::new() };
        let moved = match self.moved.iter().max() {
            Some(most) => format!("{:.0}, {:.0}", quantile(&self.moved, 0.5), millis(*most)),
            None => String::new(),
        };
        format!(
            "| {} | {:.1} | {name} | {:.2} | {:.1}, {:.1} | {:.3}, {:.3} | {:.1} % | {fair} | {} | {moved} |",
            case.name,
            millis(round_trip),
            self.usage(),
            quantile(&self.waits, 0.5),
            quantile(&self.waits, 0.99),
            self.commands(),
            ratio(self.pushes, self.admitted),
            100.0 * ratio(self.rejected, self.admitted + self.rejected),
            self.over,
        )
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

/// Returns a quantile of times, in milliseconds.
fn quantile(times: &[u64], part: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part) as usize).map_or(0.0, |time| millis(*time))
}
