//! The store in memory: a subject, and the model of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bulklink::runtime::Clock;
use bulklink_breaker::Instant;
use bulklink_fleet::MemoryStore;
use bulklink_fleet::Name;

use crate::subject::{Subject, block_on};

#[derive(Clone, Debug, Default)]
struct Time(Arc<AtomicU64>);

impl Clock for Time {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::EPOCH + Duration::from_micros(self.0.load(Ordering::SeqCst))
    }

    fn instant(&self, instant: Instant) -> Instant {
        instant
    }
}

/// The store in memory, in virtual time.
#[derive(Clone, Debug)]
pub struct Memory {
    time: Time,
    store: MemoryStore,
}

impl Memory {
    /// Makes an empty store.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a subject is not a value")]
    pub fn new() -> Self {
        let time = Time::default();
        Memory { store: MemoryStore::new(time.clone()), time }
    }
}

impl Subject for Memory {
    type Store = MemoryStore;

    fn store(&self) -> MemoryStore {
        self.store.clone()
    }

    fn set_now(&self, micros: u64) {
        self.time.0.store(micros, Ordering::SeqCst);
    }

    /// The tests have one row.
    fn lose(&self, _: &Name) {
        self.store.forget();
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on(future)
    }
}
