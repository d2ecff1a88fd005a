//! Looks at a circuit and its counters, and their worth. With a given time, they call no
//! foreign code.

use std::sync::Arc;

use super::core::Core;
use super::{BreakerStatus, BreakerTotals};
use crate::Instant;
use crate::circuit::{State, View};
use crate::guards::Standing;

impl Core {
    pub(crate) fn view(&self) -> View {
        self.read(self.now()).0
    }

    pub(crate) fn status(&self) -> BreakerStatus {
        self.status_at(self.now())
    }

    pub(crate) fn status_at(&self, now: Instant) -> BreakerStatus {
        let locked = self.lock_told(now);
        self.publish(&locked);
        let circuit = locked.circuit.view(now);
        // Without a call since the cool-down, the circuit has been half-open since that ended.
        let published = locked.circuit.view(Instant::EPOCH);
        let since = published.retry_at.filter(|_| circuit.state == State::HalfOpen).unwrap_or(locked.in_state_since);
        let tripped = locked.circuit.tripped();
        let (unhealthy_since, totals) = (locked.unhealthy_since, self.whole(&locked));
        drop(locked);
        BreakerStatus {
            label: Arc::clone(&self.config.label),
            instance: self.instance(),
            circuit,
            state_age: now.saturating_since(since),
            unhealthy_for: unhealthy_since.map(|since| now.saturating_since(since)),
            retry_after: circuit.retry_at.map(|at| at.saturating_since(now)),
            tripped: (tripped.calls > 0).then_some(tripped),
            totals,
            is_connected: self.peer.as_ref().map(|peer| peer.is_connected()),
            keys: None,
        }
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
}
