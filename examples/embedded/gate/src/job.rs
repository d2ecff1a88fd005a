//! A job of the loop, from its request to its end.

use bulklink_core::{Grant, Ticket};

/// The state of a job.
#[derive(Default)]
pub(crate) enum Job {
    /// The job has nothing to do.
    #[default]
    Idle,
    /// The job is in the queue, and then has this many milliseconds of work.
    Waiting { ticket: Ticket, work: u32 },
    /// The job has the slot until this millisecond.
    Running { grant: Grant, until: u32 },
}

impl Job {
    /// Takes the grant of the job if its work ends now.
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
