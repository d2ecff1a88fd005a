//! Admission: which calls get a slot, and in which order.

use std::cell::RefCell;
use std::rc::Rc;

use bulklink::{ExecuteError, Reason, Request};

use crate::{builder, bulkhead, call, executor, ms, reason, slot};

#[test]
fn calls_beyond_slots_and_waiting_room_are_rejected_immediately() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 1);
    let running = [call(&mut executor, &bulkhead), call(&mut executor, &bulkhead)].map(|call| slot(&call));
    let waiting = call(&mut executor, &bulkhead);
    let rejected = call(&mut executor, &bulkhead).output().expect("completed immediately").expect_err("full");
    assert_eq!(rejected.reason(), Reason::Saturated);
    assert_eq!(rejected.label(), "test");
    assert_eq!(rejected.waited(), ms(0));
    let occupancy = rejected.occupancy();
    assert_eq!(
        (occupancy.in_flight(), occupancy.capacity(), occupancy.waiting(), occupancy.waiting_room()),
        (2, 2, 1, 1)
    );
    assert_eq!(rejected.to_string(), "bulkhead test: saturated (2 of 2 in use, 1 of 1 waiting)");
    drop(running);
    executor.run_until_idle();
    drop(slot(&waiting));
}

#[test]
fn waiters_are_admitted_in_fifo_order() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 10);
    let order = Rc::new(RefCell::new(vec![]));
    let running = bulkhead.try_slot().expect("free");
    for number in 0..5 {
        let (bulkhead, order) = (bulkhead.clone(), Rc::clone(&order));
        executor.spawn(async move { bulkhead.execute(async { order.borrow_mut().push(number) }).await });
    }
    executor.run_until_idle();
    drop(running);
    executor.run_until_idle();
    assert_eq!(*order.borrow(), [0, 1, 2, 3, 4]);
}

#[test]
fn try_slot_never_waits_and_never_overtakes() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let running = bulkhead.try_slot_owned().expect("free");
    assert_eq!(bulkhead.try_slot().expect_err("taken").reason(), Reason::Saturated);
    let waiting = call(&mut executor, &bulkhead);
    drop(running);
    assert_eq!(bulkhead.try_slot().expect_err("the slot went to the waiter").reason(), Reason::Saturated);
    executor.run_until_idle();
    drop(slot(&waiting));
    drop(bulkhead.try_slot().expect("free again"));
}

#[test]
fn execute_returns_the_value_the_error_or_the_rejection() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let task = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move {
            assert_eq!(bulkhead.execute(async { 7 }).await, Ok(7));
            assert_eq!(bulkhead.try_execute(async { 8 }).await, Ok(8));
            assert_eq!(bulkhead.execute_fallible(async { Ok::<_, String>(9) }).await, Ok(9));
            let failed = bulkhead.execute_fallible(async { Err::<(), _>("its own") }).await;
            assert_eq!(failed, Err(ExecuteError::Operation("its own")));
            let _running = bulkhead.slot().await;
            let rejected = bulkhead.execute_fallible(async { Ok::<_, String>(9) }).await;
            assert!(
                matches!(rejected, Err(ExecuteError::Rejected(rejection)) if rejection.reason() == Reason::Saturated)
            );
        }
    });
    executor.run_until_idle();
    assert!(task.is_finished());
    assert_eq!(bulkhead.status().in_flight, 0);
}

#[test]
fn a_request_with_now_does_not_queue() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let _running = bulkhead.try_slot().expect("free");
    let now = executor.spawn(bulkhead.slot_owned_with(Request::new().now()));
    executor.run_until_idle();
    assert_eq!(reason(&now), Reason::Saturated);
}

#[test]
fn a_wrapped_function_runs_in_a_slot() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let observed = bulkhead.clone();
    let double = bulkhead.wrap(move |number: u32| {
        let observed = observed.clone();
        async move { (2 * number, observed.status().in_flight) }
    });
    let task = executor.spawn(async move { double.call(21).await });
    executor.run_until_idle();
    assert_eq!(task.output().expect("the task has ended"), Ok((42, 1)));
}

#[test]
fn every_method_applies_its_request() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(3).waiting_room(5).build().expect("valid");
    let two = Request::new().cost(2);
    assert_eq!(bulkhead.try_slot_owned_with(two).expect("free").cost(), 2);
    let in_use = executor.block_on({
        let bulkhead = bulkhead.clone();
        async move {
            let observe = || async { Ok::<_, String>(bulkhead.status().in_use) };
            let owned = bulkhead.slot_owned_with(two).await.expect("free").cost();
            let borrowed = bulkhead.slot_with(two).await.expect("free").cost();
            let executed =
                bulkhead.execute_with(two, observe()).await.expect("free").expect("the operation cannot fail");
            let fallible = bulkhead.execute_fallible_with(two, observe()).await.expect("free");
            [owned, borrowed, executed, fallible]
        }
    });
    assert_eq!(in_use, [2; 4]);
}

#[test]
fn try_execute_never_waits() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let _running = bulkhead.try_slot_owned().expect("free");
    let tried = executor.spawn(async move { bulkhead.try_execute(async {}).await });
    executor.run_until_idle();
    assert_eq!(tried.output().expect("completed immediately").expect_err("taken").reason(), Reason::Saturated);
}
