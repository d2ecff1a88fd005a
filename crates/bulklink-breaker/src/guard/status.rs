//! The status of a guard.

use std::sync::Arc;

use bulklink::{Handle, Status};

use crate::{Breaker, BreakerStatus, Health};

/// The status of a guard: that of its breaker and that of its bulkhead; returned by
/// [`Guard::status`](crate::Guard::status) and
/// [`BreakerRegistry::status`](crate::BreakerRegistry::status).
///
/// Each part is consistent in itself; they are read one after the other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GuardStatus {
    /// The name of the bulkhead, of the partitions, or of a breaker without them.
    pub label: Arc<str>,
    /// The status of the breaker.
    pub breaker: BreakerStatus,
    /// The status of the bulkhead. `None` for a breaker without one, and for guards by key: that of
    /// their bulkheads is the status of their [partitions](crate::Guards::partitions).
    pub bulkhead: Option<Status>,
}

impl GuardStatus {
    pub(crate) fn of(label: Arc<str>, breaker: &Breaker<impl Sized>, bulkhead: Option<&Handle>) -> Self {
        let bulkhead = bulkhead.map(Handle::status);
        GuardStatus { label, breaker: breaker.status(), bulkhead }
    }

    /// Returns the health, by the state of the circuit.
    #[must_use]
    pub fn health(&self) -> Health {
        self.breaker.health()
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
        self.breaker.totals.rejected + self.bulkhead.as_ref().map_or(0, |status| status.totals.rejected())
    }
}
