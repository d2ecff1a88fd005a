//! Wait limits and deadlines. A waiter is late by the clock, whatever its timer does.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, Reason, Request};

use crate::{builder, bulkhead, call, executor, ms, reason, slot};

#[test]
fn the_bulkheads_own_limit_expires_a_waiter() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(1).wait_limit(ms(250)).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    executor.advance(ms(249));
    assert!(!waiting.is_finished());
    executor.advance(ms(1));
    let rejection = waiting.output().expect("the limit has passed").expect_err("too late");
    assert_eq!(rejection.reason(), Reason::Expired);
    assert_eq!((rejection.waited(), rejection.limit()), (ms(250), Some(ms(250))));
    assert_eq!(rejection.to_string(), "bulkhead test: expired after 250 ms of 250 ms (1 of 1 in use, 0 of 1 waiting)");
}

#[test]
fn the_strictest_limit_wins() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(9).wait_limit(ms(100)).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let now = executor.clock().now();
    let cases = [
        (Request::new(), ms(100)),
        (Request::new().within(ms(30)), ms(30)),
        (Request::new().within(ms(300)), ms(100)),
        (Request::new().before(now + ms(20)), ms(20)),
        (Request::new().before(now + ms(500)), ms(100)),
        (Request::new().within(ms(30)).before(now + ms(40)), ms(30)),
        (Request::new().within(Duration::MAX).before(Instant::FAR_FUTURE), ms(100)),
    ];
    let calls = cases.map(|(request, limit)| (executor.spawn(bulkhead.with(request).slot()), limit));
    executor.advance(ms(1000));
    for (call, limit) in calls {
        let rejection = call.output().expect("the limit has passed").expect_err("too late");
        assert_eq!((rejection.limit(), rejection.waited()), (Some(limit), limit));
    }
}

#[test]
fn a_past_deadline_expires_immediately_even_with_a_free_slot() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let now = executor.clock().now();
    for past in [now, now.saturating_sub(ms(5)), Instant::EPOCH] {
        let rejection = bulkhead.with(Request::new().before(past)).try_slot().expect_err("past");
        assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(Duration::ZERO)));
        assert!(rejection.is_by_deadline());
        let text = rejection.to_string();
        assert!(text.starts_with("bulkhead test: expired, as its deadline had passed ("), "{text}");
    }
    assert_eq!(bulkhead.status().totals.expired_before_queue, 3);
    drop(bulkhead.with(Request::new().before(now + ms(1))).try_slot().expect("just in time"));
}

#[test]
fn a_limit_of_zero_admits_immediately_or_expires() {
    let mut executor = executor();
    for waiting_room in [0, 5] {
        let bulkhead = bulkhead(&executor, 1, waiting_room);
        let request = Request::new().within(Duration::ZERO);
        let first = executor.spawn(bulkhead.with(request).slot());
        executor.run_until_idle();
        let _running = slot(&first);
        let second = executor.spawn(bulkhead.with(request).slot());
        executor.run_until_idle();
        let rejection = second.output().expect("immediately").expect_err("no slot is free");
        assert_eq!(rejection.reason(), Reason::Expired);
        assert!(rejection.to_string().contains("its wait limit is zero"), "{rejection}");
    }
}

#[test]
fn a_late_waiter_is_rejected_even_with_a_free_slot() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(1).wait_limit(ms(10)).build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    executor.clock().advance(ms(10));
    drop(running);
    executor.run_until_idle();
    assert_eq!(reason(&waiting), Reason::Expired);
    assert_eq!(bulkhead.status().in_flight, 0);
}

#[test]
fn an_expired_waiter_takes_no_place_from_a_new_call() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(1).wait_limit(ms(10)).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let dead = call(&mut executor, &bulkhead);
    executor.clock().advance(ms(10));
    let mut new_call = pin!(bulkhead.slot());
    assert!(new_call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "the place is free");
    executor.run_until_idle();
    assert_eq!(reason(&dead), Reason::Expired);
}

#[test]
fn an_admitted_operation_is_never_cancelled_by_its_deadline() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(1).wait_limit(ms(10)).build().expect("valid");
    let clock = executor.clock();
    let task = executor.spawn({
        let request = Request::new().before(clock.now() + ms(5));
        async move { bulkhead.with(request).execute(clock.sleep(ms(1000))).await }
    });
    executor.advance(ms(1000));
    assert_eq!(task.output(), Some(Ok(())));
}

/// A runtime with unreliable timers.
#[derive(Clone, Default)]
struct Unreliable {
    now: Arc<AtomicU64>,
    timers_made: Arc<AtomicUsize>,
    fires_immediately: bool,
}

impl Clock for Unreliable {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::from_nanos(self.now.load(SeqCst))
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Unreliable {
    type Sleep = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Returns a timer that never fires, or fires immediately if it is the first.
    fn sleep_until(&self, _deadline: Instant) -> Self::Sleep {
        let made = self.timers_made.fetch_add(1, SeqCst);
        if self.fires_immediately && made == 0 { Box::pin(async {}) } else { Box::pin(std::future::pending()) }
    }
}

#[test]
fn the_clock_and_not_the_timer_expires_a_waiter() {
    for fires_immediately in [false, true] {
        let runtime = Unreliable { fires_immediately, ..Unreliable::default() };
        let bulkhead =
            Bulkhead::builder_on(runtime.clone(), "test").parallelism(1).waiting_room(1).build().expect("valid");
        let _running = bulkhead.try_slot().expect("free");
        let mut waiting = pin!(bulkhead.within(Duration::from_nanos(10)).slot());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert_eq!(
            runtime.timers_made.load(SeqCst),
            1 + usize::from(fires_immediately),
            "a timer that fired early is armed again"
        );
        runtime.now.store(10, SeqCst);
        let Poll::Ready(Err(rejection)) = waiting.as_mut().poll(&mut context) else {
            panic!("the deadline has passed")
        };
        assert_eq!(rejection.reason(), Reason::Expired);
    }
}

#[test]
fn a_waiter_that_is_never_polled_delays_no_other_timeout() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(2).wait_limit(ms(10)).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let mut held = pin!(bulkhead.slot());
    assert!(held.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let waiting = call(&mut executor, &bulkhead);
    executor.advance(ms(10));
    assert_eq!(reason(&waiting), Reason::Expired);
}

type Reading = Box<dyn FnOnce() -> Instant + Send>;

/// A clock that returns prepared readings first.
#[derive(Clone, Default)]
struct Prepared(FakeClock, Arc<Mutex<VecDeque<Reading>>>);

impl Clock for Prepared {
    type Instant = Instant;

    fn now(&self) -> Instant {
        let reading = self.1.lock().expect("no panic").pop_front();
        reading.map_or_else(|| self.0.now(), |read| read())
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Prepared {
    type Sleep = bulklink::testing::FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        self.0.sleep_until(deadline)
    }
}

/// A thread reads the clock, and applies the reading only 20 ms later, while another releases the
/// slot.
#[test]
fn an_old_reading_of_the_clock_admits_no_late_waiter() {
    let runtime = Prepared::default();
    let bulkhead = Bulkhead::builder_on(runtime.clone(), "test").parallelism(1).waiting_room(5).wait_limit(ms(10));
    let bulkhead = bulkhead.build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let mut waiting = pin!(bulkhead.slot());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    let old = runtime.now();
    runtime.0.advance(ms(20));
    let (inside, prepared) = (bulkhead.clone(), runtime.clone());
    let while_released: Reading = Box::new(move || {
        prepared.1.lock().expect("no panic").push_back(Box::new(move || old));
        thread::spawn(move || drop(inside.try_slot())).join().expect("no panic");
        prepared.0.now()
    });
    runtime.1.lock().expect("no panic").push_back(while_released);
    drop(running);
    let Poll::Ready(Err(rejection)) = waiting.as_mut().poll(&mut context) else { panic!("the slot came too late") };
    assert_eq!(rejection.reason(), Reason::Expired);
}

/// A runtime that panics when the first timer is made, as tokio does outside of its context.
#[derive(Clone, Default)]
struct Reluctant(FakeClock, Arc<AtomicUsize>);

impl Clock for Reluctant {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Reluctant {
    type Sleep = bulklink::testing::FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        assert!(self.1.fetch_add(1, SeqCst) > 0, "no runtime, on purpose");
        self.0.sleep_until(deadline)
    }
}

#[test]
fn a_timer_that_failed_is_made_at_the_next_poll() {
    let runtime = Reluctant::default();
    let bulkhead = Bulkhead::builder_on(runtime.clone(), "test").parallelism(1).waiting_room(1).wait_limit(ms(10));
    let bulkhead = bulkhead.build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let mut waiting = pin!(bulkhead.slot());
    let mut context = Context::from_waker(Waker::noop());
    let refused = catch_unwind(AssertUnwindSafe(|| waiting.as_mut().poll(&mut context).is_ready()));
    assert!(refused.is_err() && bulkhead.status().waiting == 1, "the place is kept");
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    assert_eq!(runtime.0.next_timer(), Some(runtime.now() + ms(10)), "the timer is armed");
    runtime.0.advance(ms(10));
    let Poll::Ready(Err(rejection)) = waiting.as_mut().poll(&mut context) else { panic!("the deadline has passed") };
    assert_eq!(rejection.reason(), Reason::Expired);
}
