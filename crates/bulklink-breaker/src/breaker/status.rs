//! The status of a breaker.

use std::sync::Arc;
use std::time::Duration;

use super::BreakerTotals;
use crate::circuit::View;
use crate::{Counts, Health};

/// The status of a breaker: its circuit and its counters, in one reading.
///
/// Returned by [`Breaker::status`](crate::Breaker::status), and by
/// [`Guards::status`](crate::Guards::status), where it is that of the circuits of all keys.
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
    /// those counted beside the lock count from the next look under it, such as this one. Of the
    /// circuits of keys, it is the worst, as in [`KeysStatus::worst`], or a new one if all are
    /// closed; so are the times and `tripped`.
    pub circuit: View,
    /// The age of the last transition, or of the breaker if there was none. A circuit becomes
    /// half-open when its cool-down ends. Of keys whose circuits are all closed, zero.
    pub state_age: Duration,
    /// How long ago the circuit was closed last, through all that it was open and half-open since.
    /// `None` while it is closed.
    pub unhealthy_for: Option<Duration>,
    /// How long until a call is let through as a probe. `None` if the circuit is not open, or is
    /// open until it is closed by hand.
    pub retry_after: Option<Duration>,
    /// The calls of the window that has opened the circuit. `None` once it is closed again, and if
    /// it was opened by hand or by other processes.
    pub tripped: Option<Counts>,
    /// The counters: of the circuits of keys, their sums with those that were evicted.
    pub totals: BreakerTotals,
    /// Whether the store of the circuit is in reach. `None` if the circuit is not shared.
    pub is_connected: Option<bool>,
    /// The circuits of keys. `None` for one circuit.
    pub keys: Option<KeysStatus>,
}

/// The circuits of keys: part of the [status](BreakerStatus::keys) of [`Guards`](crate::Guards).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeysStatus {
    /// How many keys have a circuit.
    pub kept: usize,
    /// How many can have one at the same time.
    pub max: usize,
    /// How many circuits are open.
    pub open: usize,
    /// How many are half-open.
    pub half_open: usize,
    /// At most ten circuits that are not closed, the worst first: open before half-open, then by
    /// the number of calls that each has rejected. None unless [keys are
    /// shown](crate::GuardsBuilder::show_keys).
    pub worst: Vec<BreakerStatus>,
    /// How many circuits were evicted for those of other keys.
    pub evicted: u64,
    /// How many requests got no circuit of their key, because all were open or in use.
    pub without_circuit: u64,
}

impl BreakerStatus {
    /// Returns the health, by the state of the circuit.
    #[must_use]
    pub fn health(&self) -> Health {
        self.circuit.state.into()
    }
}
