//! Looks at a circuit and its counters, and their worth. With a given time, they call no
//! foreign code.

use std::sync::Arc;

use bulklink::InvalidArgument;

use super::core::Core;
use super::{BreakerStatus, BreakerTotals};
use crate::circuit::{State, View};
use crate::guards::Standing;
use crate::{Instant, Settings};

impl Core {
    pub(crate) fn view(&self) -> View {
        self.read(self.now()).0
    }

    pub(crate) fn status(&self) -> BreakerStatus {
        let (circuit, totals) = self.read(self.now());
        let is_connected = self.peer.as_ref().map(|peer| peer.is_connected());
        let label = Arc::clone(&self.config.label);
        BreakerStatus { label, instance: self.instance(), circuit, totals, is_connected, keys: None }
    }

    /// Returns the circuit and the counters at this time.
    pub(crate) fn read(&self, now: Instant) -> (View, BreakerTotals) {
        let locked = self.lock_told(now);
        self.publish(&locked);
        (locked.circuit.view(now), self.whole(&locked))
    }

    /// Returns the loss if a new circuit replaced this one, of which no call runs.
    ///
    /// A circuit that is not closed is kept for its cool-down and for as long again: a call of its
    /// key would have probed it meanwhile.
    pub(crate) fn standing(&self, now: Instant) -> Standing {
        let locked = self.lock_told(now);
        self.publish(&locked);
        let view = locked.circuit.view(now);
        match view.state {
            State::Closed if view.counts.failures == 0 && view.counts.slow == 0 => Standing::Calm,
            State::Closed => Standing::Marked,
            State::Open => Standing::Kept,
            State::HalfOpen => {
                let long = locked.circuit.cool_down().saturating_mul(2);
                if now.saturating_since(locked.changed_at) < long { Standing::Kept } else { Standing::Marked }
            }
        }
    }

    /// Changes the settings of a circuit that is not shared.
    pub(crate) fn set_settings_at(&self, now: Instant, settings: Settings) -> Result<(), InvalidArgument> {
        self.replace_settings(now, settings).map(drop)
    }
}
