//! Requests that cost more than one unit.

use bulklink::{Request, ResizeError};

use crate::{builder, executor};

#[test]
fn capacity_is_in_units_and_the_waiting_room_in_operations() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(10).waiting_room(2).build().expect("valid");
    let large = bulkhead.with(Request::new().cost(7)).try_slot().expect("free");
    let medium = bulkhead.with(Request::new().cost(3)).try_slot().expect("free");
    let waiting = [9, 10].map(|cost| executor.spawn(bulkhead.with(Request::new().cost(cost)).slot()));
    executor.run_until_idle();
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.in_use, status.waiting, status.waiting_units), (2, 10, 2, 19));
    assert_eq!((large.cost(), medium.cost()), (7, 3));
    drop((large, medium));
    executor.run_until_idle();
    assert!(waiting[0].is_finished() && !waiting[1].is_finished());
}

#[test]
fn a_small_request_never_overtakes_a_large_one() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(4).waiting_room(5).build().expect("valid");
    let running = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    let large = executor.spawn(bulkhead.with(Request::new().cost(3)).slot());
    let small = executor.spawn(bulkhead.with(Request::new().cost(1)).slot());
    executor.run_until_idle();
    drop(bulkhead.try_slot().expect_err("two units are free, and a call waits"));
    assert!(!small.is_finished());
    drop(running);
    executor.run_until_idle();
    assert!(large.is_finished() && small.is_finished());
}

#[test]
fn shrinking_below_the_cost_of_a_waiter_is_rejected() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(4).waiting_room(5).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let _large = executor.spawn(bulkhead.with(Request::new().cost(4)).slot());
    executor.run_until_idle();
    let Err(ResizeError::Invalid(invalid)) = bulkhead.resize(3) else { panic!("the waiter could never be admitted") };
    assert_eq!((invalid.field(), invalid.value().to_string().as_str()), ("capacity", "3"));
}
