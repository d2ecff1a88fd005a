//! Deadlines of whole calls: the wait leaves time for the operation.
//!
//! The reserves here are 40 ms, which a request stores without rounding.

use std::future::{Future, pending};
use std::task::{Context, Waker};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant};
use bulklink::testing::Executor;
use bulklink::{OwnedSlot, Reason, Request, Reserve};

use crate::{Call, TestBulkhead, builder, executor, ms, reason, slot};

const FIXED: Reserve = Reserve::Fixed(Duration::from_millis(40));

fn setup(reserve: Reserve) -> (Executor, TestBulkhead) {
    let executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(3).reserve(reserve).build().expect("valid");
    (executor, bulkhead)
}

/// A request with this much time for the whole call.
fn until(executor: &Executor, time: Duration) -> Request<Instant> {
    Request::new().deadline(executor.clock().now() + time)
}

/// Spawns a call, and polls it once.
fn call(executor: &mut Executor, bulkhead: &TestBulkhead, request: Request<Instant>) -> Call {
    let call = executor.spawn(bulkhead.with(request).slot());
    executor.run_until_idle();
    call
}

/// Returns how long a call with this request waits for a slot that is never free.
fn wait_of(executor: &mut Executor, bulkhead: &TestBulkhead, request: Request<Instant>) -> Duration {
    let _running = bulkhead.try_slot().expect("free");
    let waiting = call(executor, bulkhead, request);
    executor.advance(ms(10_000));
    let rejection = waiting.output().expect("the time is over").expect_err("too late");
    assert_eq!(rejection.reason(), Reason::Expired);
    rejection.limit().expect("it expired")
}

#[test]
fn a_wait_leaves_the_reserve_to_the_operation() {
    let (mut executor, bulkhead) = setup(FIXED);
    let _running = bulkhead.try_slot().expect("free");
    let request = until(&executor, ms(100));
    let waiting = call(&mut executor, &bulkhead, request);
    executor.advance(ms(59));
    assert!(!waiting.is_finished());
    executor.advance(ms(1));
    let rejection = waiting.output().expect("the wait is over").expect_err("too late");
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, ms(60)));
    assert_eq!((rejection.limit(), rejection.kept()), (Some(ms(60)), Some(ms(40))));
    let text = "bulkhead test: expired after 60 ms of 60 ms, with 40 ms kept for the call itself \
                (1 of 1 in use, 0 of 3 waiting)";
    assert_eq!(rejection.to_string(), text);
}

#[test]
fn a_free_slot_is_granted_with_whatever_time_is_left() {
    let (executor, bulkhead) = setup(FIXED);
    let slot = bulkhead.with(until(&executor, ms(1))).try_slot().expect("free");
    assert_eq!(bulkhead.status().in_flight, 1);
    drop(slot);
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().ended_late), (0, 0));
}

#[test]
fn a_past_deadline_expires_immediately_though_a_slot_is_free() {
    let (executor, bulkhead) = setup(FIXED);
    let rejection = bulkhead.with(until(&executor, ms(0))).try_slot().expect_err("past");
    assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(ms(0))));
    assert_eq!(rejection.kept(), None);
}

#[test]
fn five_percent_of_the_time_may_always_be_waited() {
    let (mut executor, bulkhead) = setup(Reserve::Fixed(ms(1_000)));
    let request = until(&executor, ms(100));
    let wait = wait_of(&mut executor, &bulkhead, request);
    assert!(wait > ms(5) && wait < Duration::from_micros(5_100), "{wait:?}");
}

#[test]
fn without_a_reserve_a_call_waits_up_to_its_deadline() {
    let (mut executor, bulkhead) = setup(Reserve::None);
    let request = until(&executor, ms(100));
    assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(100));
    assert_eq!(bulkhead.status().reserve(), ms(0));
}

#[test]
fn the_strictest_of_all_limits_ends_the_wait() {
    let (mut executor, bulkhead) = setup(FIXED);
    let request = until(&executor, ms(100)).within(ms(30));
    assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(30));
    let request = until(&executor, ms(100)).within(ms(70));
    assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(60));
}

#[test]
fn the_later_of_before_and_deadline_replaces_the_other() {
    let (mut executor, bulkhead) = setup(FIXED);
    let soon = executor.clock().now() + ms(10);
    let request = until(&executor, ms(100)).before(soon);
    assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(10));
    let request = Request::new().before(soon).deadline(executor.clock().now() + ms(100));
    assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(60));
}

#[test]
fn a_call_may_bring_its_own_reserve() {
    let (mut executor, bulkhead) = setup(FIXED);
    let request = until(&executor, ms(100)).leaving(ms(80));
    assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(20));
    let (_, learning) = setup(Reserve::Learnt);
    drop(learning.with(until(&executor, ms(100)).leaving(ms(80))).try_slot().expect("free"));
    assert_eq!(learning.status().reserve(), ms(0), "it is no example for other calls");
}

#[test]
fn until_an_operation_ends_a_quarter_of_each_calls_time_is_kept() {
    let (mut executor, bulkhead) = setup(Reserve::Learnt);
    for time in [160, 100, 1_000] {
        let request = until(&executor, ms(time));
        assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(time) * 3 / 4);
        assert_eq!(bulkhead.status().reserve(), ms(0));
    }
}

/// Returns a bulkhead after operations that took so long, of calls with 160 ms.
fn after<const N: usize>(holds: [u64; N]) -> (Executor, TestBulkhead) {
    let (executor, bulkhead) = setup(Reserve::Learnt);
    for hold in holds {
        let slot = bulkhead.with(until(&executor, ms(160))).try_slot().expect("free");
        executor.clock().advance(ms(hold));
        drop(slot);
    }
    (executor, bulkhead)
}

/// Returns a bulkhead that has learnt 40 ms.
fn taught() -> (Executor, TestBulkhead) {
    after([50, 40])
}

#[test]
fn the_first_operation_is_the_reserve_and_the_second_one_if_it_is_shorter() {
    for (mut executor, bulkhead) in [after([40]), after([1_000, 40]), after([150, 40])] {
        assert_eq!(bulkhead.status().reserve(), ms(40));
        let request = until(&executor, ms(100));
        assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(60));
    }
}

#[test]
fn a_sixteenth_of_each_calls_time_is_kept_at_least() {
    let (mut executor, bulkhead) = taught();
    for (time, wait) in [(640, 600), (1_600, 1_500), (3_200, 3_000)] {
        let request = until(&executor, ms(time));
        assert_eq!(wait_of(&mut executor, &bulkhead, request), ms(wait));
    }
}

/// Lets a call with 160 ms in all wait, 120 at most, and then run.
fn run_after_a_wait(executor: &mut Executor, bulkhead: &TestBulkhead, wait: Duration, hold: Duration) {
    let running = bulkhead.try_slot().expect("free");
    let request = until(executor, ms(160));
    let waiting = call(executor, bulkhead, request);
    executor.advance(wait);
    drop(running);
    executor.run_until_idle();
    let slot = slot(&waiting);
    executor.advance(hold);
    drop(slot);
}

#[test]
fn an_operation_as_long_as_the_reserve_increases_it() {
    for (wait, hold, late, least) in [(90, 70, 1, 46), (90, 40, 0, 43), (10, 40, 0, 43)] {
        let (mut executor, bulkhead) = taught();
        run_after_a_wait(&mut executor, &bulkhead, ms(wait), ms(hold));
        let status = bulkhead.status();
        assert_eq!(status.ended_late, late);
        let grown = status.reserve();
        assert!(grown > ms(least) && grown < ms(least + 1), "by 9.9 % of the operation: {grown:?}");
    }
}

#[test]
fn a_shorter_operation_reduces_the_reserve_by_little_if_its_call_has_waited() {
    for (wait, least) in [(90, 39_900), (1, 39_900), (0, 39_300)] {
        let (mut executor, bulkhead) = taught();
        run_after_a_wait(&mut executor, &bulkhead, ms(wait), ms(39));
        let less = bulkhead.status().reserve();
        let [least, most] = [least, least + 100].map(Duration::from_micros);
        assert!(less > least && less < most, "by 0.1 % or 1.6 %: {less:?}");
    }
}

#[test]
fn quick_operations_reduce_the_reserve_by_an_eighth_of_the_time_they_took() {
    let (executor, bulkhead) = taught();
    for _ in 0..100 {
        let slot = bulkhead.with(until(&executor, ms(1))).try_slot().expect("free");
        executor.clock().advance(Duration::from_micros(8));
        drop(slot);
    }
    assert_eq!(bulkhead.status().reserve(), Duration::from_micros(40_000 - 100));
}

/// A client asks and hangs up: as an operation that would have taken long, too.
#[test]
fn operations_that_are_dropped_at_once_leave_the_reserve_as_it_is() {
    for time in [1, 160, 600_000] {
        let (mut executor, bulkhead) = taught();
        let before = bulkhead.status();
        for _ in 0..500 {
            let request = until(&executor, ms(time));
            let own = bulkhead.clone();
            let call = executor.spawn(async move { own.with(request).execute(pending::<()>()).await.is_ok() });
            executor.run_until_idle();
            assert_eq!(bulkhead.status().in_flight, 1);
            call.cancel();
            executor.run_until_idle();
            executor.advance(Duration::from_micros(100));
        }
        let after = bulkhead.status();
        assert_eq!((after.in_flight, after.totals.finished), (0, before.totals.finished + 500));
        assert_eq!(after.reserve(), before.reserve(), "after 500 with {time} ms");
    }
}

#[test]
fn a_call_with_much_time_teaches_nothing() {
    let (executor, bulkhead) = taught();
    for (time, hold) in [(641, 39), (10_000, 600), (600_000, 1), (600_000, 37_000)] {
        let slot = bulkhead.with(until(&executor, ms(time))).try_slot().expect("free");
        executor.clock().advance(ms(hold));
        drop(slot);
        assert_eq!(bulkhead.status().reserve(), ms(40), "after {hold} of {time} ms");
    }
}

#[test]
fn an_operation_that_took_nearly_all_its_time_by_itself_teaches_nothing() {
    for hold in [152, 160, 1_000] {
        let (mut executor, bulkhead) = taught();
        run_after_a_wait(&mut executor, &bulkhead, ms(90), ms(hold));
        let status = bulkhead.status();
        assert_eq!((status.ended_late, status.reserve()), (1, ms(40)));
    }
}

#[test]
fn a_late_call_is_counted_however_its_operation_ends() {
    let (executor, bulkhead) = setup(FIXED);
    let (clock, before) = (executor.clock(), bulkhead.status());
    let late = |slot: OwnedSlot| {
        clock.advance(ms(10));
        drop(slot);
    };
    late(bulkhead.with(until(&executor, ms(10))).try_slot().expect("free"));
    let request = until(&executor, ms(10));
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _slot = bulkhead.with(request).try_slot().expect("free");
        clock.advance(ms(10));
        panic!("on purpose");
    }));
    assert!(panics.is_err());
    assert_eq!(bulkhead.status().since(&before).expect("later").ended_late, 2);
}

#[test]
fn a_granted_call_that_is_cancelled_is_not_late() {
    let (executor, bulkhead) = setup(FIXED);
    let running = bulkhead.try_slot().expect("free");
    let request = until(&executor, ms(100));
    let mut waiting = Box::pin(bulkhead.with(request).slot());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(running);
    executor.clock().advance(ms(200));
    drop(waiting);
    let status = bulkhead.status();
    assert_eq!((status.totals.abandoned, status.ended_late, status.in_flight), (1, 0, 0));
}

#[test]
fn a_slot_of_a_call_with_a_deadline_knows_its_cost() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(5).waiting_room(1).build().expect("valid");
    let first = bulkhead.with(until(&executor, ms(9)).cost(3)).try_slot().expect("free");
    let request = until(&executor, ms(9)).cost(4);
    let waiting = call(&mut executor, &bulkhead, request);
    assert_eq!((first.cost(), bulkhead.status().in_use), (3, 3));
    drop(first);
    executor.run_until_idle();
    let second = slot(&waiting);
    assert_eq!((second.cost(), bulkhead.status().in_use), (4, 4));
    drop(second);
    assert_eq!(bulkhead.status().in_use, 0);
}

/// The other slots are granted and released by the word meanwhile.
#[test]
fn calls_with_and_without_a_deadline_share_a_bulkhead() {
    let executor = executor();
    let bulkhead = builder(&executor).parallelism(3).build().expect("valid");
    drop([bulkhead.try_slot(), bulkhead.try_slot(), bulkhead.try_slot()]);
    for _ in 0..10 {
        let plain = bulkhead.try_slot().expect("free");
        let whole = bulkhead.with(until(&executor, ms(5))).try_slot().expect("free");
        let other = bulkhead.try_slot().expect("free");
        drop(plain);
        drop(whole);
        assert_eq!(bulkhead.status().in_flight, 1);
        drop(other);
    }
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.totals.admitted, status.totals.finished), (0, 33, 33));
}

#[test]
fn a_deadline_in_the_far_future_is_none() {
    let (mut executor, bulkhead) = setup(FIXED);
    let _running = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead, Request::new().deadline(Instant::FAR_FUTURE));
    executor.advance(ms(1 << 40));
    assert!(!waiting.is_finished());
    bulkhead.close();
    executor.run_until_idle();
    assert_eq!(reason(&waiting), Reason::Closed);
}

#[test]
fn a_rejection_says_only_what_was_kept() {
    let (mut executor, bulkhead) = setup(Reserve::None);
    let _running = bulkhead.try_slot().expect("free");
    let before = Request::new().before(executor.clock().now().saturating_add(ms(50)));
    let limited = Request::new().within(ms(20));
    let requests = [until(&executor, ms(100)), until(&executor, ms(1_000)).within(ms(10)), before, limited];
    let calls = requests.map(|request| call(&mut executor, &bulkhead, request));
    executor.advance(ms(100));
    for (call, is_by_deadline) in calls.into_iter().zip([true, false, false, false]) {
        let rejection = call.output().expect("the wait is over").expect_err("too late");
        assert_eq!((rejection.kept(), rejection.is_by_deadline()), (None, is_by_deadline), "{rejection}");
    }
}

#[test]
fn only_a_deadline_is_the_callers_own_limit() {
    let (mut executor, bulkhead) = setup(FIXED);
    let _running = bulkhead.try_slot().expect("free");
    let calls = [
        (until(&executor, ms(100)), true),
        (until(&executor, ms(100)).leaving(ms(0)), true),
        (until(&executor, ms(100)).within(ms(59)), false),
        (Request::new().within(ms(0)), false),
    ]
    .map(|(request, is_by_deadline)| (call(&mut executor, &bulkhead, request), is_by_deadline));
    executor.advance(ms(100));
    for (waiting, is_by_deadline) in calls {
        let rejection = waiting.output().expect("the wait is over").expect_err("too late");
        assert_eq!((rejection.reason(), rejection.is_by_deadline()), (Reason::Expired, is_by_deadline), "{rejection}");
    }
    let saturated = bulkhead.with(until(&executor, ms(100))).try_slot().expect_err("full");
    assert!(!saturated.is_by_deadline());
}

#[test]
fn a_rejected_call_teaches_nothing() {
    let (executor, bulkhead) = setup(Reserve::Learnt);
    let _running = bulkhead.try_slot().expect("free");
    assert_eq!(bulkhead.with(until(&executor, ms(1_000))).try_slot().expect_err("full").reason(), Reason::Saturated);
    assert_eq!(bulkhead.status().reserve(), ms(0));
}

#[test]
fn a_call_with_a_far_deadline_takes_no_time_from_others() {
    let (mut executor, bulkhead) = setup(Reserve::Learnt);
    let far = bulkhead.with(until(&executor, ms(1 << 40))).try_slot().expect("free");
    let request = until(&executor, ms(100));
    let waiting = call(&mut executor, &bulkhead, request);
    executor.advance(ms(74));
    drop(far);
    executor.run_until_idle();
    drop(slot(&waiting));
    assert!(bulkhead.status().reserve() <= ms(74));
}
