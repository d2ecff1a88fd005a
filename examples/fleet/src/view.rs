//! The live view.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use bulklink_fleet::share::Status;

use super::LIMIT;
use super::resource::Resource;

/// Draws one line in place of the last one; on no terminal, one line a second.
pub(crate) fn draw(status: Option<&Status>, resource: &Resource, elapsed: Duration, killed: usize) {
    let is_terminal = stdout().is_terminal();
    let Some(status) = status.filter(|_| is_terminal || elapsed.subsec_millis() < 100) else { return };
    let (start, end) = if is_terminal { ("\r\x1b[2K", "") } else { ("", "\n") };
    let granted = status.granted;
    let bar: String = (0..LIMIT as u64).map(|unit| if unit < granted { '#' } else { '.' }).collect();
    print!(
        "{start}{:5.1} s  granted {granted} of {LIMIT} {bar}  in the resource {}  processes {}  killed {killed}{end}",
        elapsed.as_secs_f64(),
        resource.seen().users,
        status.rows.iter().filter(|row| row.is_served).count(),
    );
    let _ = stdout().flush();
}
