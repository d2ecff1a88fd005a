//! The code that a bulkhead replaces, written by hand: tokio's semaphore with a timeout, six
//! counters, a histogram of the waits behind a mutex, and two readings of the clock. Guards keep
//! the counters right when a call is cancelled. It has no consistent status, no resizing, and no
//! events.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::peers::ROOM;

/// The peer's name in the table.
pub const NAME: &str = "semaphore, counters, histogram";

/// The same with a limit on the wait.
pub const NAME_WITH_LIMIT: &str = "semaphore, timeout, counters, histogram";

/// A semaphore that is counted and measured.
#[derive(Debug)]
pub struct HandMade {
    semaphore: Semaphore,
    wait_limit: Option<Duration>,
    waiting: AtomicU64,
    admitted: AtomicU64,
    rejected: AtomicU64,
    expired: AtomicU64,
    in_flight: AtomicU64,
    peak: AtomicU64,
    waits: Mutex<Histogram<u64>>,
}

/// Why a call is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is full.
    Full,
    /// The wait has reached its limit.
    Expired,
    /// The semaphore is closed.
    Closed,
}

/// A permit. It counts what runs.
#[derive(Debug)]
pub struct Permit<'a> {
    in_flight: &'a AtomicU64,
    _permit: SemaphorePermit<'a>,
}

/// Counts a call as waiting until it is dropped.
struct Waiting<'a>(&'a AtomicU64);

impl HandMade {
    /// Makes one with this many permits.
    ///
    /// # Panics
    ///
    /// If there are more permits than tokio allows.
    #[must_use]
    pub fn new(capacity: usize, wait_limit: Option<Duration>) -> Self {
        let (microsecond, hour) = (1_000, 3_600_000_000_000);
        HandMade {
            semaphore: Semaphore::new(capacity),
            wait_limit,
            waiting: AtomicU64::new(0),
            admitted: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            waits: Mutex::new(Histogram::new_with_bounds(microsecond, hour, 2).expect("these are valid bounds")),
        }
    }

    /// Waits for a permit, behind those that wait already.
    ///
    /// # Errors
    ///
    /// If the queue is full, the wait expires, or the semaphore is closed.
    ///
    /// # Panics
    ///
    /// With a limit on the wait, outside of a runtime.
    pub async fn acquire(&self) -> Result<Permit<'_>, Refusal> {
        let is_full = self.waiting.fetch_add(1, Relaxed) >= ROOM as u64;
        let waiting = Waiting(&self.waiting);
        if is_full {
            self.rejected.fetch_add(1, Relaxed);
            return Err(Refusal::Full);
        }
        let begun = Instant::now();
        let acquired = match self.wait_limit {
            Some(limit) => timeout(limit, self.semaphore.acquire()).await,
            None => Ok(self.semaphore.acquire().await),
        };
        let Ok(permit) = acquired else {
            self.expired.fetch_add(1, Relaxed);
            return Err(Refusal::Expired);
        };
        let permit = permit.map_err(|_| Refusal::Closed)?;
        drop(waiting);
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(waited);
        self.admitted.fetch_add(1, Relaxed);
        self.peak.fetch_max(self.in_flight.fetch_add(1, Relaxed) + 1, Relaxed);
        Ok(Permit { in_flight: &self.in_flight, _permit: permit })
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::peers::tokio_runtime;
    use crate::work::{now, poll};

    fn counters(hand_made: &HandMade) -> [u64; 7] {
        let HandMade { waiting, admitted, rejected, expired, in_flight, peak, waits, .. } = hand_made;
        let counters = [waiting, admitted, rejected, expired, in_flight, peak].map(|counter| counter.load(Relaxed));
        let [waiting, admitted, rejected, expired, in_flight, peak] = counters;
        [waiting, admitted, rejected, expired, in_flight, peak, waits.lock().unwrap().len()]
    }

    #[test]
    fn calls_that_end_in_any_way_are_counted_once() {
        let hand_made = HandMade::new(1, None);
        let held = now(|| hand_made.acquire()).unwrap();
        {
            let mut cancelled = pin!(hand_made.acquire());
            assert!(poll(cancelled.as_mut()).is_pending());
            assert_eq!(counters(&hand_made), [1, 1, 0, 0, 1, 1, 1]);
        }
        drop(held);
        assert_eq!(counters(&hand_made), [0, 1, 0, 0, 0, 1, 1]);
        hand_made.semaphore.close();
        assert_eq!(now(|| hand_made.acquire()).unwrap_err(), Refusal::Closed);
        hand_made.waiting.store(ROOM as u64, Relaxed);
        assert_eq!(now(|| hand_made.acquire()).unwrap_err(), Refusal::Full);
        assert_eq!(counters(&hand_made), [ROOM as u64, 1, 1, 0, 0, 1, 1]);
    }

    #[test]
    fn a_wait_with_a_limit_expires() {
        let hand_made = HandMade::new(0, Some(Duration::from_millis(1)));
        assert_eq!(tokio_runtime().block_on(hand_made.acquire()).unwrap_err(), Refusal::Expired);
        assert_eq!(counters(&hand_made), [0, 0, 0, 1, 0, 0, 0]);
    }
}
