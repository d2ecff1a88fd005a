//! When the circuit was not closed, as a process sees it that makes no calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bulklink_breaker::{Breaker, State};

/// Calls that were let through before may be under way for so long, and other processes may know of
/// a transition so much earlier or later.
const ROUNDING: Duration = Duration::from_millis(100);

pub(crate) struct Timeline(Arc<Mutex<Vec<(Instant, State)>>>);

impl Timeline {
    pub(crate) fn of(breaker: &Breaker) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let timeline = Timeline(Arc::clone(&seen));
        breaker.add_transition_handler(move |transition| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), transition.to));
        });
        timeline
    }

    /// How often the circuit has changed from closed to open.
    pub(crate) fn opened(&self) -> usize {
        self.isolations().len()
    }

    /// How many of these calls came while the circuit was surely not closed.
    pub(crate) fn isolated(&self, calls: &[Instant]) -> u64 {
        let isolations = self.isolations();
        let is_isolated = |call: &&Instant| {
            isolations.iter().any(|(opened, closed)| {
                **call > *opened + ROUNDING && closed.is_none_or(|closed| **call + ROUNDING < closed)
            })
        };
        calls.iter().filter(is_isolated).count() as u64
    }

    /// From when until when the circuit was not closed.
    fn isolations(&self) -> Vec<(Instant, Option<Instant>)> {
        let mut isolations: Vec<(Instant, Option<Instant>)> = Vec::new();
        for (at, state) in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let running = isolations.last_mut().filter(|(_, closed)| closed.is_none());
            match (state, running) {
                (State::Closed, Some((_, closed))) => *closed = Some(*at),
                (State::Open | State::HalfOpen, None) => isolations.push((*at, None)),
                _ => {}
            }
        }
        isolations
    }
}
