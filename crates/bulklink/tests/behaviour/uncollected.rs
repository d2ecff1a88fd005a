//! Slots that were handed to a waiting call, and are not collected.

use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant};
use bulklink::testing::Executor;
use bulklink::{Builder, Bulkhead, EventFilter, EventKind, Partitions, Reason, Rejection, Request};
use futures_util::FutureExt;

use crate::driver::{Background, Call};
use crate::{TestBulkhead, builder, call, executor, ms, recorder, taken};

/// Returns a bulkhead with one slot on a runtime with drivers, and an executor for these.
fn setup(
    options: impl FnOnce(Builder<Background>) -> Builder<Background>,
) -> (Background, Executor, Bulkhead<Background>) {
    let background = Background::default();
    let builder = Bulkhead::builder_on(background.clone(), "db").parallelism(1).waiting_room(9);
    let bulkhead = options(builder).build().expect("valid");
    (background.clone(), Executor::new(background.clock()), bulkhead)
}

fn poll(call: &mut Call) -> Poll<Result<bulklink::OwnedSlot, Rejection>> {
    call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a call that was polled once, and waits.
fn queued(bulkhead: &Bulkhead<Background>) -> Call {
    let mut call = Box::pin(bulkhead.owned().slot());
    assert!(poll(&mut call).is_pending());
    call
}

fn rejection(call: &mut Call) -> Rejection {
    let Poll::Ready(Err(rejection)) = poll(call) else { panic!("not rejected") };
    rejection
}

fn is_admitted(call: &mut Call) -> bool {
    matches!(poll(call), Poll::Ready(Ok(_)))
}

/// The status of a bulkhead: slots that are not collected, their units, and the age of the oldest.
fn uncollected(bulkhead: &TestBulkhead) -> (usize, usize, Option<Duration>) {
    let status = bulkhead.status();
    (status.uncollected, status.uncollected_units, status.oldest_uncollected())
}

#[test]
fn a_status_counts_the_slots_that_are_not_collected() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(4).waiting_room(3).build().expect("valid");
    let running = [1, 3].map(|cost| bulkhead.with(Request::new().cost(cost)).try_slot().expect("free"));
    let calls = [1, 2, 1].map(|cost| executor.spawn(bulkhead.with(Request::new().cost(cost)).slot()));
    executor.run_until_idle();
    assert_eq!(uncollected(&bulkhead), (0, 0, None));
    let [light, heavy] = running;
    drop(light);
    executor.clock().advance(ms(5));
    drop(heavy);
    executor.clock().advance(ms(7));
    assert_eq!(uncollected(&bulkhead), (3, 4, Some(ms(12))));
    calls[0].cancel();
    assert_eq!(uncollected(&bulkhead), (2, 3, Some(ms(7))));
    executor.run_until_idle();
    assert_eq!((uncollected(&bulkhead), bulkhead.status().in_flight), ((0, 0, None), 2));
}

#[test]
fn the_age_is_unknown_where_the_wait_is_not_measured() {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(1).waiting_room(1).measure_waits(false);
    let bulkhead = builder.build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let _waiting = call(&mut executor, &bulkhead);
    drop(running);
    executor.clock().advance(ms(7));
    assert_eq!(uncollected(&bulkhead), (1, 1, None));
    assert_eq!(bulkhead.handle().take_back_uncollected(Duration::ZERO), 0);
}

#[test]
fn a_slot_that_is_not_collected_goes_to_the_next_call_in_time() {
    let (background, mut executor, bulkhead) = setup(|builder| builder.collect_limit(ms(100)));
    let running = bulkhead.try_slot().expect("free");
    background.advance(&mut executor, ms(30));
    let (mut forgotten, mut next) = (queued(&bulkhead), queued(&bulkhead));
    background.advance(&mut executor, ms(60));
    drop(running);
    background.advance(&mut executor, ms(99));
    assert_eq!((bulkhead.status().uncollected, bulkhead.status().waiting), (1, 1));
    background.advance(&mut executor, ms(1));
    let rejection = rejection(&mut forgotten);
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Uncollected, ms(60)));
    assert_eq!((rejection.uncollected(), rejection.limit()), (Some(ms(100)), None));
    let text = "bulkhead db: uncollected for 100 ms, as its future was not polled or its executor was blocked";
    assert_eq!(rejection.to_string(), text);
    assert!(is_admitted(&mut next));
    let status = bulkhead.status();
    assert_eq!((status.taken_back, status.totals.abandoned, status.totals.rejected()), (1, 1, 0));
    assert_eq!((status.in_flight, status.uncollected, status.totals.finished), (0, 0, 2));
}

#[test]
fn each_slot_has_its_own_time() {
    let (background, mut executor, bulkhead) = setup(|builder| builder.parallelism(2).collect_limit(ms(100)));
    let running = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let mut calls = [(); 4].map(|()| queued(&bulkhead));
    for slot in running {
        background.advance(&mut executor, ms(40));
        drop(slot);
    }
    for (passed, taken_back) in [(59, 0), (1, 1), (39, 1), (1, 2), (59, 2), (1, 3), (39, 3), (1, 4)] {
        background.advance(&mut executor, ms(passed));
        assert_eq!(bulkhead.status().taken_back, taken_back);
    }
    assert!(calls.iter_mut().all(|call| rejection(call).uncollected() == Some(ms(100))));
    background.advance(&mut executor, ms(100));
    assert_eq!(executor.clock().next_timer(), None, "the driver has ended");
}

#[test]
fn a_slot_that_is_collected_in_time_stays() {
    let (background, mut executor, bulkhead) = setup(|builder| builder.collect_limit(ms(100)));
    let running = bulkhead.try_slot().expect("free");
    let (mut patient, mut next) = (queued(&bulkhead), queued(&bulkhead));
    background.advance(&mut executor, ms(500));
    assert!(poll(&mut patient).is_pending(), "only slots are limited, not waits");
    drop(running);
    background.advance(&mut executor, ms(99));
    let Poll::Ready(Ok(slot)) = poll(&mut patient) else { panic!("not admitted") };
    background.advance(&mut executor, ms(500));
    assert!(poll(&mut next).is_pending() && bulkhead.status().taken_back == 0);
    drop(slot);
    assert!(is_admitted(&mut next));
}

#[test]
fn a_limit_on_the_wait_is_as_exact_as_without_it() {
    let (background, mut executor, bulkhead) = setup(|builder| builder.collect_limit(ms(7)).wait_limit(ms(30)));
    let _running = bulkhead.try_slot().expect("free");
    let _waiting = queued(&bulkhead);
    background.advance(&mut executor, ms(29));
    assert_eq!(bulkhead.status().waiting, 1);
    background.advance(&mut executor, ms(1));
    assert_eq!((bulkhead.status().waiting, bulkhead.status().totals.expired), (0, 1));
}

#[test]
fn closing_ends_although_a_slot_is_not_collected() {
    let (background, mut executor, bulkhead) = setup(|builder| builder.collect_limit(ms(100)));
    let running = bulkhead.try_slot().expect("free");
    let mut forgotten = queued(&bulkhead);
    drop(running);
    let closing = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.close_and_wait().await }
    });
    background.advance(&mut executor, ms(99));
    assert!(!closing.is_finished());
    background.advance(&mut executor, ms(1));
    assert!(closing.is_finished() && bulkhead.status().is_drained());
    assert_eq!(rejection(&mut forgotten).reason(), Reason::Uncollected);
}

/// Returns a bulkhead on a runtime without drivers. Its one slot has just been handed to a call
/// that has 10 ms to collect it, and does not.
fn without_drivers() -> (Executor, TestBulkhead, crate::Call) {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(1).waiting_room(1).collect_limit(ms(10));
    let bulkhead = builder.build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let forgotten = call(&mut executor, &bulkhead);
    drop(running);
    (executor, bulkhead, forgotten)
}

#[test]
fn without_drivers_the_next_call_takes_the_slot_back() {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(2).waiting_room(3).collect_limit(ms(10));
    let bulkhead = builder.build().expect("valid");
    let [one, other] = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let forgotten = [(); 2].map(|()| call(&mut executor, &bulkhead));
    drop(one);
    executor.clock().advance(ms(10));
    drop(other);
    assert_eq!(bulkhead.status().taken_back, 1, "a release takes it back, too");
    executor.clock().advance(ms(10));
    let next = [bulkhead.try_slot(), bulkhead.try_slot()];
    assert!(next.iter().all(Result::is_ok));
    assert_eq!(bulkhead.status().taken_back, 2);
    executor.run_until_idle();
    assert!(forgotten.iter().all(|call| crate::reason(call) == Reason::Uncollected));
}

#[test]
fn a_limit_on_the_wait_that_comes_before_the_next_look_is_in_time() {
    let hour = Duration::from_hours(1);
    for wait_limit in [Duration::from_secs(10), Duration::MAX] {
        let (background, mut executor, bulkhead) = setup(|builder| builder.collect_limit(hour).wait_limit(wait_limit));
        let _running = bulkhead.try_slot().expect("free");
        let _patient = queued(&bulkhead);
        background.advance(&mut executor, ms(1));
        let deadline = background.now() + ms(10);
        let requests = [Request::new().within(ms(5)), Request::new().deadline(deadline).leaving(ms(5))];
        let mut limited = requests.map(|request| Box::pin(bulkhead.with(request).slot()));
        assert!(limited.iter_mut().all(|call| poll(call).is_pending()));
        background.advance(&mut executor, ms(5));
        assert_eq!(bulkhead.status().totals.expired, 2);
    }
}

#[test]
fn a_call_with_an_invalid_cost_leaves_no_slot_free_beside_a_waiter() {
    let mut executor = executor();
    let builder = builder(&executor).capacity(1).waiting_room(3).collect_limit(ms(10));
    let bulkhead = builder.build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let (_forgotten, next) = (call(&mut executor, &bulkhead), call(&mut executor, &bulkhead));
    drop(running);
    executor.clock().advance(ms(10));
    let rejection = bulkhead.with(Request::new().cost(2)).try_slot().expect_err("too much");
    assert_eq!(rejection.reason(), Reason::InvalidCost);
    let status = bulkhead.status();
    assert_eq!((status.taken_back, status.waiting, status.in_use), (1, 0, 1));
    executor.run_until_idle();
    assert!(next.is_finished());
}

#[test]
fn without_drivers_a_call_that_may_not_wait_takes_the_slot_back() {
    let (executor, bulkhead, _forgotten) = without_drivers();
    executor.clock().advance(ms(9));
    assert_eq!(bulkhead.try_slot().expect_err("handed over").reason(), Reason::Saturated);
    executor.clock().advance(ms(1));
    drop(bulkhead.try_slot().expect("taken back"));
}

#[test]
fn without_drivers_a_call_that_finds_the_room_full_takes_the_slot_back() {
    let (executor, bulkhead, _forgotten) = without_drivers();
    let mut waiting = Box::pin(bulkhead.owned().slot());
    assert!(waiting.as_mut().now_or_never().is_none());
    executor.clock().advance(ms(9));
    assert!(bulkhead.owned().slot().now_or_never().is_some_and(|outcome| outcome.is_err()));
    executor.clock().advance(ms(1));
    assert!(bulkhead.owned().slot().now_or_never().is_none(), "the room has a place again");
    assert!(waiting.now_or_never().is_some_and(|outcome| outcome.is_ok()));
}

#[test]
fn without_drivers_closing_takes_back_what_is_too_old() {
    let (executor, bulkhead, _forgotten) = without_drivers();
    executor.clock().advance(ms(10));
    bulkhead.close();
    assert!(bulkhead.status().is_drained());
}

#[test]
fn when_the_runtime_of_the_driver_ends_another_one_takes_the_slot_back() {
    let (background, mut executor, bulkhead) = setup(|builder| builder.collect_limit(ms(100)));
    let running = bulkhead.try_slot().expect("free");
    let (_forgotten, next) = (queued(&bulkhead), executor.spawn(bulkhead.owned().slot()));
    executor.run_until_idle();
    background.end_runtime();
    drop(running);
    background.advance(&mut executor, ms(99));
    assert!(!next.is_finished());
    background.advance(&mut executor, ms(1));
    assert!(next.is_finished());
}

#[test]
fn a_runtime_that_refuses_drivers_is_asked_once() {
    let (background, _, bulkhead) = setup(|builder| builder.collect_limit(ms(100)).wait_limit(ms(50)));
    background.refuse_drivers();
    let _running = bulkhead.try_slot().expect("free");
    let _waiting = queued(&bulkhead);
    assert_eq!(background.spawns(), 1);
}

#[test]
fn a_limit_of_any_length_is_possible() {
    let nanos = Duration::from_nanos;
    for limit in [ms(1), nanos(u64::MAX - 2), nanos(u64::MAX - 1), nanos(u64::MAX), Duration::MAX] {
        let (background, mut executor, bulkhead) = setup(|builder| builder.collect_limit(limit));
        let running = bulkhead.try_slot().expect("free");
        let (mut first, _next) = (queued(&bulkhead), queued(&bulkhead));
        background.advance(&mut executor, ms(5));
        drop(running);
        background.advance(&mut executor, ms(5));
        assert_eq!(is_admitted(&mut first), limit > ms(5));
        assert_eq!(bulkhead.handle().take_back_uncollected(Duration::MAX), 0);
    }
}

#[test]
fn without_drivers_a_waiting_call_that_is_polled_takes_the_slot_back() {
    let executor = executor();
    let builder = builder(&executor).parallelism(1).waiting_room(3).collect_limit(ms(10));
    let bulkhead = builder.build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let mut context = Context::from_waker(Waker::noop());
    let mut calls = [Request::new(), Request::new().within(ms(30))].map(|request| {
        let mut call = Box::pin(bulkhead.with(request).slot());
        assert!(call.as_mut().poll(&mut context).is_pending());
        call
    });
    drop(running);
    executor.clock().advance(ms(10));
    assert!(matches!(calls[1].as_mut().poll(&mut context), Poll::Ready(Ok(_))));
}

#[test]
fn a_deadline_that_never_comes_is_none() {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(1).waiting_room(3).collect_limit(ms(10));
    let bulkhead = builder.build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let never = executor.spawn(bulkhead.with(Request::new().deadline(Instant::FAR_FUTURE)).slot());
    executor.run_until_idle();
    never.cancel();
    assert_eq!(bulkhead.status().reserve(), Duration::ZERO, "no call with a deadline has come");
    drop(running);
}

#[test]
fn an_operator_takes_back_the_slots_of_an_age() {
    let mut executor = executor();
    let bulkhead = crate::bulkhead(&executor, 2, 3);
    let [one, other] = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let forgotten = [(); 3].map(|()| call(&mut executor, &bulkhead));
    drop(one);
    executor.clock().advance(ms(10));
    drop(other);
    executor.clock().advance(ms(5));
    assert_eq!(bulkhead.handle().take_back_uncollected(ms(16)), 0);
    assert_eq!(bulkhead.handle().take_back_uncollected(ms(15)), 1);
    assert_eq!((bulkhead.status().uncollected, bulkhead.status().waiting), (2, 0), "the third call has it now");
    assert_eq!(bulkhead.handle().take_back_uncollected(Duration::ZERO), 2);
    executor.run_until_idle();
    assert!(forgotten.iter().all(|call| crate::reason(call) == Reason::Uncollected));
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().taken_back), (0, 3));
}

#[test]
fn a_call_that_is_dropped_after_its_slot_was_taken_back_counts_once() {
    let mut executor = executor();
    let bulkhead = crate::bulkhead(&executor, 1, 3);
    let running = bulkhead.try_slot().expect("free");
    let forgotten = call(&mut executor, &bulkhead);
    drop(running);
    assert_eq!(bulkhead.handle().take_back_uncollected(Duration::ZERO), 1);
    forgotten.cancel();
    let status = bulkhead.status();
    assert_eq!((status.taken_back, status.totals.abandoned, status.totals.admitted), (1, 1, 2));
    drop(bulkhead.try_slot().expect("free"));
}

#[test]
fn an_event_says_that_a_slot_was_taken_back() {
    let mut executor = executor();
    let bulkhead = crate::bulkhead(&executor, 1, 3);
    let running = bulkhead.try_slot().expect("free");
    let _forgotten = call(&mut executor, &bulkhead);
    let (log, handler) = recorder(|event| (event.kind, event.cost(), event.waited(), event.occupancy.in_flight()));
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    executor.clock().advance(ms(3));
    drop(running);
    executor.clock().advance(ms(4));
    bulkhead.handle().take_back_uncollected(ms(4));
    let kinds = taken(&log);
    assert_eq!(kinds.last(), Some(&(EventKind::Uncollected, Some(1), Some(ms(3)), 0)));
    assert_eq!(kinds.len(), 3);
}

#[test]
fn each_partition_takes_back_its_own_slots() {
    let background = Background::default();
    let mut executor = Executor::new(background.clock());
    let builder = Partitions::<&str, _>::builder_on(background.clone(), "tenants").max_partitions(2);
    let tenants = builder.parallelism(1).waiting_room(2).collect_limit(ms(10)).build().expect("valid");
    let running = tenants.key(&"ann").try_slot().expect("free");
    let mut calls = [(); 2].map(|()| Box::pin(tenants.key(&"ann").slot()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(calls.iter_mut().all(|call| call.as_mut().poll(&mut context).is_pending()));
    drop(running);
    background.advance(&mut executor, ms(10));
    let [mut forgotten, mut next] = calls;
    let Poll::Ready(Err(rejection)) = forgotten.as_mut().poll(&mut context) else { panic!("not rejected") };
    assert_eq!(rejection.reason(), Reason::Uncollected);
    assert!(matches!(next.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
}

#[test]
fn a_limit_that_cannot_be_meant_is_refused() {
    let refused = |options: fn(Builder<Background>) -> Builder<Background>| {
        let builder = Bulkhead::builder_on(Background::default(), "db").parallelism(1);
        options(builder).build().expect_err("invalid").to_string()
    };
    assert_eq!(
        refused(|builder| builder.collect_limit(Duration::ZERO)),
        "bulkhead db: collect_limit must be longer than zero, got 0 s"
    );
    assert_eq!(
        refused(|builder| builder.collect_limit(ms(1)).measure_waits(false)),
        "bulkhead db: measure_waits must be true for collect_limit, got false"
    );
    assert_eq!(
        refused(|builder| builder.measure_holds(true).measure_waits(false)),
        "bulkhead db: measure_waits must be true for measure_holds, got false"
    );
}
