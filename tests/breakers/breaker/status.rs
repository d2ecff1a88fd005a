//! Since when a circuit is in its state, and why.

use bulklink::testing::FakeClock;
use bulklink_breaker::{Breaker, Counts, State};

use super::{admitted, breaker, ms, two_in_a_row};

/// The state, its age, and since when the circuit is not closed, in milliseconds.
fn ages(breaker: &Breaker) -> (State, u128, Option<u128>) {
    let status = breaker.status();
    (status.circuit.state, status.state_age.as_millis(), status.unhealthy_for.map(|age| age.as_millis()))
}

#[test]
fn the_ages_are_those_of_the_state_and_of_all_that_was_since_it_was_closed() {
    let clock = FakeClock::new();
    clock.advance(ms(1_000));
    let breaker = breaker(&clock, two_in_a_row());
    clock.advance(ms(3));
    assert_eq!(ages(&breaker), (State::Closed, 3, None));
    admitted(&breaker).fail();
    admitted(&breaker).fail();
    clock.advance(ms(4));
    assert_eq!(ages(&breaker), (State::Open, 4, Some(4)));
    assert_eq!(breaker.status().retry_after, Some(ms(6)));
    // Half-open since the cool-down of 10 ms has ended, though no call has come since.
    clock.advance(ms(8));
    assert_eq!(ages(&breaker), (State::HalfOpen, 2, Some(12)));
    let probe = admitted(&breaker);
    clock.advance(ms(1));
    assert_eq!(ages(&breaker), (State::HalfOpen, 1, Some(13)));
    probe.fail();
    clock.advance(ms(5));
    assert_eq!(ages(&breaker), (State::Open, 5, Some(18)));
    clock.advance(ms(5));
    admitted(&breaker).succeed();
    clock.advance(ms(7));
    assert_eq!(ages(&breaker), (State::Closed, 7, None));
    breaker.force_open();
    clock.advance(ms(50));
    assert_eq!((ages(&breaker), breaker.status().retry_after), ((State::Open, 50, Some(50)), None));
    breaker.force_closed();
    assert_eq!(ages(&breaker), (State::Closed, 0, None));
}

#[test]
fn the_window_that_has_opened_it_is_known_until_it_closes() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row());
    let tripped = || breaker.status().tripped;
    admitted(&breaker).fail();
    assert_eq!(tripped(), None);
    admitted(&breaker).fail();
    let counts = Some(Counts { calls: 2, failures: 2, slow: 0 });
    assert_eq!(tripped(), counts);
    clock.advance(ms(10));
    admitted(&breaker).fail();
    assert_eq!(tripped(), counts);
    clock.advance(ms(10));
    admitted(&breaker).succeed();
    assert_eq!(tripped(), None);
    breaker.force_open();
    assert_eq!(tripped(), None);
}
