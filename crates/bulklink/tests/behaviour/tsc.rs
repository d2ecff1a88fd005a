//! The processor's counter as the clock, wrapped around a fake clock. The counter's time is real,
//! so a few waits here are too.

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant as Std};

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, Reason, Request, Tsc};

use crate::ms;

const HOUR: Duration = Duration::from_secs(3600);

fn bulkhead(limit: Duration) -> (FakeClock, Bulkhead<Tsc<FakeClock>>) {
    let clock = FakeClock::new();
    let builder = Bulkhead::builder_on(Tsc::new(clock.clone()), "test").parallelism(1).waiting_room(2);
    (clock, builder.wait_limit(limit).build().expect("valid"))
}

#[test]
fn a_deadline_is_converted_with_its_distance_from_now() {
    let clock = FakeClock::new();
    let tsc = Tsc::new(clock.clone());
    for moved in [|at: Instant| at + HOUR / 2, |at: Instant| at, |at: Instant| at.saturating_sub(HOUR / 2)] {
        let before = tsc.now();
        let deadline = tsc.instant(moved(clock.now()));
        assert!(deadline >= moved(before) && deadline <= moved(tsc.now()), "{deadline:?}");
    }
    assert_eq!(tsc.instant(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
}

#[test]
fn a_deadline_of_the_wrapped_clock_is_converted() {
    let (clock, bulkhead) = bulkhead(HOUR);
    for past in [clock.now(), clock.now().saturating_sub(HOUR / 2), Instant::EPOCH] {
        let rejection = bulkhead.with(Request::new().before(past)).try_slot().expect_err("past");
        assert_eq!(rejection.reason(), Reason::Expired);
    }
    for future in [clock.now() + HOUR, Instant::FAR_FUTURE] {
        drop(bulkhead.with(Request::new().before(future)).try_slot().expect("in time"));
    }
    let _running = bulkhead.try_slot().expect("free");
    let mut waiting = pin!(bulkhead.with(Request::new().before(clock.now() + HOUR / 2)).slot());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let timer = clock.next_timer().expect("a deadline").saturating_since(clock.now());
    assert!(timer <= HOUR / 2 && timer + HOUR / 60 > HOUR / 2, "{timer:?}");
}

#[test]
fn the_wrapped_runtimes_timer_fires_after_the_remaining_time() {
    let clock = FakeClock::new();
    let tsc = Tsc::new(clock.clone());
    let mut sleep = pin!(tsc.sleep_until(tsc.now() + HOUR));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let left = clock.next_timer().expect("the timer is pending").saturating_since(clock.now());
    assert!(left <= HOUR && left + HOUR / 60 > HOUR, "{left:?}");
}

#[test]
fn the_fake_clock_does_not_move_the_counter() {
    let (clock, bulkhead) = bulkhead(HOUR);
    let mut executor = Executor::new(clock.clone());
    let running = bulkhead.try_slot().expect("free");
    let waiting = executor.spawn(bulkhead.owned().slot());
    executor.advance(HOUR * 3);
    assert!(!waiting.is_finished() && clock.next_timer().is_some(), "a timer that fired early is armed again");
    drop(running);
    executor.run_until_idle();
    drop(waiting.output().expect("the slot is free").expect("an hour has not passed"));
    assert!(bulkhead.status().longest_wait() < HOUR);
}

#[test]
fn a_limit_passes_in_real_time() {
    let (_clock, bulkhead) = bulkhead(ms(5));
    let _running = bulkhead.try_slot().expect("free");
    let mut waiting = pin!(bulkhead.slot());
    let mut context = Context::from_waker(Waker::noop());
    let begun = Std::now();
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    thread::sleep(ms(6));
    let Poll::Ready(Err(rejection)) = waiting.as_mut().poll(&mut context) else { panic!("it is late") };
    assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(ms(5))));
    assert!(rejection.waited() >= ms(5) && rejection.waited() < begun.elapsed() * 2, "{rejection}");
}

#[test]
fn a_wait_is_measured_in_real_time() {
    let (_clock, bulkhead) = bulkhead(HOUR);
    let running = bulkhead.try_slot().expect("free");
    let mut waiting = pin!(bulkhead.slot());
    let mut context = Context::from_waker(Waker::noop());
    let begun = Std::now();
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    thread::sleep(ms(5));
    drop(running);
    assert!(waiting.as_mut().poll(&mut context).is_ready());
    let waited = bulkhead.status().longest_wait();
    assert!(waited > ms(4) && waited < begun.elapsed() * 2, "{waited:?}");
    assert_eq!(bulkhead.status().totals.cumulative_wait(), waited);
}

/// Out-of-order execution makes readings differ by about a microsecond. Cores with counters that
/// are not synchronised differ by milliseconds.
#[test]
fn two_threads_read_the_same_time() {
    const AHEAD: Duration = Duration::from_micros(100);
    let latest = Mutex::new(Tsc::new(FakeClock::new()).now());
    let read = || {
        let tsc = Tsc::new(FakeClock::new());
        for _ in 0..100_000 {
            let mut latest = latest.lock().expect("no panic");
            let now = tsc.now();
            assert!(latest.saturating_since(now) < AHEAD, "{now:?} after {latest:?}");
            *latest = now.max(*latest);
        }
    };
    thread::scope(|scope| [(); 2].map(|()| scope.spawn(read)).map(|thread| thread.join().expect("no panic")));
}

#[test]
fn one_thread_never_reads_a_time_in_the_past() {
    let tsc = Tsc::<FakeClock>::default();
    let mut latest = tsc.now();
    for _ in 0..100_000 {
        let now = tsc.now();
        assert!(now >= latest, "{now:?} after {latest:?}");
        latest = now;
    }
}
