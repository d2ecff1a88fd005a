//! The shares of a fleet, whatever its runtime is.

use std::fmt;
use std::sync::Arc;

use bulklink::runtime::Clock;
use bulklink_fleet::{Fleet, FleetShare, ShareStatus};

/// Reads all shares of a fleet.
#[derive(Clone)]
pub(crate) struct Shares(Arc<dyn Fn() -> Vec<Share> + Send + Sync>);

/// A share at the time of a reading.
pub(crate) struct Share {
    pub(crate) label: String,
    /// Which of all that the fleet had it is.
    pub(crate) number: u64,
    pub(crate) status: ShareStatus,
}

impl Shares {
    pub(crate) fn of<R: Clock + Clone + Send + Sync + 'static>(fleet: &Fleet<R>) -> Self {
        let fleet = fleet.clone();
        Shares(Arc::new(move || fleet.shares().iter().map(Share::of).collect()))
    }

    pub(crate) fn read(&self) -> Vec<Share> {
        self.0()
    }
}

impl Share {
    fn of<R: Clock>(share: &FleetShare<R>) -> Self {
        Share { label: share.label(), number: share.number(), status: share.status() }
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.read().iter().map(|share| &share.label)).finish()
    }
}
