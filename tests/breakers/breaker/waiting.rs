//! Waiting for a transition: no wake-up is lost, and wakers are foreign code.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock};
use bulklink_breaker::{Breaker, Call, Settings};

use super::{breaker, two_in_a_row};

fn poll(future: &mut (impl Future<Output = ()> + Unpin), waker: &Waker) -> Poll<()> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Fails if `scene` does not end: it runs on a thread of its own, which may deadlock.
fn ends(scene: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        scene();
        sender.send(()).expect("the test waits");
    });
    match receiver.recv_timeout(Duration::from_secs(5)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("a deadlock"),
        _ => thread.join().expect("no panic"),
    }
}

#[test]
fn it_completes_at_the_next_transition() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor.clock(), two_in_a_row());
    breaker.force_open();
    let waiting = [(); 3].map(|()| executor.spawn(breaker.transition()));
    executor.run_until_idle();
    assert!(waiting.iter().all(|task| !task.is_finished()), "the last transition is over");
    breaker.force_closed();
    executor.run_until_idle();
    assert!(waiting.iter().all(bulklink::testing::Task::is_finished));
}

#[test]
fn a_transition_before_the_first_poll_is_not_missed() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor.clock(), two_in_a_row());
    let waiting = executor.spawn(breaker.transition());
    breaker.force_open();
    breaker.force_closed();
    executor.run_until_idle();
    assert!(waiting.is_finished());
}

#[test]
fn a_future_outlives_its_breaker() {
    let waiting = breaker(&FakeClock::new(), two_in_a_row()).transition();
    drop(waiting);
}

#[test]
fn one_that_is_dropped_takes_no_wake_up_from_others() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor.clock(), two_in_a_row());
    let (first, second) = (executor.spawn(breaker.transition()), executor.spawn(breaker.transition()));
    executor.run_until_idle();
    breaker.force_open();
    first.cancel();
    let third = executor.spawn(breaker.transition());
    executor.run_until_idle();
    assert!(second.is_finished() && !third.is_finished());
}

#[test]
fn the_last_waker_is_woken() {
    struct Counts(AtomicUsize);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let wakers = [(); 2].map(|()| Arc::new(Counts(AtomicUsize::new(0))));
    let mut waiting = breaker.transition();
    for waker in &wakers {
        assert!(poll(&mut waiting, &Arc::clone(waker).into()).is_pending());
    }
    breaker.force_open();
    assert_eq!(wakers.map(|waker| waker.0.load(SeqCst)), [0, 1]);
}

/// A waker that polls its task inline, as some executors do.
struct Inline {
    breaker: Breaker,
    next: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    woken: AtomicUsize,
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, SeqCst);
        let mut next: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(self.breaker.transition());
        let waker = Arc::clone(&self).into();
        if self.woken.load(SeqCst) < 3 {
            self.breaker.force_closed();
        }
        if next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            *self.next.lock().expect("no panic") = Some(next);
        }
    }
}

#[test]
fn a_waker_may_use_the_breaker() {
    ends(|| {
        let breaker = breaker(&FakeClock::new(), two_in_a_row());
        let inline = Arc::new(Inline { breaker: breaker.clone(), next: Mutex::default(), woken: AtomicUsize::new(0) });
        let mut waiting = breaker.transition();
        assert!(poll(&mut waiting, &Arc::clone(&inline).into()).is_pending());
        breaker.force_open();
        assert_eq!(inline.woken.load(SeqCst), 1);
        drop(inline.next.lock().expect("no panic").take());
    });
}

#[test]
fn a_waker_that_panics_disturbs_no_other() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, on purpose");
        }
    }
    let mut executor = Executor::new(FakeClock::new());
    let breaker = breaker(&executor.clock(), two_in_a_row());
    let mut panics = breaker.transition();
    assert!(poll(&mut panics, &Arc::new(Panics).into()).is_pending());
    let other = executor.spawn(breaker.transition());
    executor.run_until_idle();
    breaker.force_open();
    executor.run_until_idle();
    assert!(other.is_finished());
    assert!(poll(&mut panics, Waker::noop()).is_ready());
}

/// A waker that holds a call of the same breaker, which is settled when the waker is dropped.
struct Holds(#[expect(dead_code, reason = "for its drop")] Call<'static>);

impl Wake for Holds {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_may_own_a_call_of_the_same_breaker() {
    let waker = |breaker: &Breaker| -> Waker { Arc::new(Holds(breaker.admit_owned().expect("closed"))).into() };
    ends(move || {
        // Each cancelled call opens the circuit.
        let builder = super::builder(&FakeClock::new(), Settings::consecutive(1)).count_cancelled(true);
        let breaker = builder.build().expect("valid settings");
        // Displaced by another waker.
        let mut waiting = breaker.transition();
        assert!(poll(&mut waiting, &waker(&breaker)).is_pending());
        assert!(poll(&mut waiting, Waker::noop()).is_pending());
        assert_eq!(breaker.status().totals.opened, 1);
        // Dropped with its future.
        breaker.force_closed();
        let mut waiting = breaker.transition();
        assert!(poll(&mut waiting, &waker(&breaker)).is_pending());
        drop(waiting);
        assert_eq!(breaker.status().totals.opened, 2);
        // Woken.
        breaker.force_closed();
        let mut waiting = breaker.transition();
        assert!(poll(&mut waiting, &waker(&breaker)).is_pending());
        breaker.force_open();
        assert!(poll(&mut waiting, Waker::noop()).is_ready());
        assert_eq!(breaker.status().totals.cancelled, 3);
    });
}
