//! A store at work, and the fate of calls while it is away.

use std::sync::Arc;

use bulklink::runtime::{Clock, Timer};
use bulklink_fleet::LeaseLost;
use bulklink_fleet::Outage;
use bulklink_fleet::StoreError;
use bulklink_fleet::ceiling;

use crate::scene::{Process, Scene, millis};

/// Keeps 3 calls of a process coming, each of which runs for 200 ms.
fn busy(scene: &mut Scene, process: &Process) {
    for _ in 0..3 {
        let (bulkhead, runtime) = (process.bulkhead.clone(), scene.executor.runtime());
        drop(scene.executor.spawn(async move {
            loop {
                let slot = bulkhead.owned().slot().await.expect("it may wait for ever");
                runtime.sleep_until(runtime.now().saturating_add(millis(200))).await;
                drop(slot);
            }
        }));
    }
}

/// Neither does a process give units back while the store is away, nor while it grants nothing.
#[test]
fn units_stay_in_use_while_they_cannot_move() {
    for (limit, processes) in [(3, 2), (4, 2), (10, 4), (3, 4)] {
        for restarts in [false, true] {
            let mut scene = Scene::new();
            let all: Vec<_> = (0..processes).map(|_| scene.process_with(|share| share.limit(limit))).collect();
            for process in &all {
                busy(&mut scene, process);
            }
            scene.advance(5_000);
            let in_use = || all.iter().map(|process| process.bulkhead.status().in_use).sum::<usize>();
            if restarts {
                scene.store.stop();
            } else {
                scene.store.cut();
            }
            let steps = 1_200;
            let mut sum = 0;
            for step in 0..steps {
                if restarts && step == 300 {
                    scene.store.start();
                }
                scene.advance(10);
                assert!(in_use() <= limit);
                sum += in_use();
            }
            // A unit above the level can be on its way between two processes.
            let least = if limit < processes { limit - 1 } else { limit };
            assert!(
                sum >= least * steps * 99 / 100,
                "{sum} of {}: limit {limit}, {processes} processes",
                limit * steps
            );
        }
    }
}

#[test]
fn calls_go_on_while_the_store_is_away_until_the_lease_ends() {
    let mut scene = Scene::new();
    let process = scene.process();
    let slots = scene.slots(&process, 2);
    scene.store.stop();
    scene.advance(5_000);
    drop(slots);
    let slots = scene.slots(&process, 2);
    assert_eq!(process.share.status().error, Some(StoreError::UNREACHABLE));

    let lost = scene.executor.spawn({
        let share = Arc::new(process.share);
        let kept = Arc::clone(&share);
        async move { kept.lost().await }
    });
    scene.advance(4_000);
    assert!(!lost.is_finished());
    scene.advance(1_500);
    assert!(lost.is_finished(), "its units are in use, and may be another's now");
    let rejection = process.bulkhead.try_slot().unwrap_err();
    let restriction = rejection.restriction().expect("nothing may be used");
    assert_eq!((restriction.by, restriction.units), (ceiling::UNAVAILABLE, 0));
    let waiting = process.bulkhead.owned().slot();
    let waiting = scene.executor.spawn(waiting);
    scene.store.start();
    scene.advance(13_000);
    assert!(waiting.is_finished(), "after the pauses of connecting, and a quarantine: the data may be lost");
    drop(slots);
}

#[test]
fn what_happens_without_the_store_can_be_chosen() {
    for (outage, allowed) in [(Outage::Reject, 0), (Outage::Share, 2), (Outage::Admit, 100)] {
        let mut scene = Scene::new();
        let first = scene.process_with(|builder| builder.on_outage(outage));
        let second = scene.process();
        let _slots = (scene.slots(&first, 1), scene.slots(&second, 1));
        scene.advance(2_000);
        scene.store.stop();
        scene.advance(20_000);
        let free = first.bulkhead.status().free() + first.bulkhead.status().in_use;
        assert_eq!(if allowed == 0 { free - 1 } else { free }, allowed, "{outage:?}");
        scene.store.start();
        scene.advance(20_000);
        assert_eq!(first.bulkhead.handle().ceilings()[0].units.min(4), first.share.status().granted, "{outage:?}");
    }
}

#[test]
fn a_process_that_was_stopped_beyond_its_lease_has_lost_its_units() {
    let mut scene = Scene::new();
    let (process, other) = (scene.process(), scene.process());
    let slots = scene.slots(&process, 2);
    let lost = scene.executor.spawn(process.share.lost());
    scene.executor.run_until_idle();
    // A statement is on its way when the process stops.
    scene.store.stall(true);
    scene.advance(1_100);
    scene.executor.clock().advance(millis(11_000));
    scene.store.stall(false);
    scene.executor.run_until_idle();
    assert!(lost.is_finished());
    assert_eq!(process.share.status().lost, 1);
    drop((slots, other));
}

#[test]
fn an_operation_is_dropped_when_its_lease_ends() {
    let mut scene = Scene::new();
    let process = scene.process();
    let short = scene.executor.spawn(process.share.until_lost(std::future::ready(7)));
    scene.executor.run_until_idle();
    assert_eq!(short.output(), Some(Ok(7)));
    let slot = scene.slots(&process, 1);
    let long = scene.executor.spawn(process.share.until_lost(std::future::pending::<()>()));
    scene.advance(1_000);
    scene.store.stop();
    scene.advance(8_000);
    assert!(!long.is_finished());
    scene.advance(3_000);
    assert_eq!(long.output(), Some(Err(LeaseLost)));
    drop(slot);
}

#[test]
fn lost_notices_are_made_up_for_and_a_silent_store_ends_the_connection() {
    let mut scene = Scene::new();
    let (first, second) = (scene.process(), scene.process());
    let slots = scene.slots(&first, 4);
    let waiting = scene.call(&second);
    scene.store.drop_notices(true);
    drop(slots);
    scene.advance(3_000);
    assert!(waiting.is_finished(), "at the next beats");
    scene.store.drop_notices(false);
    scene.store.stall(true);
    scene.advance(2_000);
    assert_eq!(second.share.status().error, Some(StoreError::TIMED_OUT));
    scene.store.stall(false);
    scene.advance(5_000);
    assert_eq!(second.share.status().error, None);
    assert_eq!(scene.slots(&first, 3).len(), 3);
}
