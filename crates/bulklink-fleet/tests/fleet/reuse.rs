//! Permits that pass from call to call inside a process.

use crate::scene::{Scene, admitted, millis};

#[test]
fn a_permit_passes_inside_the_process_as_often_as_allowed_and_with_larger_tokens() {
    let mut scene = Scene::new();
    let reuse = |builder: bulklink_fleet::BulkheadBuilder<_>| builder.limit(1).waiting_room(100).reuse(2);
    let (one, two) = (scene.process_with(reuse), scene.process_with(reuse));
    let mut permit = scene.permit(&one);
    let theirs = scene.acquire(&two);
    let ours: Vec<_> = (0..4).map(|_| scene.acquire(&one)).collect();
    let commands = scene.store.commands();
    for next in &ours[..2] {
        let token = permit.token();
        scene.release(permit);
        permit = admitted(next);
        assert!(permit.token() > token);
    }
    assert_eq!(scene.store.commands(), commands, "the store was not asked");
    let token = permit.token();
    scene.release(permit);
    let permit = admitted(&theirs);
    assert!(permit.token() > token, "the tokens of all uses are counted");
    assert!(!ours[2].is_finished());
    scene.release(permit);
    let permit = admitted(&ours[2]);
    scene.release(permit);
    drop(admitted(&ours[3]));
    scene.advance(2_000);
    let bulkhead = one.bulkhead.clone();
    let status = scene.executor.block_on(async move { bulkhead.status().await }).unwrap();
    assert_eq!((status.leases, status.waiting), (0, 0), "no ask is left behind");
}

#[test]
fn an_ask_that_is_spare_serves_a_later_call() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).waiting_room(100).reuse(4));
    let permit = scene.permit(&process);
    let (first, _second) = (scene.acquire(&process), scene.acquire(&process));
    scene.release(permit);
    let permit = admitted(&first);
    let commands = scene.store.commands();
    let _third = scene.acquire(&process);
    assert_eq!(scene.store.commands(), commands, "the ask of the first call is used");
    drop(permit);
}

#[test]
fn an_idle_permit_serves_the_next_call_and_goes_back_after_its_time() {
    let mut scene = Scene::new();
    let idle = |builder: bulklink_fleet::BulkheadBuilder<_>| builder.limit(1).waiting_room(100).idle(millis(20));
    let (one, two) = (scene.process_with(idle), scene.process_with(idle));
    let permit = scene.permit(&one);
    let token = permit.token();
    let commands = scene.store.commands();
    scene.release(permit);
    scene.advance(19);
    let permit = scene.permit(&one);
    assert!(permit.token() > token);
    assert_eq!(scene.store.commands(), commands);
    scene.release(permit);
    scene.advance(20);
    drop(scene.permit(&two));
}

#[test]
fn an_idle_permit_that_is_over_is_not_handed_out() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| {
        let times = builder.lease(millis(40)).claim(millis(40)).beat(millis(20));
        times.limit(1).waiting_room(9).idle(millis(20))
    });
    let permit = scene.permit(&process);
    scene.release(permit);
    // The process stands still for longer than the lease: its task has not run yet when a call
    // asks.
    let clock = scene.executor.clock();
    let bulkhead = process.bulkhead.clone();
    let asking = scene.executor.spawn(async move {
        clock.advance(millis(50));
        let permit = bulkhead.acquire().await.unwrap();
        assert!(permit.is_valid());
    });
    scene.advance(50);
    assert!(asking.is_finished());
    assert_eq!(process.bulkhead.local_status().totals.lost, 0, "its permit was given back before");
}

#[test]
fn tokens_grow_after_a_loss_of_data_also_if_permits_were_used_again() {
    let mut scene = Scene::new();
    let reuse =
        |builder: bulklink_fleet::BulkheadBuilder<_>| builder.limit(1).waiting_room(9).reuse(4).without_quarantine();
    let process = scene.process_with(reuse);
    let mut permit = scene.permit(&process);
    let waiting: Vec<_> = (0..4).map(|_| scene.acquire(&process)).collect();
    for next in &waiting {
        scene.release(permit);
        permit = admitted(next);
    }
    let last = permit.token();
    scene.release(permit);
    scene.store.forget();
    // The server's clock has not moved on, so it knows of the tokens from this process only.
    let permit = scene.permit(&process);
    assert!(permit.token() > last, "{:?} after {last:?}", permit.token());
}

#[test]
fn asks_that_are_spare_are_soon_at_most_as_many_as_calls_that_wait() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).waiting_room(100).reuse(10));
    let mut permit = scene.permit(&process);
    let waiting: Vec<_> = (0..8).map(|_| scene.acquire(&process)).collect();
    let places = |scene: &mut Scene| {
        let bulkhead = process.bulkhead.clone();
        scene.executor.block_on(async move { bulkhead.status().await }).unwrap().waiting
    };
    // For a moment, another call may follow the one that runs.
    for (next, count) in waiting.iter().zip([8, 8, 8, 8, 7, 5, 3, 1]) {
        scene.release(permit);
        permit = admitted(next);
        assert_eq!(places(&mut scene), count);
    }
    scene.advance(19);
    assert_eq!(places(&mut scene), 1);
    scene.advance(1);
    assert_eq!(places(&mut scene), 0);
}

#[test]
fn calls_that_end_together_and_come_back_together_ask_no_more_than_once() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(4).waiting_room(100).reuse(10));
    let permits: Vec<_> = (0..4).map(|_| scene.permit(&process)).collect();
    let waiting: Vec<_> = (0..4).map(|_| scene.acquire(&process)).collect();
    let commands = scene.store.commands();
    for permit in permits {
        scene.release(permit);
    }
    let _running: Vec<_> = waiting.iter().map(admitted).collect();
    let back: Vec<_> = (0..4).map(|_| scene.acquire(&process)).collect();
    assert!(back.iter().all(|call| !call.is_finished()));
    assert_eq!(scene.store.commands(), commands, "the store was not asked");
}

#[test]
fn an_idle_permit_whose_lease_ended_meanwhile_is_not_handed_out() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| {
        let times = builder.lease(millis(40)).claim(millis(40)).beat(millis(20));
        times.limit(1).waiting_room(9).idle(millis(20))
    });
    scene.advance(10);
    let permit = scene.permit(&process);
    scene.store.stall(true);
    scene.advance(35);
    scene.release(permit);
    // Its time as an idle permit is not over yet, and the task of the fleet has not run.
    let clock = scene.executor.clock();
    let bulkhead = process.bulkhead.clone();
    let asking = scene.executor.spawn(async move {
        clock.advance(millis(10));
        assert!(bulkhead.acquire().await.unwrap().is_valid());
    });
    scene.executor.run_until_idle();
    scene.store.stall(false);
    scene.advance(50);
    assert!(asking.is_finished());
}
