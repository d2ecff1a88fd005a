//! Which calls are admitted, in which order, and why others are not.

use std::sync::{Arc, Mutex};

use bulklink::Request;
use bulklink_fleet::{EventKind, ExecuteError, Reason};

use crate::scene::{Scene, admitted, millis, rejected};

#[test]
fn the_limit_is_that_of_all_processes_and_the_order_is_first_come_first_served() {
    let mut scene = Scene::new();
    let (one, two) = (scene.process(2), scene.process(2));
    let first = scene.permit(&one);
    let second = scene.permit(&two);
    let waiting = [scene.acquire(&two), scene.acquire(&one), scene.acquire(&two)];
    assert!(waiting.iter().all(|task| !task.is_finished()));

    scene.release(first);
    let third = admitted(&waiting[0]);
    assert!(!waiting[1].is_finished() && !waiting[2].is_finished());
    scene.release(second);
    let fourth = admitted(&waiting[1]);
    scene.release(third);
    scene.release(fourth);
    drop(admitted(&waiting[2]));
}

#[test]
fn tokens_grow_with_each_grant_of_the_fleet() {
    let mut scene = Scene::new();
    let (one, two) = (scene.process(1), scene.process(1));
    let mut last = None;
    for _ in 0..3 {
        for process in [&one, &two] {
            let permit = scene.permit(process);
            assert!(permit.token() > last, "{:?} after {last:?}", permit.token());
            last = permit.token();
            scene.release(permit);
        }
    }
}

#[test]
fn a_call_that_does_not_wait_is_saturated_and_never_overtakes() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    let waiting = scene.acquire(&process);
    let bulkhead = process.bulkhead.clone();
    let hurried = scene.executor.spawn(async move { bulkhead.try_acquire().await });
    scene.executor.run_until_idle();
    let rejection = rejected(&hurried);
    assert_eq!(rejection.reason(), Reason::Saturated);
    assert_eq!(rejection.to_string(), "bulkhead payments of the fleet: saturated (1 of 1 in use, 1 of 100 waiting)");
    scene.release(permit);
    drop(admitted(&waiting));
}

#[test]
fn a_wait_ends_with_the_limit_of_the_bulkhead_and_of_the_call() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).waiting_room(5).wait_limit(millis(200)));
    let _permit = scene.permit(&process);
    let patient = scene.acquire(&process);
    let bulkhead = process.bulkhead.clone();
    let hurried = Request::new().within(millis(50));
    let hurried = scene.executor.spawn(async move { bulkhead.acquire_with(hurried).await });
    scene.advance(49);
    assert!(!hurried.is_finished());
    scene.advance(1);
    let rejection = rejected(&hurried);
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, millis(50)));
    scene.advance(149);
    assert!(!patient.is_finished());
    scene.advance(1);
    assert_eq!(rejected(&patient).waited(), millis(200));
    assert_eq!(process.bulkhead.local_status().totals.expired, 2);
    assert_eq!(process.bulkhead.local_status().waiting, 0);
}

#[test]
fn a_deadline_that_is_past_and_a_wait_of_zero_expire_at_once() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let past = scene.executor.clock();
    let past = Request::new().before(bulklink::runtime::Clock::now(&past).saturating_sub(millis(1)));
    let bulkhead = process.bulkhead.clone();
    let late = scene.executor.block_on(async move { bulkhead.acquire_with(past).await });
    assert_eq!(late.unwrap_err().reason(), Reason::Expired);

    let bulkhead = process.bulkhead.clone();
    let zero = Request::new().within(millis(0));
    let permit = scene.executor.block_on(async move { bulkhead.acquire_with(zero).await }).unwrap();
    let bulkhead = process.bulkhead.clone();
    let refused = scene.executor.block_on(async move { bulkhead.acquire_with(zero).await });
    assert_eq!(refused.unwrap_err().reason(), Reason::Expired);
    scene.release(permit);
}

#[test]
fn costs_are_counted_in_units_and_a_small_call_does_not_overtake_a_large_one() {
    let mut scene = Scene::new();
    let process = scene.process(10);
    let asking = |scene: &mut Scene, cost| {
        let bulkhead = process.bulkhead.clone();
        let task = scene.executor.spawn(async move { bulkhead.acquire_with(Request::new().cost(cost)).await });
        scene.executor.run_until_idle();
        task
    };
    let seven = admitted(&asking(&mut scene, 7));
    let (large, small) = (asking(&mut scene, 4), asking(&mut scene, 1));
    assert!(!large.is_finished() && !small.is_finished());
    for impossible in [0, 11] {
        let rejection = rejected(&asking(&mut scene, impossible));
        assert_eq!(rejection.reason(), Reason::InvalidCost);
        let text =
            format!("bulkhead payments of the fleet: invalid cost: cost must be between 1 and 10, got {impossible}");
        assert_eq!(rejection.to_string(), text);
    }
    scene.release(seven);
    assert_eq!((admitted(&large).cost(), admitted(&small).cost()), (4, 1));
}

#[test]
fn a_call_that_is_dropped_gives_up_its_place_and_a_grant_on_its_way_is_given_back() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    let (dropped, next) = (scene.acquire(&process), scene.acquire(&process));
    dropped.cancel();
    scene.release(permit);
    let permit = admitted(&next);

    // The grant comes while the store does not answer, and the call is gone by then.
    scene.store.stall(true);
    drop(permit);
    let asking = scene.acquire(&process);
    asking.cancel();
    scene.store.stall(false);
    scene.executor.run_until_idle();
    drop(scene.permit(&process));
    let totals = process.bulkhead.local_status().totals;
    assert_eq!((totals.cancelled, totals.admitted, totals.released), (2, 3, 3));
}

#[test]
fn a_bulkhead_without_a_waiting_room_rejects_immediately() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1));
    let _permit = scene.permit(&process);
    assert_eq!(rejected(&scene.acquire(&process)).reason(), Reason::Saturated);
}

#[test]
fn the_waiting_room_is_that_of_the_fleet() {
    let mut scene = Scene::new();
    let small = |builder: bulklink_fleet::BulkheadBuilder<_>| builder.limit(1).waiting_room(1);
    let (one, two) = (scene.process_with(small), scene.process_with(small));
    let _permit = scene.permit(&one);
    let _waiting = scene.acquire(&one);
    assert_eq!(rejected(&scene.acquire(&two)).reason(), Reason::Saturated);
}

#[test]
fn at_most_so_many_calls_of_a_process_wait_on_the_store() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).waiting_room(10).remote_waiters(2));
    let permit = scene.permit(&process);
    let tasks: Vec<_> = (0..4).map(|_| scene.acquire(&process)).collect();
    let status = process.bulkhead.local_status();
    assert_eq!((status.held, status.waiting, status.waiting_locally, status.occupancy.waiting), (1, 2, 2, 2));
    scene.release(permit);
    for task in tasks {
        let permit = admitted(&task);
        scene.release(permit);
    }
}

#[test]
fn an_operation_runs_with_a_permit_and_ends_when_it_is_lost_if_asked() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let bulkhead = process.bulkhead.clone();
    let double = process.bulkhead.wrap(|number: u32| async move { number * 2 });
    let results =
        scene.executor.block_on(async move { (bulkhead.execute(async { "paid" }).await, double.call(21).await) });
    assert_eq!(results, (Ok("paid"), Ok(42)));

    let bulkhead = process.bulkhead.clone();
    let never = std::future::pending::<()>();
    let task = scene.executor.spawn(async move { bulkhead.execute_until_lost(Request::new(), never).await });
    scene.executor.run_until_idle();
    scene.store.stop();
    scene.advance(9_000);
    assert!(!task.is_finished());
    scene.advance(1_001);
    assert_eq!(task.output(), Some(Err(ExecuteError::Lost)));
}

#[test]
fn a_handler_hears_of_what_happens() {
    let mut scene = Scene::new();
    let heard = Arc::new(Mutex::new(vec![]));
    let log = Arc::clone(&heard);
    let process = scene.process_with(|builder| {
        let handler = move |event: &bulklink_fleet::Event| log.lock().unwrap().push(event.kind);
        builder.limit(1).on_event(handler).on_event(|_| panic!("this must be without effect"))
    });
    let permit = scene.permit(&process);
    drop(rejected(&scene.acquire(&process)));
    scene.release(permit);
    scene.store.cut();
    scene.advance(100);
    let heard: Vec<_> = heard.lock().unwrap().iter().map(|kind| kind.as_str()).collect();
    let expected = ["connected", "admitted", "rejected", "released", "disconnected", "connected"];
    assert_eq!(heard, expected);
    let _ = EventKind::Lost;
}

#[test]
fn calls_that_never_ask_the_store_are_counted_too() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).waiting_room(2).remote_waiters(1));
    let _permit = scene.permit(&process);
    let _remote = scene.acquire(&process);
    let _local = scene.acquire(&process);
    let asking = |scene: &mut Scene, request| {
        let bulkhead = process.bulkhead.clone();
        let task = scene.executor.spawn(async move { bulkhead.acquire_with(request).await });
        scene.executor.run_until_idle();
        task
    };
    let late = asking(&mut scene, Request::new().within(millis(50)));
    assert_eq!(rejected(&scene.acquire(&process)).reason(), Reason::Saturated);
    scene.advance(50);
    assert_eq!(rejected(&late).reason(), Reason::Expired);
    let dropped = scene.acquire(&process);
    dropped.cancel();
    let totals = process.bulkhead.local_status().totals;
    assert_eq!((totals.admitted, totals.saturated, totals.expired, totals.cancelled), (1, 1, 1, 1));
    assert_eq!(process.bulkhead.local_status().waiting_locally, 1);
}
