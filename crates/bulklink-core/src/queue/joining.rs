//! What a request leaves with its ticket when it joins the queue.

use core::num::NonZeroU64;

use crate::Instant;

/// What a request leaves with its ticket if it is queued, all in one step: its waker, and what it
/// [relies](crate::Gate::rely) on.
#[derive(Debug)]
pub struct Joining<W> {
    /// The waker, which is taken if the request is queued.
    pub waker: Option<W>,
    /// What advances the gate, and when at the latest. A ticket with a deadline relies on it if
    /// that is in time.
    pub driver: Option<(NonZeroU64, Instant)>,
    /// Whether the request was queued with a deadline, and relies on nothing.
    pub needs_driver: bool,
}

impl<W> Joining<W> {
    /// Returns what a request leaves that has this waker and no driver.
    #[must_use]
    #[inline]
    pub const fn new(waker: Option<W>) -> Self {
        Joining { waker, driver: None, needs_driver: false }
    }

    /// Returns what the ticket relies on if the gate must be advanced at `due`, and notes whether
    /// that is nothing.
    #[inline]
    pub fn home(&mut self, due: Instant) -> Option<NonZeroU64> {
        let home = self.driver.filter(|&(_, at)| at <= due).map(|(home, _)| home);
        self.needs_driver = home.is_none();
        home
    }
}
