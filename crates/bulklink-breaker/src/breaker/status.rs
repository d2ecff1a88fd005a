//! The status of a breaker.

use std::sync::Arc;

use super::BreakerTotals;
use crate::Health;
use crate::circuit::View;

/// The status of a breaker: its circuit and its counters, in one reading.
///
/// Returned by [`Breaker::status`](crate::Breaker::status).
///
/// ```
/// use bulklink::StdClock;
/// use bulklink_breaker::{Breaker, State};
///
/// let payments = Breaker::builder_on(StdClock, "payments").build()?;
/// payments.force_open();
/// let status = payments.status();
/// assert_eq!((&*status.label, status.circuit.state), ("payments", State::Open));
/// assert_eq!((status.totals.opened, status.is_connected), (1, None));
/// # Ok::<(), bulklink::InvalidArgument>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreakerStatus {
    /// The label: of the breaker, or in a registry that of the guard.
    pub label: Arc<str>,
    /// Which of all breakers of this process it is: none that is built later has this number. The
    /// counters of an instance never run back.
    pub instance: u64,
    /// The circuit. The [counts](View::counts) of a window of time can contain older successes:
    /// those counted beside the lock count from the next look under it, such as this one.
    pub circuit: View,
    /// The counters.
    pub totals: BreakerTotals,
    /// Whether the store of the circuit is in reach. `None` if the circuit is not shared.
    pub is_connected: Option<bool>,
}

impl BreakerStatus {
    /// Returns the health, by the state of the circuit.
    #[must_use]
    pub fn health(&self) -> Health {
        self.circuit.state.into()
    }
}
