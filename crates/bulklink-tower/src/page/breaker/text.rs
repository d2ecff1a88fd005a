//! The row of a breaker as text.

use std::fmt::{self, Write};

use bulklink::plumbing::Rounded;
use bulklink_breaker::{BreakerStatus, Counts, State};

use super::{BreakerRow, Recently};
use crate::page::row::per_second;
use crate::page::text::{Age, Short, write_findings};

pub(in crate::page) fn write_row(row: &BreakerRow, text: &mut String) -> fmt::Result {
    let BreakerStatus { circuit, totals, .. } = &row.status;
    write!(text, "\n{} (breaker): {}", Short(&row.status.label), row.severity)?;
    if circuit.state != State::Closed {
        write!(text, ", {}", circuit.state)?;
    }
    match &row.status.keys {
        Some(keys) => {
            write!(text, "\n  keys        {} of {}, ", keys.kept, keys.max)?;
            write!(text, "{} open, {} half-open; ", keys.open, keys.half_open)?;
            write!(text, "{} evicted, {} without a circuit", keys.evicted, keys.without_circuit)?;
            for status in &keys.worst {
                let (label, rejected) = (Short(&status.label), status.totals.rejected);
                write!(text, "\n  key         {label} {}; {rejected} rejected", Circuit(status))?;
            }
        }
        None => {
            write!(text, "\n  state       {}", Circuit(&row.status))?;
        }
    }
    write!(text, "\n  rejected    {}; opened: {}, probes: {}", totals.rejected, totals.opened, totals.probes)?;
    let failures = [("timed out", totals.timed_out), ("panicked", totals.panicked)];
    write!(text, "\n  ended       {} succeeded, {} failed", totals.successes, totals.failures)?;
    for (kind, count) in failures.into_iter().filter(|(_, count)| *count > 0) {
        write!(text, ", {count} {kind}")?;
    }
    write!(text, "; {} slow, {} ignored, {} cancelled", totals.slow, totals.ignored, totals.cancelled)?;
    if let Some(recently) = &row.recently {
        let Recently { time, totals } = recently;
        let (rejected, share) = (totals.rejected, recently.rejected_share() * 100.0);
        write!(text, "\n  recently    in {}: {rejected} rejected ", Rounded(*time))?;
        write!(text, "({:.1}/s, {share:.1} %), ", per_second(rejected, *time))?;
        write!(text, "{} ended, {} failed, {} slow", totals.ended(), totals.failures, totals.slow)?;
    }
    write_findings(&row.findings, text)?;
    text.write_char('\n')
}

/// Displays the state of a circuit, since when and why it is in it, and until when.
struct Circuit<'a>(&'a BreakerStatus);

impl fmt::Display for Circuit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BreakerStatus { circuit, .. } = self.0;
        write!(f, "{} for {}", circuit.state, Age(self.0.state_age))?;
        match circuit.state {
            State::Closed => write!(f, "; {}", Window(&circuit.counts))?,
            State::Open if circuit.is_forced => write!(f, ", until it is closed by hand")?,
            State::Open => {
                if let Some(left) = self.0.retry_after {
                    write!(f, ", a probe in {}", Age(left))?;
                }
            }
            State::HalfOpen => {
                let (succeeded, failed) = (circuit.probe_successes, circuit.probe_failures);
                write!(f, "; probes: {} running, {succeeded} succeeded, {failed} failed", circuit.probes)?;
            }
        }
        if let Some(age) = self.0.unhealthy_for {
            write!(f, "; last closed {} ago", Age(age))?;
        }
        if let Some(tripped) = &self.0.tripped {
            write!(f, "; opened by {}", Window(tripped))?;
        }
        Ok(())
    }
}

/// Displays the calls of a window.
struct Window<'a>(&'a Counts);

impl fmt::Display for Window<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { calls, failures, slow } = *self.0;
        write!(f, "{failures} failed, {slow} slow of {calls} calls")
    }
}
