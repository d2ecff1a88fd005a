//! A job of the loop: what it holds, from asking to the end.

use bulklink_core::{Grant, Ticket};

/// Where it is.
#[derive(Default)]
pub(crate) enum Job {
    /// It wants nothing.
    #[default]
    Idle,
    /// It stands in the queue, and then has so many milliseconds of work.
    Waiting { ticket: Ticket, work: u32 },
    /// It has the slot until a millisecond.
    Running { grant: Grant, until: u32 },
}

impl Job {
    /// Takes the grant of a job whose work is done.
    pub(crate) fn end(&mut self, now: u32) -> Option<Grant> {
        match core::mem::take(self) {
            Job::Running { grant, until } if until == now => Some(grant),
            other => {
                *self = other;
                None
            }
        }
    }
}
