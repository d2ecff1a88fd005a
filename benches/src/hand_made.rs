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
    /// The permits.
    pub semaphore: Semaphore,
    wait_limit: Option<Duration>,
    /// Calls that wait.
    pub waiting: AtomicU64,
    /// Calls that were admitted.
    pub admitted: AtomicU64,
    /// Calls that found no place in the queue.
    pub rejected: AtomicU64,
    /// Calls that waited up to the limit.
    pub expired: AtomicU64,
    /// Calls that run.
    pub in_flight: AtomicU64,
    /// The most calls that have run together.
    pub peak: AtomicU64,
    /// The waits that ended in admission, in nanoseconds.
    pub waits: Mutex<Histogram<u64>>,
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
