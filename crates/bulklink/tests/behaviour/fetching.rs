//! Calls that find no unit under a ceiling wait for it to be raised.

use bulklink::testing::Executor;
use bulklink::{Bulkhead, Reason, Request};

use crate::{Call, TestBulkhead, bulkhead, executor, ms, reason, slot};

/// Makes a call that may not wait.
fn call_now(executor: &mut Executor, bulkhead: &TestBulkhead, units: usize) -> Call {
    let call = executor.spawn(bulkhead.with(Request::new().now().cost(units)).slot());
    executor.run_until_idle();
    call
}

#[test]
fn a_call_that_may_not_wait_waits_for_a_higher_ceiling() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 0);
    let share = bulkhead.handle().ceiling("share");
    share.set_fetch(ms(10));
    share.set(1);
    let first = slot(&call_now(&mut executor, &bulkhead, 1));
    let [raised, late] = [(); 2].map(|()| call_now(&mut executor, &bulkhead, 1));
    assert!(!raised.is_finished() && !late.is_finished());
    assert_eq!(bulkhead.status().waiting, 2);
    // In use and waited for, that is the whole capacity.
    let beyond = call_now(&mut executor, &bulkhead, 1);
    assert_eq!(reason(&beyond), Reason::Saturated);
    assert_eq!(share.set(2), 1);
    executor.run_until_idle();
    let second = slot(&raised);
    executor.advance(ms(9));
    assert!(!late.is_finished());
    executor.advance(ms(1));
    let rejection = late.output().expect("its time is over").expect_err("no unit");
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, ms(10)));
    assert_eq!(rejection.restriction().map(|it| (it.by, it.units)), Some(("share", 2)));
    drop((first, second));
    let totals = bulkhead.status().totals;
    assert_eq!((totals.admitted, totals.saturated, totals.expired, totals.queued), (2, 1, 1, 2));
}

#[test]
fn a_slot_that_is_given_back_ends_the_wait_too() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 0);
    let share = bulkhead.handle().ceiling("share");
    share.set_fetch(ms(10));
    share.set(1);
    let first = slot(&call_now(&mut executor, &bulkhead, 1));
    let second = call_now(&mut executor, &bulkhead, 1);
    drop(first);
    executor.run_until_idle();
    drop(slot(&second));
    assert_eq!(bulkhead.status().in_use, 0);
}

#[test]
fn what_must_not_wait_decides_immediately() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 0);
    let share = bulkhead.handle().ceiling("share");
    share.set_fetch(ms(10));
    share.set(0);
    assert_eq!(bulkhead.try_slot().expect_err("none is free").reason(), Reason::Saturated);
    let waiting = call_now(&mut executor, &bulkhead, 1);
    assert_eq!(bulkhead.owned().try_slot().expect_err("none is free").reason(), Reason::Saturated);
    let zero = executor.spawn(bulkhead.within(ms(0)).slot());
    executor.run_until_idle();
    assert_eq!(reason(&zero), Reason::Expired);
    assert!(!waiting.is_finished());
    // While the bulkhead is paused, no ceiling keeps a call out.
    bulkhead.pause();
    assert_eq!(reason(&call_now(&mut executor, &bulkhead, 1)), Reason::Saturated);
    bulkhead.resume();
}

#[test]
fn other_ceilings_and_the_capacity_leave_room_for_it_or_not() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 4, 0);
    let [share, adaptive] = ["share", "adaptive"].map(|by| bulkhead.handle().ceiling(by));
    share.set_fetch(ms(10));
    share.set(1);
    adaptive.set(2);
    assert_eq!(reason(&call_now(&mut executor, &bulkhead, 3)), Reason::Saturated);
    let waiting = call_now(&mut executor, &bulkhead, 2);
    assert!(!waiting.is_finished());
    assert_eq!(reason(&call_now(&mut executor, &bulkhead, 1)), Reason::Saturated);
    drop(waiting);
    executor.run_until_idle();
    // A ceiling for which no call waits is the least.
    adaptive.set(0);
    assert_eq!(reason(&call_now(&mut executor, &bulkhead, 1)), Reason::Saturated);
    adaptive.lift();
    share.set_fetch(ms(0));
    share.set(0);
    assert_eq!(reason(&call_now(&mut executor, &bulkhead, 1)), Reason::Saturated);
    // Nor is one that is gone.
    share.set_fetch(ms(10));
    drop(share);
    let all = slot(&call_now(&mut executor, &bulkhead, 4));
    assert_eq!(reason(&call_now(&mut executor, &bulkhead, 1)), Reason::Saturated);
    drop(all);
}

#[test]
fn calls_that_find_the_waiting_room_full_wait_too() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 4, 1);
    let share = bulkhead.handle().ceiling("share");
    share.set_fetch(ms(10));
    share.set(0);
    let calls = [(); 4].map(|()| crate::call(&mut executor, &bulkhead));
    assert_eq!(reason(&crate::call(&mut executor, &bulkhead)), Reason::Saturated);
    executor.advance(ms(10));
    // The first has a place in the waiting room, and waits on.
    assert_eq!(calls.each_ref().map(Call::is_finished), [false, true, true, true]);
    assert_eq!(share.set(1), 1);
    executor.run_until_idle();
    drop(slot(&calls[0]));
}

#[test]
fn operations_and_tasks_wait_too() {
    let mut executor = executor();
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "test").parallelism(3).build().expect("valid");
    let share = bulkhead.handle().ceiling("share");
    share.set_fetch(ms(10));
    share.set(0);
    let operation = bulkhead.clone();
    let executed = executor.spawn(async move { operation.with(Request::new().now()).execute(async { 7 }).await.ok() });
    let submitted = bulkhead.with(Request::new().now()).submit(async { 8 }).expect("it waits");
    let submitted = executor.spawn(async move { submitted.await.ok() });
    executor.run_until_idle();
    assert!(!executed.is_finished() && !submitted.is_finished());
    share.set(2);
    executor.run_until_idle();
    assert_eq!((executed.output(), submitted.output()), (Some(Some(7)), Some(Some(8))));
}
