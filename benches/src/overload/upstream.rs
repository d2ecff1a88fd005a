//! The upstream: it has a fixed number of workers, and calls beyond that wait for them in turn,
//! without a limit. So above its capacity it serves no less, but everything later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How many calls it works on at a time.
pub const WORKERS: usize = 8;

/// The mean time of the work on a call.
pub const WORK: Duration = Duration::from_millis(40);

/// How many calls it can serve in a second.
pub const CAPACITY: f64 = 200.0;

/// The workers, and their work.
#[derive(Debug)]
pub struct Upstream {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When each worker is free.
    workers: BinaryHeap<Reverse<Instant>>,
    /// Of the next call without a given one: from 0.0 for the shortest work to 1.0.
    length: f64,
    works: Vec<Work>,
}

/// Work on a call, from its begin to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The number of the call.
    pub call: usize,
    /// When it begins.
    pub begin: Instant,
    /// When it ends.
    pub end: Instant,
}

/// Work that has begun, or is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The number of the call.
    pub call: usize,
    /// When the work begins.
    pub at: Instant,
}

impl Upstream {
    /// Makes an upstream without calls.
    #[must_use]
    pub fn new() -> Self {
        let workers = [Reverse(Instant::now()); WORKERS].into();
        Upstream { state: Mutex::new(State { workers, length: 0.5, works: Vec::new() }) }
    }

    /// Serves a call. If the future is dropped, the work is done all the same, as that of a
    /// database that does not learn of it.
    pub async fn serve(&self, call: usize, work: Option<Duration>) {
        sleep_until(self.begin(call, work, Instant::now())).await;
    }

    /// Gives the call to the worker that is free first. Its work takes as long as given, or, where
    /// nothing is given, half of the mean to half again. Returns when it ends.
    pub fn begin(&self, call: usize, work: Option<Duration>, now: Instant) -> Instant {
        self.state().begin(call, work, now)
    }

    /// Returns all work so far.
    #[must_use]
    pub fn begun(&self) -> Vec<Begun> {
        self.works().into_iter().map(|Work { call, begin, .. }| Begun { call, at: begin }).collect()
    }

    /// Returns all work so far, with its ends.
    #[must_use]
    pub fn works(&self) -> Vec<Work> {
        self.state().works.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Upstream {
    fn default() -> Self {
        Upstream::new()
    }
}

impl State {
    /// The ends are computed and not waited for, so late timers do not reduce the capacity.
    fn begin(&mut self, call: usize, work: Option<Duration>, now: Instant) -> Instant {
        let Reverse(free) = self.workers.pop().expect("there are workers");
        let begin = free.max(now);
        let end = begin + work.unwrap_or_else(|| WORK.mul_f64(0.5 + self.length));
        self.workers.push(Reverse(end));
        self.works.push(Work { call, begin, end });
        // Steps by the golden ratio fill the range evenly, so the mean of few calls is the mean.
        self.length = (self.length + 0.618_033_988_75).fract();
        end
    }
}
