//! Admission: which calls get a slot, and in which order.

use std::cell::RefCell;
use std::future::{Future, Ready, ready};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bulklink::plumbing;
use bulklink::testing::{Executor, FakeClock, Task};
use bulklink::{ExecuteError, ExecuteFallibleOwned, ExecuteOwned, Partitions, Reason, Request};

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
fn the_fast_path_alone_takes_a_free_slot_or_does_nothing() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    drop(bulkhead.try_slot().expect("free"));
    assert_eq!(plumbing::take_free_owned(&bulkhead).is_some(), HAS_FAST_PATH);

    let running = bulkhead.try_slot().expect("given back");
    let before = bulkhead.status().totals;
    assert!(plumbing::take_free_owned(&bulkhead).is_none());
    assert_eq!(bulkhead.status().totals, before, "nothing is rejected or counted");
    let waiting = executor.spawn(bulkhead.owned().slot());
    executor.run_until_idle();
    drop(running);
    assert!(plumbing::take_free_owned(&bulkhead).is_none(), "it overtakes no waiter");
    executor.run_until_idle();
    assert!(waiting.output().expect("admitted").is_ok());
}

const HAS_FAST_PATH: bool = !cfg!(bulklink_lock_only);

#[test]
fn the_fast_path_alone_decides_a_call_or_leaves_it_to_the_first_poll() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    drop(bulkhead.try_slot().expect("free"));
    let mut free = bulkhead.owned().slot();
    assert_eq!(plumbing::decide(&mut free).is_some_and(|answer| answer.is_ok()), HAS_FAST_PATH);
    drop(free);

    let running = bulkhead.try_slot().expect("given back");
    let before = bulkhead.status().totals;
    let mut waiting = bulkhead.owned().slot();
    assert!(plumbing::decide(&mut waiting).is_none(), "there is room to wait");
    assert_eq!(bulkhead.status().totals, before, "nothing has changed");
    let waiting = executor.spawn(waiting);
    executor.run_until_idle();

    let mut rejected = bulkhead.owned().slot();
    let answer = plumbing::decide(&mut rejected);
    assert_eq!(answer.is_some(), HAS_FAST_PATH);
    let rejection = match answer {
        Some(answer) => answer.expect_err("the room is full"),
        None => executor.block_on(rejected).expect_err("the room is full"),
    };
    assert_eq!(rejection.reason(), Reason::Saturated);
    assert_eq!(bulkhead.status().totals.rejected(), 1);
    drop(running);
    executor.run_until_idle();
    assert!(waiting.output().expect("admitted").is_ok());
}

#[test]
fn a_call_that_the_fast_path_rejects_leaves_its_partition() {
    let executor = executor();
    let builder = Partitions::builder_on(executor.clock(), "tenants").parallelism(1).waiting_room(0);
    let tenants: Partitions<u32, _> = builder.max_partitions(1).build().expect("valid");
    drop(tenants.key(&1).try_slot().expect("free"));
    let running = tenants.key(&1).try_slot().expect("free");
    let mut future = tenants.key(&1).slot();
    assert_eq!(plumbing::decide(&mut future).is_some_and(|answer| answer.is_err()), HAS_FAST_PATH);
    drop((running, future));
    assert!(tenants.key(&2).try_slot().is_ok(), "the first partition is idle, and makes way");
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
    let running = bulkhead.owned().try_slot().expect("free");
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
            assert_eq!(bulkhead.with(Request::new().now()).execute(async { 8 }).await, Ok(8));
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
    let now = executor.spawn(bulkhead.with(Request::new().now()).slot());
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
fn a_rejected_call_never_calls_its_wrapped_function() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let wrapped = bulkhead.wrap(move |()| {
        counted.fetch_add(1, SeqCst);
        async {}
    });
    let running = bulkhead.owned().try_slot().expect("free");
    let [waiting, rejected] = [wrapped.clone(), wrapped].map(|wrapped| {
        let call = executor.spawn(async move { wrapped.call(()).await });
        executor.run_until_idle();
        call
    });
    assert_eq!(rejected.output().expect("there is no room").expect_err("rejected").reason(), Reason::Saturated);
    assert_eq!(calls.load(SeqCst), 0, "neither the rejected call nor the waiting one");
    drop(running);
    executor.run_until_idle();
    assert_eq!((waiting.output(), calls.load(SeqCst)), (Some(Ok(())), 1));
}

#[test]
fn a_wrapped_function_asks_with_its_request_anew_at_each_call() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let wrapped = bulkhead.with(Request::new().deadline_after(ms(10))).wrap(async |()| "done");
    executor.advance(ms(50));
    let running = bulkhead.owned().try_slot().expect("free");
    let [first, second] =
        [wrapped.clone(), wrapped].map(|wrapped| executor.spawn(async move { wrapped.call(()).await }));
    executor.run_until_idle();
    assert!(!first.is_finished(), "its time counts from the call");
    assert_eq!(second.output().expect("there is no room").expect_err("rejected").reason(), Reason::Saturated);
    drop(running);
    executor.run_until_idle();
    assert_eq!(first.output(), Some(Ok("done")));
}

/// As in a `tower` service, which names the type of its future, and in a task.
#[test]
fn the_future_of_an_owned_call_has_a_name_and_can_be_spawned() {
    struct Calls {
        plain: ExecuteOwned<Ready<u8>, FakeClock>,
        fallible: ExecuteFallibleOwned<Ready<Result<u8, &'static str>>, FakeClock>,
        keyed: ExecuteOwned<Ready<u8>, FakeClock>,
    }
    fn spawn<T: Send + 'static>(executor: &mut Executor, call: impl Future<Output = T> + Send + 'static) -> Task<T> {
        executor.spawn(call)
    }

    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let keys = Partitions::<u8, _>::builder_on(executor.clock(), "keys").parallelism(1).max_partitions(1).build();
    let calls = Calls {
        plain: bulkhead.owned().execute(ready(1)),
        fallible: bulkhead.owned().execute_fallible(ready(Err("failed"))),
        keyed: keys.expect("valid").key(&1).execute(ready(3)),
    };
    let too_much = bulkhead.with(Request::new().cost(2)).execute_fallible(ready(Ok::<_, ()>(4)));
    let running = bulkhead.owned().try_slot().expect("free");
    let plain = spawn(&mut executor, calls.plain);
    executor.run_until_idle();
    assert!(!plain.is_finished(), "it waits");
    drop(running);
    let (fallible, keyed) = (spawn(&mut executor, calls.fallible), spawn(&mut executor, calls.keyed));
    let too_much = spawn(&mut executor, too_much);
    executor.run_until_idle();
    assert_eq!((plain.output(), keyed.output()), (Some(Ok(1)), Some(Ok(3))));
    assert_eq!(fallible.output(), Some(Err(ExecuteError::Operation("failed"))));
    let Some(Err(ExecuteError::Rejected(rejection))) = too_much.output() else { panic!("it costs too much") };
    assert_eq!(rejection.reason(), Reason::InvalidCost);
    assert_eq!(bulkhead.status().in_flight, 0);
}

#[test]
fn every_method_applies_its_request() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(3).waiting_room(5).build().expect("valid");
    let two = Request::new().cost(2);
    assert_eq!(bulkhead.with(two).try_slot().expect("free").cost(), 2);
    let in_use = executor.block_on({
        let bulkhead = bulkhead.clone();
        async move {
            let observe = || async { Ok::<_, String>(bulkhead.status().in_use) };
            let owned = bulkhead.with(two).slot().await.expect("free").cost();
            let borrowed = bulkhead.with(two).slot().await.expect("free").cost();
            let executed =
                bulkhead.with(two).execute(observe()).await.expect("free").expect("the operation cannot fail");
            let fallible = bulkhead.with(two).execute_fallible(observe()).await.expect("free");
            let spawned = bulkhead.with(two).execute(observe()).await.expect("free").expect("it cannot fail");
            [owned, borrowed, executed, fallible, spawned]
        }
    });
    assert_eq!(in_use, [2; 5]);
}

#[test]
fn an_operation_that_may_not_wait_never_does() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let _running = bulkhead.owned().try_slot().expect("free");
    let tried = executor.spawn(async move { bulkhead.with(Request::new().now()).execute(async {}).await });
    executor.run_until_idle();
    assert_eq!(tried.output().expect("completed immediately").expect_err("taken").reason(), Reason::Saturated);
}
