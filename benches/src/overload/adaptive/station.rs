//! A model of an upstream in virtual time: how many calls it works on at once may change, and the
//! more it works on, the slower it may be.
//!
//! With *N* calls in work, each takes 1 + σ (N − 1) + κ N (N − 1) times as long as alone. So the
//! throughput is that of the universal scalability law. It falls beyond √((1 − σ) / κ) calls.

use std::collections::{BTreeSet, VecDeque};

use crate::measure::float;

/// How many calls a station works on at once, and how much they disturb each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Until when, in seconds, it works on how many calls; the last number holds for ever.
    pub workers: Vec<(f64, usize)>,
    /// The part of the work that only one call at a time can do.
    pub sigma: f64,
    /// How much each pair of calls delays.
    pub kappa: f64,
}

impl Plan {
    /// Returns how many calls it works on at a time.
    #[must_use]
    pub fn workers(&self, at: f64) -> usize {
        let phase = self.workers.iter().find(|(until, _)| at < *until).or(self.workers.last());
        phase.map_or(0, |(_, workers)| *workers)
    }

    /// Returns how many times as long each of so many calls takes as one alone.
    #[must_use]
    pub fn stretch(&self, calls: usize) -> f64 {
        let calls = float(calls as u128);
        1.0 + (calls - 1.0) * (self.sigma + self.kappa * calls)
    }

    /// Returns how many calls of this work are done in a second, with so many at a time.
    #[must_use]
    pub fn throughput(&self, calls: usize, work: f64) -> f64 {
        float(calls as u128) / self.stretch(calls) / work
    }

    /// Returns the end of the phase.
    fn change_after(&self, at: f64) -> Option<f64> {
        self.workers.iter().map(|(until, _)| *until).find(|until| at < *until && until.is_finite())
    }
}

/// When something happened to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// The number of the call.
    pub call: usize,
    /// The time, in seconds.
    pub at: f64,
}

/// An upstream. Calls beyond its workers wait in turn.
#[derive(Debug)]
pub struct Station {
    plan: Plan,
    now: f64,
    /// The seconds of work that a call would have done which had been there from the beginning.
    progress: f64,
    /// The calls in work, by the progress at which they end. The bits of positive floats are in
    /// order.
    in_work: BTreeSet<(u64, usize)>,
    queue: VecDeque<(usize, f64)>,
    begun: Vec<Mark>,
}

impl Station {
    /// Makes a station without calls, at the time zero.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let (in_work, queue) = (BTreeSet::new(), VecDeque::new());
        Station { plan, now: 0.0, progress: 0.0, in_work, queue, begun: Vec::new() }
    }

    /// Takes a call with so many seconds of work, and returns the calls that are done by then.
    pub fn arrive(&mut self, now: f64, call: usize, work: f64) -> Vec<Mark> {
        let done = self.advance(now);
        self.queue.push_back((call, work));
        self.begin();
        done
    }

    /// Forgets a call that waits. Work that has begun is done, even if its caller has gone.
    pub fn leave(&mut self, call: usize) {
        self.queue.retain(|(waiting, _)| *waiting != call);
    }

    /// Goes on to a time, and returns the calls that are done by then, in order.
    pub fn advance(&mut self, now: f64) -> Vec<Mark> {
        let mut done = Vec::new();
        while let Some(next) = self.next().filter(|next| *next <= now) {
            let is_end = self.first_end().is_some_and(|end| end <= next);
            self.go_to(next);
            if let Some((progress, call)) = is_end.then(|| self.in_work.pop_first()).flatten() {
                // What rounding has left.
                self.progress = f64::from_bits(progress);
                done.push(Mark { call, at: next });
            }
            self.begin();
        }
        self.go_to(now.max(self.now));
        done
    }

    /// Returns when the next call is done, or the number of workers changes, if no call comes.
    #[must_use]
    pub fn next(&self) -> Option<f64> {
        let change = self.plan.change_after(self.now).filter(|_| !self.queue.is_empty());
        self.first_end().into_iter().chain(change).min_by(f64::total_cmp)
    }

    /// Returns how many calls are in work.
    #[must_use]
    pub fn in_work(&self) -> usize {
        self.in_work.len()
    }

    /// Returns when the work of each call began.
    #[must_use]
    pub fn begun(&self) -> &[Mark] {
        &self.begun
    }

    fn first_end(&self) -> Option<f64> {
        let (progress, _) = self.in_work.first()?;
        let left = (f64::from_bits(*progress) - self.progress).max(0.0);
        Some(self.now + left * self.plan.stretch(self.in_work()))
    }

    fn go_to(&mut self, now: f64) {
        if !self.in_work.is_empty() {
            self.progress += (now - self.now) / self.plan.stretch(self.in_work());
        }
        self.now = now;
    }

    /// Has free workers begin with calls that wait.
    fn begin(&mut self) {
        while self.in_work() < self.plan.workers(self.now) {
            let Some((call, work)) = self.queue.pop_front() else { return };
            self.in_work.insert(((self.progress + work).to_bits(), call));
            self.begun.push(Mark { call, at: self.now });
        }
    }
}
