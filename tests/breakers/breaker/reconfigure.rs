//! Settings that change while calls run.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use bulklink::testing::FakeClock;
use bulklink_breaker::{Settings, State};

use super::{admitted, breaker, ms, recorded, state, taken, two_in_a_row};

#[test]
fn the_next_outcome_counts_by_the_new_settings() {
    let breaker = breaker(&FakeClock::new(), Settings::consecutive(5));
    let log = recorded(&breaker);
    (0..3).for_each(|_| admitted(&breaker).fail());
    let running = admitted(&breaker);
    let before = breaker.reconfigure(two_in_a_row()).expect("valid settings");
    assert_eq!((before, breaker.settings()), (Settings::consecutive(5), two_in_a_row()));
    assert!(state(&breaker) == State::Closed && taken(&log).is_empty(), "no outcome has come");
    running.fail();
    assert_eq!((state(&breaker), taken(&log).len()), (State::Open, 1));
}

#[test]
fn a_cool_down_that_has_begun_stays() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row());
    (0..2).for_each(|_| admitted(&breaker).fail());
    breaker.reconfigure(two_in_a_row().cool_down(ms(1_000)).close_after(2)).expect("valid settings");
    assert!(breaker.admit().is_err());
    clock.advance(ms(10));
    admitted(&breaker).succeed();
    assert_eq!(state(&breaker), State::HalfOpen, "two must succeed");
    admitted(&breaker).fail();
    clock.advance(ms(999));
    assert_eq!((state(&breaker), breaker.admit().is_err()), (State::Open, true), "the next is longer");
}

#[test]
fn a_call_is_slow_only_if_its_beginning_was_known() {
    let clock = FakeClock::new();
    clock.advance(ms(60_000));
    let breaker = breaker(&clock, Settings::consecutive(1));
    let before = admitted(&breaker);
    let own = breaker.clone();
    let before_by_closure = move || own.blocking_execute(|| Ok::<_, ()>(()));
    breaker.reconfigure(Settings::of_last(2).slow_calls(ms(100), 1)).expect("valid settings");
    let after = admitted(&breaker);
    clock.advance(ms(100));
    before.succeed();
    before_by_closure().expect("it succeeds at once");
    assert_eq!((breaker.status().totals.slow, state(&breaker)), (0, State::Closed));
    after.succeed();
    assert_eq!((breaker.status().totals.slow, state(&breaker)), (1, State::Open));
    assert_eq!(breaker.status().totals.successes, 3);
}

#[test]
fn durations_that_matter_no_more_are_not_counted() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, Settings::of_last(2).slow_calls(ms(100), 1));
    let running = admitted(&breaker);
    breaker.reconfigure(Settings::consecutive(1)).expect("valid settings");
    clock.advance(ms(100));
    running.succeed();
    assert_eq!(
        (breaker.status().totals.slow, breaker.status().totals.successes, state(&breaker)),
        (0, 1, State::Closed)
    );
}

#[test]
fn an_impossible_setting_changes_nothing() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let refused = breaker.reconfigure(two_in_a_row().probes(0)).expect_err("impossible");
    assert_eq!(refused.to_string(), "breaker test: probes must be from 1 to 100, got 0");
    assert_eq!(breaker.settings(), two_in_a_row());
}

#[test]
fn no_success_is_lost_while_settings_change() {
    const CALLS: u64 = 20_000;
    let breaker = breaker(&FakeClock::new(), Settings::consecutive(3));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let callers: Vec<_> =
            (0..2).map(|_| scope.spawn(|| (0..CALLS).for_each(|_| admitted(&breaker).succeed()))).collect();
        scope.spawn(|| {
            let timed = Settings::of_last(9).slow_calls(ms(1), 9);
            while !is_over.load(Relaxed) {
                let settings = if breaker.settings() == timed { Settings::consecutive(3) } else { timed };
                breaker.reconfigure(settings).expect("valid settings");
            }
        });
        for caller in callers {
            caller.join().expect("no panic");
        }
        is_over.store(true, Relaxed);
    });
    let totals = breaker.status().totals;
    assert_eq!((totals.successes, totals.slow, totals.stale), (2 * CALLS, 0, 0));
}
