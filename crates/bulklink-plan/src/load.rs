//! The load of a simulation: which calls come, when, and what each brings.

use std::sync::Arc;
use std::time::Duration;

use bulklink_core::{Instant, Reserve};

use crate::Distribution;

/// The calls that come to a bulkhead.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Load {
    /// When calls come.
    pub arrivals: Arrivals,
    /// The kinds of calls, of which there must be one at least. A [script](Arrivals::Script) has
    /// its own.
    pub kinds: Vec<Kind>,
    /// The limit that each call sets on its own wait, by
    /// [`Request::within`](bulklink_core::Request::within).
    pub within: Option<Distribution>,
    /// The time that each call brings until its [deadline](bulklink_core::Request::deadline), and
    /// the reserve of the bulkhead.
    pub deadline: Option<(Duration, Reserve)>,
}

/// A kind of calls.
#[derive(Clone, Debug)]
pub struct Kind {
    /// How frequent it is, as a part of the sum over all kinds.
    pub weight: f64,
    /// The units that each call costs.
    pub cost: usize,
    /// How long each call holds its slot.
    pub hold: Distribution,
}

/// When calls come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Arrivals {
    /// One by one, with gaps of this distribution: the exponential one for independent clients.
    Single(Distribution),
    /// Several at the same time: so many on average, geometrically distributed.
    #[non_exhaustive]
    Batches {
        /// The time between two batches.
        gap: Distribution,
        /// The mean number of calls in a batch.
        size: f64,
    },
    /// In two phases that alternate, and one by one in each.
    #[non_exhaustive]
    Phases {
        /// The calls per second, in each phase.
        rates: [f64; 2],
        /// The mean length of a phase, exponentially distributed.
        stay: Duration,
    },
    /// From so many callers, each of which waits for its answer and then thinks.
    #[non_exhaustive]
    Callers {
        /// The number of callers.
        count: u32,
        /// The time between an answer and the caller's next call.
        think: Distribution,
    },
    /// As they are listed, in the order of their instants.
    Script(Arc<[ScriptedCall]>),
}

/// A call of a [script](Arrivals::Script).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedCall {
    /// When it comes.
    pub at: Instant,
    /// How long it holds its slot.
    pub hold: Duration,
    /// The units that it costs.
    pub cost: usize,
    /// The limit that it sets on its own wait.
    pub within: Option<Duration>,
}

impl Arrivals {
    /// Independent calls, so many per second: a Poisson process.
    #[must_use]
    pub fn poisson(per_second: f64) -> Self {
        Arrivals::Single(Distribution::exponential_nanos(1e9 / per_second))
    }

    /// As many calls per second in batches of this mean size, which come independently.
    #[must_use]
    pub fn batches(per_second: f64, size: f64) -> Self {
        Arrivals::Batches { gap: Distribution::exponential_nanos(1e9 * size / per_second), size }
    }

    /// As many calls per second in the mean of two phases, of which one has `ratio` times the rate
    /// of the other.
    #[must_use]
    pub fn phases(per_second: f64, ratio: f64, stay: Duration) -> Self {
        let low = 2.0 * per_second / (1.0 + ratio);
        Arrivals::Phases { rates: [low * ratio, low], stay }
    }

    /// So many callers, each of which waits for its answer and then thinks.
    #[must_use]
    pub fn callers(count: u32, think: Distribution) -> Self {
        Arrivals::Callers { count, think }
    }
}

impl Load {
    /// Calls of one unit that come so and hold their slots so.
    #[must_use]
    pub fn new(arrivals: Arrivals, hold: Distribution) -> Self {
        Load { arrivals, kinds: vec![Kind { weight: 1.0, cost: 1, hold }], within: None, deadline: None }
    }
}

#[cfg(test)]
mod tests {
    use bulklink_core::Limits;

    use super::*;
    use crate::Sim;

    #[test]
    fn arrivals_have_the_rate_that_is_asked_for() {
        let phases = Arrivals::phases(500.0, 3.0, Duration::from_millis(100));
        let answers = Distribution::constant(Duration::from_millis(100));
        for (name, arrivals) in [
            ("poisson", Arrivals::poisson(500.0)),
            ("batches", Arrivals::batches(500.0, 4.0)),
            ("batches of one", Arrivals::batches(500.0, 1.0)),
            ("phases", phases),
            ("callers", Arrivals::callers(50, answers)),
        ] {
            let load = Load::new(arrivals, Distribution::constant(Duration::ZERO));
            let (mut sim, mut calls, mut batches, mut last) = (Sim::new(Limits::new(1), load, 1).unwrap(), 0, 0, None);
            sim.run(200_000, |decision| {
                calls += 1;
                batches += u32::from(last.replace(decision.arrived) != Some(decision.arrived));
            });
            let rate = f64::from(calls) / sim.now().saturating_since(Instant::EPOCH).as_secs_f64();
            assert!((rate / 500.0 - 1.0).abs() < 0.02, "{name}: {rate}");
            let size = f64::from(calls) / f64::from(batches);
            let expected = match name {
                "batches" => 4.0,
                "callers" => continue,
                _ => 1.0,
            };
            assert!((size / expected - 1.0).abs() < 0.02, "{name}: {size}");
        }
    }
}
