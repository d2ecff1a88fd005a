//! Faults of the store, of the task and of processes that end in between.

use bulklink::runtime::{Clock, Instant, Spawn, SpawnError, Timer};
use bulklink::testing::{FakeClock, FakeSleep, Task};
use bulklink_breaker::store::{CircuitStore, MemoryStore, Name, Namespace, Row};
use bulklink_breaker::{Breaker, Circuits, Health, State};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::scene::{Process, Scene, millis};
use crate::{BAD, GOOD};

fn row(scene: &mut Scene) -> Row {
    let name = Name::new(&Namespace::new("test").unwrap(), "payments").unwrap();
    let (store, settings) = (scene.store.clone(), scene.settings);
    scene.executor.block_on(async move { store.load(&name, &settings).await }).unwrap()
}

fn shares(scene: &mut Scene, process: &Process) -> bool {
    scene.executor.run_until_idle();
    process.breaker.sharing().unwrap().is_connected
}

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
    let before = scene.store.operations();
    scene.store.cut();
    scene.advance(1_000);
    assert!(shares(&mut scene, &process));
    assert_eq!(process.breaker.health(), Health::Healthy);
    scene.advance(1_000);
    assert_eq!(scene.store.operations(), before + 2, "a subscription and a load");
}
