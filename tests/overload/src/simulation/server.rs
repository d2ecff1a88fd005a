//! The state of a backend in a run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::event::Time;
use crate::backend::{Backend, Kind, interpolate};

/// What a backend does with a call that begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    /// It ends then.
    Ends(f64),
    /// It fails then.
    Fails(f64),
    /// It never ends by itself.
    Never,
    /// It is in a queue or shares the servers: its end is not known yet.
    Queued,
}

/// The time until a call that exceeds the cap fails.
const REFUSAL: f64 = 0.005;

/// The time until a call without a token fails.
const NO_TOKEN: f64 = 0.02;

pub(super) struct Server<'a> {
    backend: &'a Backend,
    is_shared: bool,
    /// Calls that began and did not end, of kinds where their number counts.
    inside: u32,
    /// Calls that wait for a worker or a connection, with their work.
    hidden: VecDeque<(u32, f64)>,
    /// Workers that have a call.
    busy: u32,
    /// The calls that share the servers, by the progress at which each ends.
    shared: BinaryHeap<Reverse<(Time, u32)>>,
    /// The work that a call has done that was there all the time, until `updated`.
    progress: f64,
    updated: f64,
    tokens: f64,
}

impl<'a> Server<'a> {
    pub(super) fn new(backend: &'a Backend) -> Self {
        let is_shared = matches!(backend.kind, Kind::Sharing | Kind::Scaling { .. } | Kind::Pool { .. });
        let tokens = if let Kind::Metered { burst, .. } = backend.kind { burst } else { 0.0 };
        Server {
            backend,
            is_shared,
            inside: 0,
            hidden: VecDeque::new(),
            busy: 0,
            shared: BinaryHeap::new(),
            progress: 0.0,
            updated: 0.0,
            tokens,
        }
    }

    /// Lets calls that share the servers progress until `now`, at the speed since the last time.
    pub(super) fn pass(&mut self, now: f64) {
        if self.is_shared {
            let phase = self.backend.at(self.updated);
            self.progress += (now - self.updated) * self.backend.progress(self.shared.len(), &phase);
            self.updated = now;
        }
    }

    /// Begins a call, whose work is a multiple of the mean.
    pub(super) fn begin(&mut self, call: u32, work: f64, now: f64) -> Start {
        let (backend, phase) = (self.backend, self.backend.at(now));
        let seconds = backend.service * phase.work * work;
        match backend.kind {
            Kind::Workers | Kind::Pool { .. } => {
                self.hidden.push_back((call, work));
                Start::Queued
            }
            Kind::Sharing | Kind::Scaling { .. } => {
                self.share(call, work, now);
                Start::Queued
            }
            Kind::Curve(points) => {
                self.inside += 1;
                let hold = interpolate(points, f64::from(self.inside) / phase.servers) * phase.work * work;
                Start::Ends(backend.end(now, hold))
            }
            Kind::Capped { drops } => {
                let is_full = f64::from(self.inside + 1) > phase.servers;
                self.inside += u32::from(!(is_full && drops));
                match (is_full, drops) {
                    (true, true) => Start::Never,
                    (true, false) => Start::Fails(now + REFUSAL),
                    _ => Start::Ends(now + seconds),
                }
            }
            Kind::Metered { rate, burst, penalty } => {
                self.tokens = (self.tokens + (now - self.updated) * rate * phase.servers).min(burst);
                self.updated = now;
                if self.tokens < 1.0 {
                    self.tokens = (self.tokens - penalty).max(-burst);
                    return Start::Fails(now + NO_TOKEN);
                }
                self.tokens -= 1.0;
                Start::Ends(now + seconds)
            }
        }
    }

    /// Gives free workers and connections to calls that wait for one. `ends` is called with those
    /// whose end is known.
    pub(super) fn hand_out(&mut self, now: f64, mut ends: impl FnMut(u32, f64)) {
        let phase = self.backend.at(now);
        while self.taken() < phase.servers {
            let Some((call, work)) = self.hidden.pop_front() else { break };
            if self.is_shared {
                self.share(call, work, now);
            } else {
                self.busy += 1;
                ends(call, self.backend.end(now, work * self.backend.service * phase.work));
            }
        }
    }

    /// The workers or connections in use.
    fn taken(&self) -> f64 {
        if self.is_shared { self.shared.len() as f64 } else { f64::from(self.busy) }
    }

    fn share(&mut self, call: u32, work: f64, now: f64) {
        let work = work * self.backend.service * self.backend.at(now).work;
        self.shared.push(Reverse((Time(self.progress + work), call)));
    }

    /// Returns when the first of the calls that share the servers ends, if nothing changes before.
    pub(super) fn next_end(&self, now: f64) -> Option<f64> {
        let Reverse((Time(progress), _)) = *self.shared.peek()?;
        let speed = self.backend.progress(self.shared.len(), &self.backend.at(now));
        (speed > 0.0).then(|| now + ((progress - self.progress) / speed).max(0.0))
    }

    /// Ends the first of the calls that share the servers.
    pub(super) fn end_shared(&mut self) -> Option<u32> {
        self.shared.pop().map(|Reverse((_, call))| call)
    }

    /// Ends another call.
    pub(super) fn end(&mut self) {
        match self.backend.kind {
            Kind::Workers => self.busy -= 1,
            Kind::Curve(_) | Kind::Capped { .. } => self.inside -= 1,
            _ => {}
        }
    }
}
