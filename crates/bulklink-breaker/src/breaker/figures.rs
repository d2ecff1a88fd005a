//! All that an exporter reads of a breaker.

use std::sync::Arc;

use super::Stats;
use crate::circuit::View;

/// All that an exporter reads of a breaker, in one reading.
///
/// Returned by [`Breaker::figures`](crate::Breaker::figures) and
/// [`Registry::figures`](crate::Registry::figures).
///
/// ```
/// use bulklink::StdClock;
/// use bulklink_breaker::{Breaker, State};
///
/// let payments = Breaker::builder_on(StdClock, "payments").build()?;
/// payments.force_open();
/// let figures = payments.figures();
/// assert_eq!((&*figures.label, figures.view.state), ("payments", State::Open));
/// assert_eq!((figures.stats.opened, figures.is_connected), (1, None));
/// # Ok::<(), bulklink::InvalidArgument>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// The label: of the breaker, or in a registry that of the guard.
    pub label: Arc<str>,
    /// Which of all breakers of this process it is: none that is built later has this number. The
    /// counters of an instance never run back.
    pub instance: u64,
    /// The circuit.
    pub view: View,
    /// The counters.
    pub stats: Stats,
    /// Whether the store of the circuit is in reach. `None` if the circuit is not shared.
    pub is_connected: Option<bool>,
}
