//! The scenes: calls and their times. A scene has the same ones for every protection.

use std::time::Duration;

use super::front::Protection;
use super::upstream::CAPACITY;

/// The offered loads, as multiples of the upstream's capacity.
pub const LOADS: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 10.0];

/// The tenants of [`Scene::Tenants`].
pub const TENANTS: usize = 10;
/// The one that sends more than its share, after the others.
pub const GREEDY: usize = TENANTS - 1;
/// Its load, as a multiple of the upstream's capacity; its share is a tenth.
const EXCESS: f64 = 2.0;
/// The load of the nine others together, half of their share: the tenth sends 40 times as much as
/// each of them.
const WITHIN: f64 = 0.45;

/// The seconds from one burst to the next.
const PERIOD: f64 = 0.5;
/// The seconds of a burst.
const BURST: f64 = 0.1;
/// The loads in a burst and between two: 0.9 on average.
const PEAK: f64 = 3.3;
const BETWEEN: f64 = 0.3;
/// The seconds of work, least and most. One call of eight is long, so the mean is that of all
/// scenes.
const LONG: (f64, f64) = (0.100, 0.190);
const SHORT: (f64, f64) = (0.010, 0.040);

/// A pattern of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scene {
    /// Calls at random times, at this multiple of the upstream's capacity.
    Load(f64),
    /// Bursts, at 0.9 of the capacity on average, and work of high variance.
    Bursts,
    /// Tenants, of which one sends many times its share.
    Tenants,
}

/// A call of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// When it is sent, from the beginning of the scene.
    pub at: Duration,
    /// Its tenant; the same for all calls of a scene without tenants.
    pub tenant: usize,
    /// The time of the work on it, unless the upstream decides.
    pub work: Option<Duration>,
}

impl Scene {
    /// Returns the scenes with one limit for all.
    pub fn of_all() -> impl Iterator<Item = Scene> {
        LOADS.map(Scene::Load).into_iter().chain([Scene::Bursts])
    }

    /// Returns the protections that are compared. Ours come first, and the very first is judged.
    #[must_use]
    pub fn protections(self) -> [Protection; 6] {
        use Protection::{Bulklink, BulklinkByDeadline, BulklinkPart, BulklinkPartitions, BulklinkShared};
        use Protection::{Nothing, Semaphore, SemaphorePerTenant, Tower, TowerResilience};
        match self {
            Scene::Load(_) | Scene::Bursts => {
                [Bulklink, BulklinkByDeadline, Nothing, Semaphore, Tower, TowerResilience]
            }
            Scene::Tenants => [BulklinkShared, BulklinkPart, BulklinkPartitions, Bulklink, Nothing, SemaphorePerTenant],
        }
    }

    /// Returns the calls of the scene's first part, of this length: a Poisson process.
    #[must_use]
    pub fn script(self, length: Duration) -> Vec<Call> {
        self.script_at(CAPACITY, length)
    }

    /// Returns the same for an upstream with another capacity, in calls a second.
    #[must_use]
    pub fn script_at(self, capacity: f64, length: Duration) -> Vec<Call> {
        let peak = self.load(0.0);
        poisson(length, peak * capacity, |at| self.load(at) / peak, |random| self.kind(random))
    }

    /// Returns the offered load at a time. It is never higher than at the beginning.
    fn load(self, at: f64) -> f64 {
        match self {
            Scene::Load(load) => load,
            Scene::Bursts if at % PERIOD < BURST => PEAK,
            Scene::Bursts => BETWEEN,
            Scene::Tenants => EXCESS + WITHIN,
        }
    }

    fn kind(self, random: &mut fastrand::Rng) -> (usize, Option<Duration>) {
        match self {
            Scene::Load(_) => (0, None),
            Scene::Bursts => {
                let (least, most) = if random.f64() < 0.125 { LONG } else { SHORT };
                (0, Some(Duration::from_secs_f64(least + random.f64() * (most - least))))
            }
            Scene::Tenants => {
                let is_greedy = random.f64() * (EXCESS + WITHIN) < EXCESS;
                (if is_greedy { GREEDY } else { random.usize(..GREEDY) }, None)
            }
        }
    }
}

/// Returns calls at random times, of this kind, the same ones each time: so many a second at most,
/// and this part of it at a time.
pub(super) fn poisson(
    length: Duration,
    most: f64,
    part: impl Fn(f64) -> f64,
    kind: impl Fn(&mut fastrand::Rng) -> (usize, Option<Duration>),
) -> Vec<Call> {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut at, mut calls) = (0.0, Vec::new());
    loop {
        at += -(1.0 - random.f64()).ln() / most;
        if at >= length.as_secs_f64() {
            return calls;
        }
        let part = part(at);
        if part >= 1.0 || random.f64() < part {
            let (tenant, work) = kind(&mut random);
            calls.push(Call { at: Duration::from_secs_f64(at), tenant, work });
        }
    }
}
