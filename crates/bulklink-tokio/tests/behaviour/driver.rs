//! The driver, a background task that expires waiters: its stops and delays, and that other waiters
//! still expire in time.

use std::future::Future;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::runtime::DriverHome;
use bulklink::runtime::{Clock, Timer, TimerError};
use bulklink_tokio::{Bulkhead, EventFilter, OwnedSlot, Partitions, Reason, Rejection, Request, Tokio, TokioSleep};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};

const LIMIT: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3600);
/// A timeout that only a failing test reaches.
const LONG: Duration = Duration::from_secs(10);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Returns a bulkhead with one slot, which stays in use.
fn taken() -> Bulkhead {
    let bulkhead = Bulkhead::builder("taken").parallelism(1).waiting_room(9).wait_limit(LIMIT).build().expect("valid");
    std::mem::forget(bulkhead.try_slot());
    bulkhead
}

/// Returns a bulkhead with one slot, which stays in use, and no wait limit.
fn taken_without_limit() -> Bulkhead {
    let bulkhead = Bulkhead::builder("unlimited").parallelism(1).waiting_room(99).build().expect("valid");
    std::mem::forget(bulkhead.try_slot());
    bulkhead
}

type Call = Pin<Box<dyn Future<Output = Result<OwnedSlot, Rejection>> + Send>>;

fn call(bulkhead: &Bulkhead, limit: Duration) -> Call {
    Box::pin(bulkhead.within(limit).slot())
}

/// Returns a call that was polled once, outside of any task.
fn queued(bulkhead: &Bulkhead, limit: Duration) -> Call {
    let mut call = call(bulkhead, limit);
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    call
}

fn queued_on(runtime: &Runtime, bulkhead: &Bulkhead) -> Call {
    let _entered = runtime.enter();
    queued(bulkhead, LIMIT)
}

/// Lets tasks run until this many calls wait.
async fn waiting(bulkhead: &Bulkhead, calls: usize) {
    while bulkhead.status().waiting < calls {
        yield_now().await;
    }
}

/// Waits until a call expires, and returns how long that took.
async fn expires(call: impl Future<Output = Result<OwnedSlot, Rejection>>) -> Duration {
    let begun = Instant::now();
    let answer = timeout(LONG, call).await.expect("nothing delays the call");
    assert_eq!(answer.expect_err("the slot is taken").reason(), Reason::Expired);
    assert!(begun.elapsed() < LONG, "the call did not expire before the test's timeout");
    begun.elapsed()
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Tokio's timers are exact to a millisecond.
fn is_about(waited: Duration, limit: Duration) -> bool {
    waited >= limit && waited <= limit + Duration::from_millis(2)
}

#[tokio::test(start_paused = true)]
async fn all_waiters_share_one_task() {
    let bulkhead = taken();
    let calls: Vec<_> = (0..5).map(|_| tokio::spawn(expires(call(&bulkhead, LIMIT)))).collect();
    yield_now().await;
    assert_eq!((tasks(), bulkhead.status().waiting), (6, 5));
    for call in calls {
        assert!(is_about(call.await.expect("no panic"), LIMIT));
    }
}

/// A call takes no more memory than this, and allocates nothing for its wait.
#[cfg(target_pointer_width = "64")]
#[test]
fn the_future_is_small() {
    let bulkhead = taken();
    assert_eq!((size_of_val(&bulkhead.slot()), size_of_val(&bulkhead.owned().slot())), (32, 32));
    let builder = Partitions::builder("tenants").parallelism(1).max_partitions(1);
    let tenants: Partitions<u32> = builder.build().expect("valid");
    assert_eq!(size_of_val(&tenants.key(&1).slot()), 32);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_never_polled_again_delays_no_other() {
    let bulkhead = taken();
    let _first = queued(&bulkhead, LIMIT / 2);
    let _nearer = queued(&bulkhead, LIMIT / 4);
    yield_now().await;
    let _nearest = queued(&bulkhead, LIMIT / 8);
    assert!(is_about(expires(call(&bulkhead, LIMIT)).await, LIMIT));
    assert_eq!(bulkhead.status().totals.expired, 4);
}

#[test]
fn a_dropped_runtime_delays_no_call_on_another() {
    let (bulkhead, first, second) = (taken(), runtime(), runtime());
    drop(first.spawn(expires(call(&bulkhead, LIMIT))));
    first.block_on(waiting(&bulkhead, 1));
    let call = second.spawn(expires(call(&bulkhead, LIMIT)));
    second.block_on(waiting(&bulkhead, 2));
    drop(first);
    second.block_on(call).expect("no panic");
}

#[test]
fn an_idle_runtime_delays_no_call_on_another() {
    let (bulkhead, idle, driven) = (taken(), runtime(), runtime());
    let _held = queued_on(&idle, &bulkhead);
    driven.block_on(expires(call(&bulkhead, LIMIT)));
    // The idle runtime's driver still exists, and does its work when it runs.
    idle.block_on(async {
        expires(call(&bulkhead, LIMIT)).await;
        yield_now().await;
        assert_eq!(tasks(), 0);
    });
}

#[test]
fn a_call_that_moves_to_another_runtime_is_expired_there() {
    let (bulkhead, idle, driven) = (taken(), runtime(), runtime());
    let moved = queued_on(&idle, &bulkhead);
    driven.block_on(expires(moved));
    let moved = queued_on(&driven, &bulkhead);
    drop(driven);
    idle.block_on(expires(moved));
}

#[tokio::test(start_paused = true)]
async fn a_nearer_deadline_brings_the_driver_forward() {
    for settled in [false, true] {
        let bulkhead = taken_without_limit();
        let _far = queued(&bulkhead, HOUR);
        if settled {
            yield_now().await;
        }
        assert!(is_about(expires(call(&bulkhead, LIMIT)).await, LIMIT), "settled: {settled}");
        assert_eq!(bulkhead.status().waiting, 1);
    }
}

/// On many threads, nearer deadlines arrive while the driver arms its timer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nearer_deadlines_from_many_threads_are_kept() {
    for _ in 0..50 {
        let bulkhead = taken_without_limit();
        let calls: Vec<_> = (1..=8).map(|far| tokio::spawn(expires(call(&bulkhead, HOUR / 8 * (9 - far))))).collect();
        let near: Vec<_> = (0..8).map(|_| tokio::spawn(expires(call(&bulkhead, Duration::from_millis(2))))).collect();
        for call in near {
            call.await.expect("in time");
        }
        calls.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// A task that was woken or spawned may not run before the task that did it leaves its thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_blocks_its_thread_delays_no_other() {
    for woken in [false, true] {
        let bulkhead = taken_without_limit();
        let held = woken.then(|| queued(&bulkhead, HOUR));
        if woken {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (ended, end) = mpsc::channel::<()>();
        let (blocks, blocked) = tokio::sync::oneshot::channel();
        let blocking = tokio::spawn({
            let bulkhead = bulkhead.clone();
            async move {
                let _held = queued(&bulkhead, LIMIT);
                blocks.send(()).expect("the test goes on");
                end.recv_timeout(LONG).is_ok()
            }
        });
        blocked.await.expect("the task blocks");
        tokio::spawn(expires(call(&bulkhead, LIMIT))).await.expect("no panic");
        ended.send(()).ok();
        assert!(blocking.await.expect("no panic"), "delayed until the thread was free, woken: {woken}");
        drop(held);
    }
}

/// Tokio with one difference: a woken driver stays behind the task that woke it, on a thread that
/// keeps the last task it woke in its own slot. Where tokio does so is its internal matter, and may
/// change.
#[derive(Clone)]
struct BlockedDriver;

impl Clock for BlockedDriver {
    type Instant = Instant;

    fn now(&self) -> bulklink::runtime::Instant {
        Tokio.now()
    }

    fn instant(&self, at: Instant) -> bulklink::runtime::Instant {
        Tokio.instant(at)
    }
}

impl Timer for BlockedDriver {
    type Sleep = TokioSleep;

    fn sleep_until(&self, deadline: bulklink::runtime::Instant) -> TokioSleep {
        Tokio.sleep_until(deadline)
    }

    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError> {
        Ok(Some(DriverHome::new(NonZeroU64::MIN, |_, driver| drop(tokio::spawn(driver)))))
    }
}

/// The calls are late by the time for which the thread is blocked, and by no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_behind_a_blocked_thread_loses_no_call() {
    const BLOCKED: Duration = Duration::from_millis(60);
    let builder = bulklink::Bulkhead::builder_on(BlockedDriver, "stuck").parallelism(1).waiting_room(99);
    let bulkhead = builder.build().expect("valid");
    std::mem::forget(bulkhead.try_slot());
    let blocking = tokio::spawn({
        let bulkhead = bulkhead.clone();
        async move {
            let mut held = Box::pin(bulkhead.within(LIMIT).slot());
            assert!(held.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            std::thread::sleep(BLOCKED);
        }
    });
    let begun = Instant::now();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let bulkhead = bulkhead.clone();
            tokio::spawn(async move { bulkhead.within(LIMIT).slot().await.map(drop) })
        })
        .collect();
    for call in calls {
        let answer = timeout(LONG, call).await.expect("no call is forgotten").expect("no panic");
        assert_eq!(answer.expect_err("the slot is taken").reason(), Reason::Expired);
    }
    assert!(begun.elapsed() < LONG);
    blocking.await.expect("no panic");
    let status = bulkhead.status();
    assert_eq!((status.waiting, status.in_flight, status.totals.queued), (0, 1, 21));
    assert_eq!(status.totals.expired + status.totals.cancelled, 21);
}

#[tokio::test(start_paused = true)]
async fn the_driver_ends_with_its_bulkhead() {
    for settled in [false, true] {
        let bulkhead = taken_without_limit();
        let far = queued(&bulkhead, HOUR);
        if settled {
            yield_now().await;
        }
        assert_eq!(tasks(), 1);
        drop((far, bulkhead));
        let begun = Instant::now();
        yield_now().await;
        assert_eq!((tasks(), begun.elapsed()), (0, Duration::ZERO), "settled: {settled}");
    }
}

#[tokio::test(start_paused = true)]
async fn idle_partitions_have_no_task() {
    let builder = Partitions::builder("tenants").parallelism(1).waiting_room(9).wait_limit(HOUR);
    let tenants: Partitions<usize> = builder.max_partitions(99).build().expect("valid");
    for tenant in 0..99 {
        let running = tenants.key(&tenant).try_slot().expect("free");
        let waiting = tokio::spawn(tenants.key(&tenant).slot());
        yield_now().await;
        assert_eq!(tasks(), 2, "the call, and the driver of its partition");
        drop(running);
        drop(waiting.await.expect("no panic").expect("its turn"));
        yield_now().await;
        assert_eq!(tasks(), 0, "partition {tenant} is idle");
    }
    // A partition in which another call waits still has its driver.
    let running = tenants.key(&0).try_slot().expect("free");
    let given_up = tokio::spawn(tenants.key(&0).slot());
    let waits = tokio::spawn(tenants.key(&0).slot());
    yield_now().await;
    given_up.abort();
    yield_now().await;
    assert_eq!(tasks(), 2);
    assert!(waits.await.expect("no panic").is_err(), "expired");
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn the_driver_ends_when_its_timer_fires_without_waiters() {
    let bulkhead = taken_without_limit();
    drop(queued(&bulkhead, LIMIT));
    tokio::time::sleep(LIMIT / 2).await;
    assert_eq!(tasks(), 1, "another call may arrive");
    tokio::time::sleep(LIMIT).await;
    assert_eq!(tasks(), 0);
    assert!(is_about(expires(call(&bulkhead, LIMIT)).await, LIMIT));
}

/// Returns the panic message of a call's first poll.
fn panics(bulkhead: &Bulkhead) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(queued(bulkhead, LIMIT)))).expect_err("there is no timer");
    *panic.downcast::<String>().expect("a message")
}

#[test]
fn without_a_timer_a_call_with_a_limit_panics() {
    let bulkhead = Bulkhead::builder("free").parallelism(9).waiting_room(9).build().expect("valid");
    let without_timer = Builder::new_current_thread().build().expect("a runtime");
    let because = without_timer.block_on(async { panics(&bulkhead) });
    assert!(because.starts_with("bulkhead free: a call with a limit on its wait needs a timer: "), "{because}");
    assert!(because.contains("without `enable_time`"), "{because}");
    assert!(panics(&bulkhead).contains("there is no tokio runtime on this thread"));
    without_timer.block_on(async { drop(bulkhead.slot().await.expect("free, and no limit")) });
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.rejected()), (0, 0));
}

/// A call that is rejected in any case gets its reason, and needs no timer.
#[test]
fn without_a_timer_a_call_that_never_waits_is_answered() {
    let bulkhead = Bulkhead::builder("full").parallelism(1).waiting_room(9).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let poll = |request| {
        let mut call = Box::pin(bulkhead.with(request).slot());
        let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!("waits") };
        answer.expect_err("full").reason()
    };
    assert_eq!(poll(Request::new().within(Duration::ZERO)), Reason::Expired);
    assert_eq!(poll(Request::new().before(Instant::now() - LIMIT)), Reason::Expired);
    assert_eq!(poll(Request::new().cost(2).within(LIMIT)), Reason::InvalidCost);
    assert_eq!(poll(Request::new().within(LIMIT).now()), Reason::Saturated);
    let events = bulkhead.handle().subscribe(EventFilter::ALL, 9).expect("valid");
    bulkhead.close();
    assert_eq!(poll(Request::new().within(LIMIT)), Reason::Closed);
    drop(events);
    assert_eq!(poll(Request::new().within(LIMIT)), Reason::Closed);
}

/// Every call panics itself: none relies on a driver that was never spawned.
#[test]
fn a_runtime_without_a_timer_panics_and_loses_nothing() {
    let bulkhead = taken();
    let without_timer = Builder::new_current_thread().build().expect("a runtime");
    for _ in 0..2 {
        let waited = without_timer.block_on(async {
            let waited = catch_unwind(AssertUnwindSafe(|| drop(queued(&bulkhead, LIMIT))));
            yield_now().await;
            assert_eq!(tasks(), 0);
            waited
        });
        assert!(waited.is_err(), "tokio has no timer to give");
        assert_eq!(bulkhead.status().waiting, 0);
    }
    runtime().block_on(expires(call(&bulkhead, LIMIT)));
}

#[test]
fn outside_a_runtime_a_call_panics_despite_another_driver() {
    let (bulkhead, elsewhere) = (taken(), runtime());
    let held = queued_on(&elsewhere, &bulkhead);
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| drop(queued(&bulkhead, LIMIT)))).is_err());
        assert_eq!(bulkhead.status().waiting, 1);
    }
    elsewhere.block_on(expires(held));
}

/// Tokio reports a runtime's end to the task that polls a timer, so a call that relies on a driver
/// must be woken.
#[test]
fn a_call_that_outlives_its_runtime_is_woken() {
    let bulkhead = taken_without_limit();
    let ending = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (send, outcome) = mpsc::channel();
    let outlives = std::thread::spawn({
        let (handle, call) = (ending.handle().clone(), call(&bulkhead, HOUR));
        move || send.send(catch_unwind(AssertUnwindSafe(|| handle.block_on(call))).is_err())
    });
    // Wait until the call relies on the driver.
    ending.block_on(async {
        while tasks() == 0 {
            yield_now().await;
        }
        tokio::time::sleep(LIMIT).await;
    });
    drop(ending);
    assert_eq!(outcome.recv_timeout(LONG), Ok(true), "its runtime is gone");
    outlives.join().expect("contained").expect("the test goes on");
    assert_eq!(bulkhead.status().waiting, 0);
}

/// The runtime spawns nothing any more. Tokio reports that to the task that polls a timer.
#[test]
fn on_a_runtime_that_shuts_down_no_call_waits_forever() {
    let bulkhead = taken();
    let ending = runtime();
    let handle = ending.handle().clone();
    drop(ending);
    let _entered = handle.enter();
    let mut late = pin!(call(&bulkhead, LIMIT));
    let polled = catch_unwind(AssertUnwindSafe(|| late.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
    assert!(!matches!(polled, Ok(Poll::Pending)), "the call hangs");
}
