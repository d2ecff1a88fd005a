//! What one process knows of one of its calls.

use std::time::Duration;

use crate::{Ticket, Token};

/// The state of a call that has not ended. Times are of the process' own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// It has asked for a lease, or will.
    Asking {
        since: Duration,
        /// Whether it waits if it is not admitted immediately.
        wait: bool,
        /// When the command was last sent on any link.
        sent: Option<Duration>,
    },
    /// It was dropped while its command was on the way: the answer decides what to give back.
    Orphan,
    /// It waits on the server.
    Queued {
        ticket: Ticket,
        /// When the last command was sent that was answered with the call waiting.
        seen: Duration,
    },
    /// Its permit is handed out.
    Held {
        token: Token,
        /// Until when the permit is certainly valid.
        deadline: Duration,
    },
    /// Its permit is handed out and no longer valid.
    Lost,
}
