//! The live view.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use bulklink_breaker::Breaker;

use super::dependency::{Dependency, Mood};
use super::worker::{Counts, Worker};

/// Draws one line in place of the last one; on no terminal, one line a second.
pub(crate) fn draw(payments: &Breaker, dependency: &Dependency, workers: &[Worker], elapsed: Duration) {
    let is_terminal = stdout().is_terminal();
    if !is_terminal && elapsed.subsec_millis() >= 100 {
        return;
    }
    let (start, end) = if is_terminal { ("\r\x1b[2K", "") } else { ("", "\n") };
    let mood = match dependency.mood() {
        Mood::Works => "works",
        Mood::Fails => "fails",
        Mood::IsSlow => "is slow",
    };
    let all = workers.iter().map(Worker::counts).fold(Counts::default(), |all, counts| Counts {
        calls: all.calls + counts.calls,
        probes: all.probes + counts.probes,
        rejected: all.rejected + counts.rejected,
    });
    print!(
        "{start}{:5.1} s  the dependency {mood:7}  the circuit is {:9}  calls {:5}  probes {:3}  rejected {:5}{end}",
        elapsed.as_secs_f64(),
        payments.view().state.to_string(),
        all.calls,
        all.probes,
        all.rejected,
    );
    let _ = stdout().flush();
}
