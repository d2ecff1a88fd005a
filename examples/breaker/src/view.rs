//! The live view.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use bulklink_breaker::Breaker;

use super::dependency::Dependency;
use super::worker::{Counts, Worker};

/// Draws one line in place of the last one; on no terminal, one line a second.
pub(crate) fn draw(payments: &Breaker, dependency: &Dependency, workers: &[Worker], elapsed: Duration) {
    let is_terminal = stdout().is_terminal();
    if !is_terminal && elapsed.subsec_millis() >= 100 {
        return;
    }
    let (start, end) = if is_terminal { ("\r\x1b[2K", "") } else { ("", "\n") };
    let all = workers.iter().map(Worker::counts).fold(Counts::default(), Counts::plus);
    print!(
        "{start}{:5.1} s  the dependency {:7}  the circuit is {:9}  calls {:5}  timed out {:3}  probes {:3}  \
         rejected {:5}{end}",
        elapsed.as_secs_f64(),
        dependency.mood(),
        payments.status().circuit.state.to_string(),
        all.calls,
        all.timed_out,
        all.probes,
        all.rejected,
    );
    let _ = stdout().flush();
}
