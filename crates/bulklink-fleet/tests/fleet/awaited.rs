//! What is awaited ends, also if the store or the task of the fleet does not help.

use bulklink_fleet::{ConnectError, StoreError};

use crate::odd::{Fate, Step};
use crate::scene::Scene;

#[test]
fn connect_ends_if_the_store_never_lets_the_process_listen() {
    let mut scene = Scene::new();
    let fleet = scene.odd_fleet(|step| if matches!(step, Step::Listen(_)) { Fate::Never } else { Fate::Usual });
    let connecting = fleet.bulkhead("payments").limit(1).connect();
    let connecting = scene.executor.spawn(connecting);
    scene.advance(500);
    assert_eq!(connecting.output().map(|result| result.unwrap_err()), Some(ConnectError::Unavailable));
}

#[test]
fn connect_ends_with_the_fleet() {
    let mut scene = Scene::new();
    let fleet = scene.odd_fleet(|step| if matches!(step, Step::Connect) { Fate::Never } else { Fate::Usual });
    let connecting = scene.executor.spawn(fleet.bulkhead("payments").limit(1).connect());
    scene.executor.run_until_idle();
    let closing = scene.executor.spawn(fleet.close());
    scene.executor.run_until_idle();
    assert!(closing.is_finished());
    assert_eq!(connecting.output().map(|result| result.unwrap_err()), Some(ConnectError::Unavailable));
}

#[test]
fn connect_ends_when_the_task_of_the_fleet_is_dropped() {
    let mut scene = Scene::new();
    let fleet = scene.odd_fleet(|step| if matches!(step, Step::Connect) { Fate::Never } else { Fate::Usual });
    let builder = fleet.bulkhead("payments").limit(1);
    let mut other = bulklink::testing::Executor::new(scene.executor.clock());
    let connecting = other.spawn(builder.connect());
    other.run_until_idle();
    drop(scene);
    other.run_until_idle();
    assert_eq!(connecting.output().map(|result| result.unwrap_err()), Some(ConnectError::Unavailable));
}

#[test]
fn a_status_ends_with_the_fleet() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let bulkhead = process.bulkhead.clone();
    // It has asked, and has no answer yet.
    scene.store.stall(true);
    let early = scene.executor.spawn(async move { bulkhead.status().await });
    scene.executor.run_until_idle();
    scene.store.stall(false);
    scene.executor.block_on(process.fleet.close());
    scene.executor.run_until_idle();
    assert!(early.is_finished());
    let bulkhead = process.bulkhead.clone();
    let late = scene.executor.spawn(async move { bulkhead.status().await });
    scene.executor.run_until_idle();
    assert_eq!(late.output(), Some(Err(StoreError::Unreachable)));
}

#[test]
fn a_status_ends_when_the_task_of_the_fleet_is_dropped() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let mut other = bulklink::testing::Executor::new(scene.executor.clock());
    let bulkhead = process.bulkhead.clone();
    // The task of the fleet has not seen it.
    let early = other.spawn(async move { bulkhead.status().await });
    other.run_until_idle();
    drop(scene);
    other.run_until_idle();
    assert_eq!(early.output(), Some(Err(StoreError::Unreachable)));
    let late = other.spawn(async move { process.bulkhead.status().await });
    other.run_until_idle();
    assert_eq!(late.output(), Some(Err(StoreError::Unreachable)));
}

#[test]
fn a_status_waits_for_the_first_connection() {
    let mut scene = Scene::new();
    let runtime = scene.executor.runtime();
    let fleet = bulklink_fleet::Fleet::builder(scene.store.clone(), runtime).namespace("test").build().unwrap();
    let bulkhead = fleet.bulkhead("payments").limit(1).build().unwrap();
    let asking = bulkhead.clone();
    assert!(scene.executor.block_on(async move { asking.status().await }).is_ok());
    scene.store.stop();
    scene.executor.run_until_idle();
    let asking = bulkhead.clone();
    let task = scene.executor.spawn(async move { asking.status().await });
    scene.executor.run_until_idle();
    assert_eq!(task.output(), Some(Err(StoreError::Unreachable)));
    let fleet = scene.fleet();
    let bulkhead = fleet.bulkhead("payments").limit(1).build().unwrap();
    let task = scene.executor.spawn(async move { bulkhead.status().await });
    scene.advance(3_000);
    assert_eq!(task.output(), Some(Err(StoreError::Unreachable)));
}
