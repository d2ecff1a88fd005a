//! Faults of other circuit breakers, foremost Bulkman's. Each test shows that this one is free of
//! one. `guard/faults.rs` has those that also concern the bulkhead.

use bulklink::testing::{Executor, FakeClock};
use bulklink_breaker::{Breaker, Health, Settings, State};

use super::{admitted, breaker, builder, ms, recorded, state, taken, two_in_a_row};

/// Bulkman: a result from before the trip closes the circuit.
#[test]
fn a_stale_success_does_not_close_the_circuit() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row());
    let [early, late] = [(); 2].map(|()| admitted(&breaker));
    admitted(&breaker).fail();
    admitted(&breaker).fail();
    early.succeed();
    assert_eq!(state(&breaker), State::Open);
    clock.advance(ms(10));
    let probe = admitted(&breaker);
    late.succeed();
    assert_eq!(state(&breaker), State::HalfOpen);
    probe.fail();
    assert_eq!(state(&breaker), State::Open);
}

/// The same for a failure, which must not open a circuit that was just closed.
#[test]
fn a_stale_failure_does_not_open_the_circuit() {
    let breaker = breaker(&FakeClock::new(), two_in_a_row());
    let before = [(); 5].map(|()| admitted(&breaker));
    breaker.force_closed();
    before.into_iter().for_each(bulklink_breaker::Call::fail);
    assert_eq!((state(&breaker), breaker.status().circuit.counts.calls), (State::Closed, 0));
}

/// Bulkman: as many calls as come are let through after the cool-down.
#[test]
fn probes_are_bounded() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row().probes(3).close_after(3));
    admitted(&breaker).fail();
    admitted(&breaker).fail();
    clock.advance(ms(10));
    let probes: Vec<_> = (0..100).filter_map(|_| breaker.admit().ok()).collect();
    assert_eq!((probes.len(), breaker.status().circuit.probes), (3, 3));
    probes.into_iter().for_each(bulklink_breaker::Call::succeed);
    assert_eq!(state(&breaker), State::Closed);
}

/// Bulkman: the health stays bad after the cool-down until traffic comes.
#[test]
fn the_health_after_the_cool_down_needs_no_traffic() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row());
    assert_eq!(breaker.health(), Health::Healthy);
    admitted(&breaker).fail();
    admitted(&breaker).fail();
    let mut seen = Vec::new();
    for _ in 0..12 {
        seen.push(breaker.health());
        clock.advance(ms(1));
    }
    let isolated = [Health::Isolated; 10];
    assert_eq!(seen, [&isolated[..], &[Health::Degraded; 2]].concat());
    assert_eq!(breaker.status().totals.probes, 0);
    admitted(&breaker).succeed();
    assert!(breaker.health().is_healthy());
}

/// Bulkman: "5 of 10" was reduced to one half, so that the first failure opened the circuit.
#[test]
fn five_of_ten_are_five_failures() {
    let breaker = breaker(&FakeClock::new(), Settings::of_last(10).failures(5));
    for failures in 1..=4 {
        admitted(&breaker).fail();
        assert_eq!(state(&breaker), State::Closed, "after {failures} failures");
    }
    for _ in 0..5 {
        admitted(&breaker).succeed();
    }
    admitted(&breaker).fail();
    assert_eq!(state(&breaker), State::Open);
}

/// Bulkman: the circuit counts five failures, however long ago they were.
#[test]
fn failures_leave_the_window() {
    let breaker = breaker(&FakeClock::new(), Settings::of_last(10).failures(5));
    for _ in 0..20 {
        for _ in 0..4 {
            admitted(&breaker).fail();
        }
        for _ in 0..6 {
            admitted(&breaker).succeed();
        }
    }
    assert_eq!((state(&breaker), breaker.status().totals.failures), (State::Closed, 80));
}

/// Bulkman: calls that are cancelled or that time out never reach the breaker.
#[test]
fn cancelled_operations_reach_the_breaker() {
    let mut executor = Executor::new(FakeClock::new());
    let builder = builder(&executor.clock(), two_in_a_row()).count_cancelled(true);
    let breaker = builder.build().expect("valid settings");
    for _ in 0..2 {
        let own = breaker.clone();
        let pending = std::future::pending::<Result<(), ()>>();
        let running = executor.spawn(async move { own.execute(pending).await });
        executor.run_until_idle();
        running.cancel();
    }
    assert_eq!((state(&breaker), breaker.status().totals.cancelled), (State::Open, 2));
}

/// Bulkman: zero and absurd limits are accepted.
#[test]
fn impossible_settings_are_refused_by_name() {
    let clock = FakeClock::new();
    let refused = |settings: Settings| builder(&clock, settings).build().expect_err("impossible");
    assert_eq!(refused(Settings::consecutive(0)).field(), "window");
    assert_eq!(refused(Settings::of_last(10)).field(), "failures");
    assert_eq!(refused(Settings::of_last(10).failures(0)).field(), "failures");
    assert_eq!(refused(Settings::of_last(10).failures(11)).field(), "failures");
    assert_eq!(refused(Settings::of_last(10).failure_rate(101)).field(), "failure_rate");
    assert_eq!(refused(two_in_a_row().cool_down(ms(0))).field(), "cool_down");
    assert_eq!(refused(two_in_a_row().probes(0)).field(), "probes");
    assert_eq!(refused(two_in_a_row().close_after(0)).field(), "close_after");
    let text = refused(two_in_a_row().probes(0)).to_string();
    assert_eq!(text, "breaker test: probes must be from 1 to 100, got 0");
}

/// A probe that never ends holds its place only for its lease.
#[test]
fn a_lost_probe_does_not_keep_the_circuit_half_open() {
    let clock = FakeClock::new();
    let breaker: Breaker = breaker(&clock, two_in_a_row().probe_lease(ms(50)));
    let log = recorded(&breaker);
    admitted(&breaker).fail();
    admitted(&breaker).fail();
    clock.advance(ms(10));
    std::mem::forget(admitted(&breaker));
    clock.advance(ms(49));
    breaker.admit().expect_err("the lease has not passed");
    clock.advance(ms(1));
    admitted(&breaker).succeed();
    assert_eq!((state(&breaker), taken(&log).len()), (State::Closed, 3));
}
