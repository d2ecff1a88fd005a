//! The counters of a guard.

use std::sync::Arc;

use bulklink::{Handle, Status};

use crate::{Breaker, Health, Stats};

/// The health of a dependency, and what its breaker and its bulkhead have counted; returned by
/// [`Guard::stats`](crate::Guard::stats) and [`Registry::stats`](crate::Registry::stats).
///
/// Each part is consistent in itself; they are read one after the other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GuardStats {
    /// The name of the bulkhead, or of a breaker without one.
    pub label: Arc<str>,
    /// The health, by the state of the circuit.
    pub health: Health,
    /// The counters of the breaker.
    pub breaker: Stats,
    /// The status of the bulkhead. `None` for a breaker without one.
    pub bulkhead: Option<Status>,
}

impl GuardStats {
    pub(crate) fn of(label: Arc<str>, breaker: &Breaker<impl Sized>, bulkhead: Option<&Handle>) -> Self {
        let bulkhead = bulkhead.map(Handle::status);
        GuardStats { label, health: breaker.health(), breaker: breaker.stats(), bulkhead }
    }

    /// Returns how many operations run.
    #[must_use]
    pub fn active(&self) -> usize {
        self.bulkhead.as_ref().map_or(0, |status| status.in_flight)
    }

    /// Returns how many calls wait for a slot.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.bulkhead.as_ref().map_or(0, |status| status.waiting)
    }

    /// Returns how many calls the circuit and the bulkhead have rejected.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.breaker.rejected + self.bulkhead.as_ref().map_or(0, |status| status.totals.rejected())
    }
}
