//! A plant: a backend, the load that comes to it, and the terms of a call.

use crate::backend::Backend;
use crate::peers::Outcome;

/// The work of a share of the calls is multiplied.
#[derive(Clone, Debug)]
pub struct Mix {
    /// From these times on, the share of the slow calls.
    pub shares: Vec<(f64, f64)>,
    /// The factor of their work.
    pub factor: f64,
}

/// One experiment, in seconds of virtual time.
#[derive(Clone, Debug)]
pub struct Plant {
    /// Its name, which begins with a short one.
    pub name: &'static str,
    /// What the bulkhead protects.
    pub backend: Backend,
    /// From these times on, the calls that come each second.
    pub load: Vec<(f64, f64)>,
    /// The calls that come together.
    pub batch: u32,
    /// The calls that come together at the start; zero for one batch.
    pub burst: u32,
    /// The slow calls.
    pub mix: Mix,
    /// What the controller learns of a failure.
    pub fails_as: Outcome,
    /// The time in which a call, with its wait, must succeed.
    pub deadline: f64,
    /// The places of the waiting room.
    pub room: usize,
    /// The wait limit; zero for none.
    pub wait: f64,
    /// How often a caller tries again.
    pub retries: u32,
    /// The hold after which a caller gives up; zero for never. The backend works on.
    pub timeout: f64,
    /// The end of the run.
    pub end: f64,
    /// The time from which calls are counted.
    pub warm: f64,
    /// The first limit of controllers that have one.
    pub start: u32,
    /// When the capacity changes, for the time of recovery.
    pub change: Option<f64>,
}

impl Plant {
    /// Creates a plant with the usual terms: 100 calls/s, deadline 500 ms, wait limit 125 ms, room
    /// 64, measured from 20 s to 120 s, from a limit of 20.
    pub fn new(name: &'static str, backend: Backend) -> Self {
        Plant {
            name,
            backend,
            load: vec![(0.0, 100.0)],
            batch: 1,
            burst: 0,
            mix: Mix { shares: vec![], factor: 1.0 },
            fails_as: Outcome::Overload,
            deadline: 0.5,
            room: 64,
            wait: 0.125,
            retries: 0,
            timeout: 0.0,
            end: 120.0,
            warm: 20.0,
            start: 20,
            change: None,
        }
    }

    /// Returns it under a constant load.
    pub fn load(self, rate: f64) -> Self {
        self.loads([(0.0, rate)])
    }

    /// Returns it under a load that changes at these times.
    pub fn loads(self, load: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Plant { load: load.into_iter().collect(), ..self }
    }

    /// Returns it with calls that come in batches.
    pub fn batch(self, batch: u32) -> Self {
        Plant { batch, ..self }
    }

    /// Returns it with a share of slow calls that changes at these times.
    pub fn mix(self, shares: impl IntoIterator<Item = (f64, f64)>, factor: f64) -> Self {
        Plant { mix: Mix { shares: shares.into_iter().collect(), factor }, ..self }
    }

    /// Returns it with another deadline and wait limit.
    pub fn deadline(self, deadline: f64, wait: f64) -> Self {
        Plant { deadline, wait, ..self }
    }

    /// Returns it with another waiting room.
    pub fn room(self, room: usize) -> Self {
        Plant { room, ..self }
    }

    /// Returns it with callers that try again.
    pub fn retries(self, retries: u32) -> Self {
        Plant { retries, ..self }
    }

    /// Returns it with callers that give up.
    pub fn timeout(self, timeout: f64) -> Self {
        Plant { timeout, ..self }
    }

    /// Returns it measured from a time to another, which is the end.
    pub fn measured(self, warm: f64, end: f64) -> Self {
        Plant { end, warm, ..self }
    }

    /// Returns it with another first limit.
    pub fn start(self, start: u32) -> Self {
        Plant { start, ..self }
    }

    /// Returns it with a change of the capacity to recover from.
    pub fn change(self, time: f64) -> Self {
        Plant { change: Some(time), ..self }
    }

    /// Returns the first word of the name.
    pub fn short_name(&self) -> &'static str {
        self.name.split_once(' ').map_or(self.name, |(short, _)| short)
    }

    /// Returns the calls that come each second at a time.
    pub fn rate(&self, time: f64) -> f64 {
        value(&self.load, time).unwrap_or(self.load[0].1)
    }

    /// Returns the share of slow calls at a time.
    pub fn slow_share(&self, time: f64) -> f64 {
        value(&self.mix.shares, time).unwrap_or(0.0)
    }

    /// Returns the seconds in which calls are counted.
    pub fn span(&self) -> f64 {
        self.end - self.warm
    }

    /// Returns the calls each second that the backend can serve at a time, if its servers do not
    /// slow each other down, or those that come if that is less.
    pub fn capacity(&self, time: f64) -> f64 {
        let (phase, slow) = (self.backend.at(time), self.slow_share(time));
        let mean = self.backend.service * phase.work * (1.0 - slow + slow * self.mix.factor);
        (phase.servers / mean).min(self.rate(time))
    }
}

/// Returns the value of a schedule at a time.
fn value(schedule: &[(f64, f64)], time: f64) -> Option<f64> {
    schedule.iter().rev().find(|(from, _)| *from <= time).map(|(_, value)| *value)
}
