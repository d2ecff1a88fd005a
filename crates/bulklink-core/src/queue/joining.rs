//! The fields that a request leaves with its ticket when it joins the queue.

use core::num::NonZeroU64;

use crate::Instant;

/// The fields that a request leaves with its ticket if it is queued, all in one step: its waker,
/// and the driver it [relies](crate::Gate::rely) on.
#[derive(Debug)]
pub struct Joining<W> {
    /// The waker, which is taken if the request is queued.
    pub waker: Option<W>,
    /// The driver of the gate, and the time by which it advances it. A ticket with a deadline
    /// relies on it if that is in time.
    pub driver: Option<(NonZeroU64, Instant)>,
    /// Whether the request was queued with a deadline, and relies on nothing.
    pub needs_driver: bool,
}

impl<W> Joining<W> {
    /// Returns the fields of a request with this waker and no driver.
    #[must_use]
    #[inline]
    pub const fn new(waker: Option<W>) -> Self {
        Joining { waker, driver: None, needs_driver: false }
    }

    /// Returns the driver on which the ticket relies if the gate must be advanced at `due`, and
    /// notes whether that is nothing.
    #[inline]
    pub fn home(&mut self, due: Instant) -> Option<NonZeroU64> {
        let home = self.driver.filter(|&(_, at)| at <= due).map(|(home, _)| home);
        self.needs_driver = home.is_none();
        home
    }
}
