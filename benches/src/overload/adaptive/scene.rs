//! The scenes for adaptive limits: how the upstream behaves, and what calls come.

use std::time::Duration;

use super::Effort;
use super::station::Plan;
use crate::overload::scene::{self, Call, poisson};
use crate::overload::upstream::WORK;

/// The workers of [`Scene::Capacity`], a phase each.
pub const WORKERS: [usize; 3] = [20, 8, 40];
/// The calls of [`Scene::Capacity`] in a second: 1.2 times the largest capacity.
const CALLS: f64 = 1_200.0;

/// The mean of the work of [`Scene::Falling`], for a call that is alone.
const ALONE: Duration = Duration::from_millis(10);
/// The calls of [`Scene::Falling`] in a second: twice the largest throughput.
const CALLS_OF_FALLING: f64 = 800.0;
/// How many calls the upstream of [`Scene::Falling`] works on at most.
const POOL: usize = 32;

/// The workers of [`Scene::Bursts`].
const WORKERS_OF_BURSTS: usize = 20;
/// What they can do in a second.
const CAPACITY_OF_BURSTS: f64 = 500.0;

/// The longest work, as a multiple of the mean of the exponential distribution that it is cut from.
const CUT: f64 = 2.0;

/// A scene for adaptive limits. All are measured with the deadline of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// The upstream's workers become fewer, and then more.
    Capacity,
    /// The upstream's throughput falls beyond 8 calls at a time.
    Falling,
    /// Bursts, at 0.9 of the capacity on average, and work of high variance.
    Bursts,
}

impl Scene {
    /// All of them.
    pub const ALL: [Scene; 3] = [Scene::Capacity, Scene::Falling, Scene::Bursts];

    /// Returns its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scene::Capacity => "capacity 20, 8, 40",
            Scene::Falling => "falling throughput",
            Scene::Bursts => "bursts at 0.9",
        }
    }

    /// Returns the best of [`FIXED`](super::FIXED) for the whole scene, as
    /// `bench-overload --sweep` shows.
    #[must_use]
    pub fn best_fixed(self) -> usize {
        match self {
            Scene::Capacity => 48,
            Scene::Falling => 8,
            Scene::Bursts => 64,
        }
    }

    /// Returns how the upstream behaves.
    #[must_use]
    pub fn plan(self, effort: Effort) -> Plan {
        let always = |workers| vec![(f64::INFINITY, workers)];
        match self {
            Scene::Capacity => {
                let [first, second] = effort.steps().map(|step| step.as_secs_f64());
                let phases = [first, second, f64::INFINITY].into_iter().zip(WORKERS);
                Plan { workers: phases.collect(), sigma: 0.0, kappa: 0.0 }
            }
            Scene::Falling => Plan { workers: always(POOL), sigma: 0.02, kappa: 0.0153 },
            Scene::Bursts => Plan { workers: always(WORKERS_OF_BURSTS), sigma: 0.0, kappa: 0.0 },
        }
    }

    /// Returns the calls of the scene's first part, of this length: a Poisson process.
    #[must_use]
    pub fn script(self, length: Duration) -> Vec<Call> {
        let (calls, mean) = match self {
            Scene::Bursts => return scene::Scene::Bursts.script_at(CAPACITY_OF_BURSTS, length),
            Scene::Capacity => (CALLS, WORK),
            Scene::Falling => (CALLS_OF_FALLING, ALONE),
        };
        // The cut takes so much from the mean.
        let mean = mean.as_secs_f64() / (1.0 - (-CUT).exp());
        poisson(
            length,
            calls,
            |_| 1.0,
            |random| {
                let work = mean * (-(1.0 - random.f64()).ln()).min(CUT);
                // A call without work has none given.
                (0, Some(Duration::from_secs_f64(work).max(Duration::from_micros(1))))
            },
        )
    }
}
