//! Handlers of transitions: in order, under no lock, and contained.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;

use bulklink::testing::FakeClock;
use bulklink_breaker::{Breaker, Counts, Outcome, Settings, State, Transition};

use super::{admitted, breaker, builder, ms, recorded, state, taken, two_in_a_row};

fn steps(log: &[Transition]) -> Vec<(State, State)> {
    log.iter().map(|transition| (transition.from, transition.to)).collect()
}

#[test]
fn each_has_its_states_and_its_number() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row());
    let log = recorded(&breaker);
    admitted(&breaker).fail();
    admitted(&breaker).fail();
    clock.advance(ms(10));
    admitted(&breaker).fail();
    clock.advance(ms(10));
    admitted(&breaker).succeed();
    breaker.force_open();
    let log = taken(&log);
    let (closed, open, half_open) = (State::Closed, State::Open, State::HalfOpen);
    let expected =
        [(closed, open), (open, half_open), (half_open, open), (open, half_open), (half_open, closed), (closed, open)];
    assert_eq!(steps(&log), expected);
    assert!(log.iter().map(|transition| transition.generation).eq(1..=6));
    assert!(log.iter().map(|transition| transition.is_forced).eq([false, false, false, false, false, true]));
    assert!(log.iter().all(|transition| &*transition.label == "test"));
}

/// The counts at a trip are those of the window, with the call that has tripped it.
#[test]
fn the_counts_are_those_of_the_window() {
    let clock = FakeClock::new();
    let trip = |breaker: &Breaker, outcomes: &[Outcome]| {
        let log = recorded(breaker);
        for &outcome in outcomes {
            admitted(breaker).settle(outcome);
        }
        let [transition] = taken(&log).try_into().expect("one transition");
        transition.counts
    };
    let (success, failure) = (Outcome::Success, Outcome::Failure);

    let in_a_row = breaker(&clock, two_in_a_row());
    assert_eq!(trip(&in_a_row, &[failure, failure]), Counts { calls: 2, failures: 2, slow: 0 });
    // The window is full: the oldest call leaves it.
    let full = breaker(&clock, Settings::of_last(4).failures(3));
    let outcomes = [failure, success, failure, failure];
    assert_eq!(trip(&full, &outcomes), Counts { calls: 4, failures: 3, slow: 0 });
    let full = breaker(&clock, Settings::of_last(4).failure_rate(50));
    let outcomes = [failure, success, success, success, success, failure, failure];
    assert_eq!(trip(&full, &outcomes), Counts { calls: 4, failures: 2, slow: 0 });
    let of_time = breaker(&clock, Settings::over(ms(100)).failures(2));
    assert_eq!(trip(&of_time, &[failure, failure]), Counts { calls: 2, failures: 2, slow: 0 });
}

#[test]
fn the_counts_have_calls_that_were_cancelled() {
    let clock = FakeClock::new();
    let cancelled = builder(&clock, two_in_a_row()).count_cancelled(true).build().expect("valid settings");
    let log = recorded(&cancelled);
    drop((admitted(&cancelled), admitted(&cancelled)));
    assert_eq!(taken(&log)[0].counts, Counts { calls: 2, failures: 2, slow: 0 });

    let slow = breaker(&clock, Settings::of_last(10).slow_calls(ms(5), 2));
    let log = recorded(&slow);
    let both = (admitted(&slow), admitted(&slow));
    clock.advance(ms(5));
    drop(both);
    assert_eq!(taken(&log)[0].counts, Counts { calls: 2, failures: 0, slow: 2 });
}

#[test]
fn a_circuit_that_is_opened_by_hand_says_what_it_had_counted() {
    let breaker = breaker(&FakeClock::new(), Settings::of_last(10).failures(5));
    let log = recorded(&breaker);
    admitted(&breaker).fail();
    breaker.force_open();
    assert_eq!(taken(&log)[0].counts, Counts { calls: 1, failures: 1, slow: 0 });
    breaker.force_closed();
    assert_eq!(taken(&log)[0].counts, Counts::default());
}

/// A handler may cause transitions: all handlers get each, in order.
#[test]
fn a_handler_may_change_the_circuit() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let own = breaker.clone();
    breaker.add_transition_handler(move |transition| {
        if transition.generation < 4 {
            own.force_closed();
            assert_eq!(own.status().circuit.state, State::Closed);
            own.admit().expect("closed").succeed();
        }
    });
    let log = recorded(&breaker);
    breaker.force_open();
    assert!(taken(&log).iter().map(|transition| transition.generation).eq(1..=4));
}

#[test]
fn a_handler_may_add_another() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let calls = Arc::new(AtomicUsize::new(0));
    let (own, inside) = (breaker.clone(), Arc::clone(&calls));
    breaker.add_transition_handler(move |_| {
        let inside = Arc::clone(&inside);
        own.add_transition_handler(move |_| _ = inside.fetch_add(1, SeqCst));
    });
    breaker.force_open();
    assert_eq!(calls.load(SeqCst), 0);
    breaker.force_closed();
    assert_eq!(calls.load(SeqCst), 1);
}

#[test]
fn a_handler_that_panics_disturbs_no_other() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    breaker.add_transition_handler(|_| panic!("a handler that panics, on purpose"));
    let log = recorded(&breaker);
    breaker.force_open();
    breaker.force_closed();
    assert_eq!(taken(&log).len(), 2);
}

/// The transition is caused by a call that is dropped by a panic: a second one would abort.
#[test]
fn a_handler_that_panics_during_a_panic_does_not_abort() {
    let breaker = breaker(&FakeClock::new(), Settings::consecutive(1));
    breaker.add_transition_handler(|_| panic!("a handler that panics, on purpose"));
    let log = recorded(&breaker);
    let own = breaker.clone();
    let panicked = thread::spawn(move || {
        let _call = own.admit().expect("closed");
        panic!("an operation that panics, on purpose");
    });
    panicked.join().expect_err("it panics");
    assert_eq!(taken(&log).len(), 1);
    assert_eq!(breaker.status().totals.panicked, 1);
}

/// The payload of a panic may panic when it is dropped.
#[test]
fn a_payload_that_panics_is_contained() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            std::panic::panic_any(Payload);
        }
    }
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    breaker.add_transition_handler(|_| std::panic::panic_any(Payload));
    let log = recorded(&breaker);
    breaker.force_open();
    assert_eq!(taken(&log).len(), 1);
}

/// Threads that cause transitions while another calls the handlers leave theirs to it.
#[test]
fn they_come_in_order_from_all_threads() {
    const EACH: usize = 500;
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let log = recorded(&breaker);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..EACH).for_each(|_| breaker.force_open()));
            scope.spawn(|| (0..EACH).for_each(|_| breaker.force_closed()));
        }
    });
    let log = taken(&log);
    assert!(log.iter().map(|transition| transition.generation).eq(1..=8 * EACH as u64));
    assert!(log.windows(2).all(|pair| pair[0].to == pair[1].from));
    assert_eq!(breaker.status().totals.opened, 4 * EACH as u64);
}

#[test]
fn a_handler_that_is_removed_is_called_no_more() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let (called, calls) = (Arc::new(AtomicUsize::new(0)), 5);
    let ids: Vec<_> = (0..calls)
        .map(|_| {
            let called = Arc::clone(&called);
            breaker.add_transition_handler(move |_| _ = called.fetch_add(1, SeqCst))
        })
        .collect();
    breaker.force_open();
    assert_eq!(called.swap(0, SeqCst), calls);
    assert!(breaker.remove_transition_handler(ids[1]) && breaker.remove_transition_handler(ids[4]));
    assert!(!breaker.remove_transition_handler(ids[1]), "it is gone");
    breaker.force_closed();
    assert_eq!(called.load(SeqCst), calls - 2);
}

/// A handler that is removed is dropped outside the lock, and may panic.
#[test]
fn the_drop_of_a_handler_may_use_the_breaker_and_panic() {
    struct OnDrop(Breaker);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.add_transition_handler(|_| ());
            panic!("a panic of a drop");
        }
    }
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let inside = OnDrop(breaker.clone());
    let id = breaker.add_transition_handler(move |_| _ = &inside);
    assert!(breaker.remove_transition_handler(id));
    breaker.force_open();
}

/// Its drop is foreign code, which may use the breaker, and may panic.
#[test]
fn a_handler_that_removes_itself_is_dropped_outside_the_lock() {
    struct Uses(Breaker);

    impl Drop for Uses {
        fn drop(&mut self) {
            self.0.remove_transition_handler(self.0.add_transition_handler(|_| {}));
            panic!("on purpose");
        }
    }

    let breaker = breaker(&FakeClock::new(), Settings::consecutive(1));
    let id = Arc::new(OnceLock::new());
    let (own, own_id, owned) = (breaker.clone(), Arc::clone(&id), Uses(breaker.clone()));
    let new = breaker.add_transition_handler(move |_| {
        let _ = &owned;
        own.remove_transition_handler(*own_id.get().expect("it is set"));
    });
    id.set(new).expect("once");
    assert!(breaker.blocking_execute(|| Err::<(), _>("failed")).is_err());
    assert_eq!(state(&breaker), State::Open);
}
