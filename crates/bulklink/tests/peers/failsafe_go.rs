//! failsafe-go: `bulkhead/bulkhead_test.go`, `test/bulkhead_test.go`.

use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, EventKind, Reason, Request};

use crate::{bulkhead, free, kinds, ms, refused, take};

/// failsafe-go `TestAcquirePermit`, `should AcquirePermit after wait`.
#[test]
fn a_call_waits_until_a_slot_is_released_and_knows_how_long() {
    let mut executor = Executor::new(FakeClock::new());
    let clock = executor.clock();
    let builder = Bulkhead::builder_on(clock.clone(), "test").parallelism(2).waiting_room(1);
    let bulkhead = builder.wait_limit(ms(1_000)).build().expect("valid");
    let running = (take(&bulkhead, 1), take(&bulkhead, 1));
    executor.spawn(async move {
        clock.sleep(ms(200)).await;
        drop(running);
    });
    let waiting = executor.spawn(bulkhead.owned().slot());
    executor.advance(ms(199));
    assert!(!waiting.is_finished());
    executor.advance(ms(1));
    let slot = waiting.output().expect("released").expect("admitted");
    assert_eq!((slot.waited(), free(&bulkhead)), (ms(200), 1));
}

/// failsafe-go `TestAcquirePermitWithMaxWaitTime`, `with maxWaitTime exceeded`: it reports the
/// bulkhead as full. Here a wait that ends is no full queue: each has its own reason.
#[test]
fn a_wait_that_ends_and_a_full_room_have_different_reasons() {
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = bulkhead(&executor.clock(), 1, 1);
    let limited = Request::new().within(ms(100));
    let admitted = executor.spawn(bulkhead.with(limited).slot());
    let expired = executor.spawn(bulkhead.with(limited).slot());
    let full = executor.spawn(bulkhead.with(limited).slot());
    executor.advance(ms(100));
    let _running = admitted.output().expect("free").expect("admitted");
    let reason =
        |task: &bulklink::testing::Task<crate::Answer>| task.output().expect("ended").expect_err("rejected").reason();
    assert_eq!((reason(&expired), reason(&full)), (Reason::Expired, Reason::Saturated));
}

/// failsafe-go `TestTryAcquirePermitAndReleasePermit`.
#[test]
fn as_many_tries_succeed_as_slots_were_released() {
    let bulkhead = bulkhead(&FakeClock::new(), 2, 0);
    let mut running = vec![take(&bulkhead, 1), take(&bulkhead, 1)];
    for released in [1, 2] {
        assert_eq!(refused(&bulkhead, 1), Reason::Saturated);
        running.truncate(2 - released);
        running.extend((0..released).map(|_| take(&bulkhead, 1)));
    }
    assert_eq!(refused(&bulkhead, 1), Reason::Saturated);
}

/// failsafe-go `when not full`, `when full`: a rejected operation does not run, and one event
/// reports so.
#[test]
fn an_operation_runs_exactly_if_it_is_admitted() {
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = bulkhead(&executor.clock(), 2, 0);
    let log = kinds(&bulkhead);
    let clone = bulkhead.clone();
    assert_eq!(executor.block_on(async move { clone.execute(async { "ran" }).await }), Ok("ran"));
    let _running = (take(&bulkhead, 1), take(&bulkhead, 1));
    let clone = bulkhead.clone();
    let operation = async { unreachable!("the bulkhead is full") };
    let rejected = executor.block_on(async move { clone.execute(operation).await });
    let rejection = rejected.map(|never: ()| never).expect_err("full");
    assert_eq!(rejection.reason(), Reason::Saturated);
    let saturated = log.lock().expect("no panic").iter().filter(|&&kind| kind == EventKind::Saturated).count();
    assert_eq!(saturated, 1);
}

/// failsafe-go `with short maxWaitTime`.
#[test]
fn the_shortest_limit_still_lets_a_call_take_a_free_slot() {
    let mut executor = Executor::new(FakeClock::new());
    let nanosecond = std::time::Duration::from_nanos(1);
    let builder = Bulkhead::builder_on(executor.clock(), "test").parallelism(1).waiting_room(1);
    let bulkhead = builder.wait_limit(nanosecond).build().expect("valid");
    let done = executor.block_on(async move { bulkhead.execute(async { "ran" }).await });
    assert_eq!(done, Ok("ran"));
}
