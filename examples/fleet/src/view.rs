//! The live view.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use bulklink_redis::Status;

use super::LIMIT;
use super::resource::Resource;

/// Draws one line in place of the last one; on no terminal, one line a second.
pub(crate) fn draw(status: &Status, resource: &Resource, elapsed: Duration, killed: usize) {
    let is_terminal = stdout().is_terminal();
    if !is_terminal && elapsed.subsec_millis() >= 100 {
        return;
    }
    let (start, end) = if is_terminal { ("\r\x1b[2K", "") } else { ("", "\n") };
    let leases = status.leases;
    let bar: String = (0..LIMIT).map(|unit| if unit < leases { '#' } else { '.' }).collect();
    print!(
        "{start}{:5.1} s  leases {leases} of {LIMIT} {bar}  in the resource {}  waiting {:2}  processes {}  killed \
         {killed}{end}",
        elapsed.as_secs_f64(),
        resource.users(),
        status.waiting,
        status.session_page.iter().filter(|process| process.until > status.now).count(),
    );
    let _ = stdout().flush();
}
