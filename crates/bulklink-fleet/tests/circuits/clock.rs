//! The clock of the store, which may be set back or run apart from that of a process.

use bulklink::runtime::{Clock, Instant};
use bulklink::testing::FakeClock;
use bulklink_breaker::Health;
use bulklink_fleet::MemoryStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::faults::shares;
use crate::scene::Scene;
use crate::{BAD, GOOD};

/// A clock that its owner sets back.
#[derive(Clone)]
struct Skewed(FakeClock, Arc<AtomicU64>);

impl Clock for Skewed {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.now().as_nanos() - self.1.load(Ordering::Relaxed) * 1_000_000)
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

#[test]
fn a_store_that_has_gone_back_to_older_rows_is_followed() {
    let mut scene = Scene::new();
    let behind = Arc::new(AtomicU64::new(0));
    scene.store = MemoryStore::new(Skewed(scene.executor.clock(), Arc::clone(&behind)));
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(1_000);
    behind.store(500_000, Ordering::Relaxed);
    scene.store.forget();
    let before = scene.store.commands();
    scene.store.cut();
    scene.advance(1_000);
    assert!(shares(&mut scene, &process));
    assert_eq!(process.breaker.health(), Health::Healthy);
    scene.advance(1_000);
    assert_eq!(scene.store.commands(), before + 2, "a subscription and a load");
}

#[test]
fn a_cool_down_that_the_store_says_is_shorter_is_shorter() {
    let mut scene = Scene::new();
    let behind = Arc::new(AtomicU64::new(100_000));
    scene.store = MemoryStore::new(Skewed(scene.executor.clock(), Arc::clone(&behind)));
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    behind.store(98_000, Ordering::Relaxed);
    scene.advance(7_999);
    assert_eq!(process.breaker.health(), Health::Isolated);
    scene.advance(1);
    assert_eq!(process.breaker.health(), Health::Degraded);
    assert_eq!(scene.call(&process, &[GOOD]), 1);
}

#[test]
fn processes_refuse_calls_for_as_long_as_a_store_whose_clock_was_set_back() {
    let mut scene = Scene::new();
    let behind = Arc::new(AtomicU64::new(100_000));
    scene.store = MemoryStore::new(Skewed(scene.executor.clock(), Arc::clone(&behind)));
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(9_000);
    behind.store(400_000, Ordering::Relaxed);
    scene.advance(1_000);
    assert_eq!(scene.call(&process, &[GOOD]), 0, "the cool-down is over here, but not on the store");
    let before = scene.store.commands();
    assert_eq!((scene.call(&process, &[GOOD; 50]), scene.store.commands()), (0, before));
    scene.advance(10_000);
    assert_eq!(scene.call(&process, &[GOOD]), 1);
}
