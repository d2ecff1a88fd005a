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

#[test]
fn a_probe_that_hangs_keeps_its_own_process_from_probing_until_its_lease_ends() {
    let mut scene = Scene::new();
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    let hung = scene.begin(&process, 1_000_000, GOOD);
    assert_eq!(scene.call(&process, &[GOOD]), 0);
    scene.advance(2_000);
    assert!(process.breaker.check().is_ok());
    assert_eq!(scene.call(&process, &[GOOD]), 1);
    assert_eq!(process.breaker.health(), Health::Healthy);
    // Its outcome is of an earlier generation now.
    scene.advance(1_000_000);
    assert!(hung.is_finished());
    assert_eq!(row(&mut scene).state, State::Closed);
}

#[test]
fn a_probe_of_an_earlier_half_open_circuit_takes_no_place_of_a_later_one() {
    let mut scene = Scene::new();
    scene.settings = scene.settings.probes(2).probe_lease(millis(3_600_000));
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    let _hung = scene.begin(&process, 1_000_000, GOOD);
    assert_eq!(scene.call(&process, &[BAD]), 1, "it opens again");
    scene.advance(10_000);
    let probes = [(); 3].map(|()| scene.begin(&process, 50, GOOD));
    assert_eq!(probes.iter().filter(|probe| !probe.is_finished()).count(), 2);
}

#[test]
fn a_probe_of_the_store_and_those_of_the_process_alone_are_not_more_than_may_run() {
    let mut scene = Scene::new();
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    let probe = scene.begin(&process, 1_000, GOOD);
    scene.store.stop();
    scene.executor.run_until_idle();
    assert!(!process.breaker.sharing().unwrap().is_connected);
    assert_eq!(scene.call(&process, &[GOOD]), 0, "the store's probe runs");
    scene.advance(2_000);
    assert!(probe.is_finished());
    let alone = scene.begin(&process, 100_000, GOOD);
    assert!(!alone.is_finished());
    scene.store.start();
    scene.advance(1_000);
    assert!(shares(&mut scene, &process));
    alone.cancel();
}

#[test]
fn the_probe_of_a_process_alone_closes_no_circuit_of_the_store() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD; 3]);
    scene.advance(10_000);
    let _probe = scene.begin(&two, 1_000_000, GOOD);
    // Only the first process loses the store: it never connects for as long.
    scene.store.stop();
    scene.executor.run_until_idle();
    let alone = scene.begin(&one, 1_500, GOOD);
    scene.store.start();
    scene.advance(1_400);
    assert!(shares(&mut scene, &one));
    scene.advance(200);
    assert!(alone.is_finished());
    assert_eq!(row(&mut scene).state, State::HalfOpen);
    assert_eq!(one.breaker.health(), Health::Degraded);
}
