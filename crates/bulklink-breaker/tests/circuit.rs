//! What users of a circuit rely on, one by one; and the faults of other breakers, which this one
//! does not have.

use std::time::Duration;

use bulklink_breaker::{Circuit, Counts, Instant, Mark, Outcomes, Pass, ProbeId, Refusal, Settings, State};

const GOOD: Option<Mark> = Some(Mark { failed: false, slow: false });
const BAD: Option<Mark> = Some(Mark { failed: true, slow: false });
const SLOW: Option<Mark> = Some(Mark { failed: false, slow: true });
const BOTH: Option<Mark> = Some(Mark { failed: true, slow: true });

const START: Instant = Instant::from_nanos(1_000_000_000_000);
const SECOND: Duration = Duration::from_secs(1);

fn circuit(settings: Settings) -> Circuit {
    Circuit::new(settings).expect("the settings are possible")
}

fn after(seconds: u32) -> Instant {
    START + SECOND * seconds
}

fn before(seconds: u64) -> Instant {
    Instant::from_nanos(START.as_nanos() - seconds * 1_000_000_000)
}

/// Lets a call through, which ends immediately.
fn call(circuit: &mut Circuit, now: Instant, outcome: Option<Mark>) -> State {
    let pass = circuit.admit(now, ProbeId(now.as_nanos())).expect("the call is let through");
    assert!(circuit.settle(now, pass, outcome));
    circuit.view(now).state
}

/// Returns a circuit that has opened at the start, for ten seconds.
fn open(settings: Settings) -> Circuit {
    let mut circuit = circuit(settings.cool_down(10 * SECOND));
    let mut states = (0..100).map(|_| call(&mut circuit, START, BAD));
    assert!(states.any(|state| state == State::Open), "a hundred failures open it");
    circuit
}

#[test]
fn five_of_ten_is_not_one_of_two() {
    let mut circuit = circuit(Settings::of_last(10).failures(5));
    for outcome in [BAD, GOOD, BAD, BAD, GOOD, BAD] {
        assert_eq!(call(&mut circuit, START, outcome), State::Closed, "four of six have failed");
    }
    assert_eq!(call(&mut circuit, START, BAD), State::Open, "five of seven have failed");
}

#[test]
fn the_fifth_failure_of_eleven_calls_is_one_of_the_last_ten_or_not() {
    for (first, expected) in [(BAD, State::Closed), (GOOD, State::Open)] {
        let mut circuit = circuit(Settings::of_last(10).failures(5));
        for outcome in [first, BAD, BAD, BAD, GOOD, GOOD, GOOD, GOOD, GOOD, if first == BAD { GOOD } else { BAD }] {
            assert_eq!(call(&mut circuit, START, outcome), State::Closed);
        }
        assert_eq!(call(&mut circuit, START, BAD), expected);
    }
}

#[test]
fn failures_in_a_row_open_the_circuit_and_a_success_between_does_not() {
    let mut circuit = circuit(Settings::consecutive(3));
    for outcome in [BAD, BAD, GOOD, BAD, BAD, None] {
        assert_eq!(call(&mut circuit, START, outcome), State::Closed);
    }
    assert_eq!(call(&mut circuit, START, BAD), State::Open, "a call that does not count is not between");
}

#[test]
fn a_rate_needs_a_full_window_of_calls_unless_a_number_is_set() {
    let rate = Settings::of_last(4).failure_rate(50);
    let mut full = circuit(rate);
    let states = [BAD, BAD, GOOD, GOOD].map(|outcome| call(&mut full, START, outcome));
    assert_eq!(states, [State::Closed, State::Closed, State::Closed, State::Open]);
    let mut two = circuit(rate.min_calls(2));
    assert_eq!([BAD, GOOD].map(|outcome| call(&mut two, START, outcome)), [State::Closed, State::Open]);
}

#[test]
fn a_rate_over_time_needs_20_calls_unless_a_number_is_set() {
    let mut circuit = circuit(Settings::over(SECOND).failure_rate(100));
    for _ in 1..20 {
        assert_eq!(call(&mut circuit, START, BAD), State::Closed);
    }
    assert_eq!(call(&mut circuit, START, BAD), State::Open);
}

#[test]
fn a_window_of_time_forgets_after_nine_tenths_of_it_at_the_earliest() {
    for (millis, expected) in [(9_999, State::Open), (10_000, State::Closed)] {
        let mut circuit = circuit(Settings::over(10 * SECOND).failures(2));
        call(&mut circuit, START, BAD);
        assert_eq!(call(&mut circuit, START + Duration::from_millis(millis), BAD), expected);
    }
    let mut circuit = circuit(Settings::over(10 * SECOND).failures(2));
    call(&mut circuit, START + Duration::from_millis(999), BAD);
    assert_eq!(circuit.view(after(10)).counts, Counts::default());
    assert_eq!(circuit.view(START + Duration::from_millis(9_999)).counts.failures, 1);
}

/// Until then, what comes counts for the newest part of the window that had an outcome.
#[test]
fn a_clock_that_is_set_back_matters_to_a_window_only_until_the_circuit_has_closed() {
    let mut circuit = circuit(Settings::over(10 * SECOND).failures(2));
    call(&mut circuit, after(3600), BAD);
    assert_eq!(circuit.view(START).counts.failures, 1);
    circuit.force_closed();
    call(&mut circuit, START, BAD);
    assert_eq!(call(&mut circuit, after(10), BAD), State::Closed);
}

#[test]
fn a_success_that_is_slow_opens_the_circuit_and_fails_a_probe() {
    let mut circuit = open(Settings::of_last(4).slow_calls(SECOND, 2).failures(4));
    assert_eq!(call(&mut circuit, after(10), SLOW), State::Open);
    assert_eq!(call(&mut circuit, after(20), GOOD), State::Closed);
    assert_eq!([SLOW, GOOD, SLOW].map(|outcome| call(&mut circuit, after(20), outcome))[2], State::Open);
}

#[test]
fn the_cool_down_doubles_each_time_that_the_probes_fail_up_to_the_longest() {
    let mut circuit = open(Settings::consecutive(1).longest_cool_down(35 * SECOND));
    let mut now = START;
    for seconds in [10, 20, 35, 35] {
        let until = now + SECOND * seconds;
        assert_eq!(circuit.view(now).retry_at, Some(until));
        now = until;
        call(&mut circuit, now, BAD);
    }
    call(&mut circuit, now + 35 * SECOND, GOOD);
    call(&mut circuit, now, BAD);
    assert_eq!(circuit.view(now).retry_at, Some(now + 10 * SECOND), "after a success it begins again");
}

/// A cool-down can double more often than a number of 32 bits has bits.
#[test]
fn the_cool_down_doubles_from_a_nanosecond_to_the_longest() {
    let settings = Settings::consecutive(1).cool_down(Duration::from_nanos(1)).longest_cool_down(20 * SECOND);
    let mut circuit = circuit(settings);
    let mut now = START;
    call(&mut circuit, now, BAD);
    for doubled in 0..100 {
        let nanos = 1_u64.checked_shl(doubled).map_or(u64::MAX, |nanos| nanos);
        let until = now + Duration::from_nanos(nanos).min(20 * SECOND);
        assert_eq!(circuit.view(now).retry_at, Some(until), "doubled {doubled} times");
        now = until;
        call(&mut circuit, now, BAD);
    }
}

#[test]
fn at_the_end_of_time_nothing_overflows() {
    let end = Instant::FAR_FUTURE;
    for settings in [Settings::consecutive(1), Settings::over(SECOND).failures(1)] {
        let mut circuit = circuit(settings);
        call(&mut circuit, START, GOOD);
        call(&mut circuit, end, BAD);
        assert_eq!(circuit.generation(), 1);
        assert_eq!(call(&mut circuit, end, GOOD), State::Closed, "the cool-down ends with time");
    }
}

#[test]
fn a_stale_success_from_before_the_trip_cannot_close_the_circuit() {
    let mut circuit = circuit(Settings::consecutive(2).cool_down(10 * SECOND));
    let stale = circuit.admit(START, ProbeId(1)).unwrap();
    call(&mut circuit, START, BAD);
    call(&mut circuit, START, BAD);
    assert!(!circuit.settle(START, stale, GOOD));
    let probe = circuit.admit(after(10), ProbeId(2)).unwrap();
    assert!(!circuit.settle(after(10), stale, GOOD));
    assert_eq!(circuit.view(after(10)).state, State::HalfOpen);
    assert!(circuit.settle(after(10), probe, BAD));
    assert!(!circuit.settle(after(10), probe, GOOD), "nor can a probe that has ended");
    assert_eq!(circuit.view(after(10)).state, State::Open);
}

#[test]
fn a_stale_failure_from_before_the_trip_cannot_open_a_circuit_that_has_closed() {
    let mut circuit = circuit(Settings::consecutive(1).cool_down(10 * SECOND));
    let stale = circuit.admit(START, ProbeId(1)).unwrap();
    call(&mut circuit, START, BAD);
    assert_eq!(call(&mut circuit, after(10), GOOD), State::Closed);
    assert!(!circuit.settle(after(10), stale, BAD));
    assert_eq!(circuit.view(after(10)).counts, Counts::default());
}

/// sony/gobreaker#91 is about calls that were let through before the trip.
#[test]
fn thirty_thousand_calls_in_flight_before_a_trip_change_nothing() {
    let mut circuit = circuit(Settings::consecutive(5).cool_down(10 * SECOND));
    let in_flight: Vec<Pass> = (0..30_000).map(|id| circuit.admit(START, ProbeId(id)).unwrap()).collect();
    for pass in &in_flight[..5] {
        assert!(circuit.settle(START, *pass, BAD));
    }
    let change_nothing = |circuit: &Circuit, now| {
        let mut after = circuit.clone();
        for (pass, outcome) in in_flight[5..].iter().zip([GOOD, BAD, SLOW, None].into_iter().cycle()) {
            assert!(!after.settle(now, *pass, outcome));
        }
        assert_eq!(after, *circuit);
        circuit.view(now).state
    };
    assert_eq!(change_nothing(&circuit, START), State::Open);
    circuit.admit(after(10), ProbeId(99_999)).unwrap();
    assert_eq!(change_nothing(&circuit, after(10)), State::HalfOpen);
    circuit.force_closed();
    assert_eq!(change_nothing(&circuit, after(11)), State::Closed);
}

#[test]
fn half_open_probes_are_bounded_however_many_calls_come() {
    let mut circuit = open(Settings::consecutive(1).probes(3).probe_lease(5 * SECOND).close_after(3));
    let now = after(10);
    let admitted: Vec<_> = (0..10_000).map(|id| circuit.admit(now, ProbeId(id))).collect();
    assert_eq!(admitted.iter().filter(|admitted| admitted.is_ok()).count(), 3);
    let refusal = Refusal::new(State::HalfOpen, Some(after(15)));
    assert!(admitted[3..].iter().all(|admitted| *admitted == Err(refusal)));
    assert_eq!(refused_at(&circuit, now), Some(refusal));
    circuit.settle(now, admitted[1].unwrap(), None);
    assert_eq!((circuit.view(now).probes, refused_at(&circuit, now)), (2, None), "its place is free");
}

#[test]
fn a_probe_that_never_ends_is_replaced_after_its_lease_and_then_counts_no_more() {
    let mut circuit = open(Settings::consecutive(1).probe_lease(5 * SECOND));
    let lost = circuit.admit(after(10), ProbeId(1)).unwrap();
    let just_before = Instant::from_nanos(after(15).as_nanos() - 1);
    assert!(circuit.admit(just_before, ProbeId(2)).is_err());
    assert_eq!((circuit.view(just_before).probes, circuit.view(after(15)).probes), (1, 0));
    let next = circuit.admit(after(15), ProbeId(2)).unwrap();
    assert!(!circuit.settle(after(15), lost, GOOD));
    assert!(circuit.settle(after(15), next, GOOD));
}

#[test]
fn of_probes_whose_leases_end_together_the_lowest_number_is_replaced() {
    let mut circuit = open(Settings::consecutive(1).probes(3).close_after(3).probe_lease(5 * SECOND));
    let probes = [1, 3, 2].map(|id| circuit.admit(after(10), ProbeId(id)).unwrap());
    assert!(circuit.settle(after(10), probes[0], GOOD));
    for id in 4..=5 {
        circuit.admit(after(15), ProbeId(id)).unwrap();
    }
    assert!(!circuit.settle(after(15), probes[2], GOOD) && circuit.settle(after(15), probes[1], GOOD));
}

#[test]
fn a_late_probe_that_was_not_replaced_still_counts() {
    let mut circuit = open(Settings::consecutive(1).probe_lease(5 * SECOND));
    let late = circuit.admit(after(10), ProbeId(1)).unwrap();
    assert_eq!(circuit.admit(after(60), ProbeId(1)), Ok(late), "it may ask again");
    assert!(circuit.settle(after(60), late, GOOD));
    assert_eq!(circuit.view(after(60)).state, State::Closed);
}

/// safe-global/safe-client-gateway#3442: a service hung, every call of a half-open circuit was let
/// through until the first of them timed out, and the outage got 17 times its usual calls.
#[test]
fn probes_do_not_amplify_an_outage() {
    let settings = Settings::consecutive(5).cool_down(30 * SECOND).probe_lease(60 * SECOND).probes(3);
    let mut circuit = circuit(settings);
    let mut running: Vec<(Instant, Pass)> = vec![];
    let (mut came, mut let_through, mut most) = (0, 0, 0);
    // An hour of ten calls a second, each of which hangs for 30 s and then fails.
    for tick in 0..36_000 {
        let now = START + tick * SECOND / 10;
        let (ended, rest): (Vec<_>, Vec<_>) = running.into_iter().partition(|(end, _)| *end <= now);
        running = rest;
        for (_, pass) in ended {
            circuit.settle(now, pass, BAD);
        }
        came += 1;
        if let Ok(pass) = circuit.admit(now, ProbeId(u64::from(tick))) {
            running.push((now + 30 * SECOND, pass));
            // The first calls are from before the trip: nothing was known yet.
            if circuit.generation() > 0 {
                let_through += 1;
                most = most.max(running.len());
            }
        }
    }
    assert_eq!((came, most), (36_000, 3));
    assert!(let_through <= 3 * 60, "{let_through} calls in 60 cycles of 30 s open and 30 s half-open");
}

#[test]
fn a_circuit_opened_by_hand_stays_open_until_it_is_closed_by_hand() {
    let mut circuit = circuit(Settings::default());
    circuit.force_open();
    let view = circuit.view(Instant::FAR_FUTURE);
    assert_eq!((view.state, view.is_forced, view.retry_at, view.generation), (State::Open, true, None, 1));
    assert_eq!(refused_at(&circuit, Instant::FAR_FUTURE), Some(Refusal::new(State::Open, None)));
    circuit.force_closed();
    assert_eq!((call(&mut circuit, START, GOOD), circuit.generation()), (State::Closed, 2));
}

/// Only then can a breaker count successes without its lock.
#[test]
fn a_circuit_that_opens_by_numbers_of_calls_is_calm_until_it_opens() {
    let by_time = Settings::over(SECOND).failures(2).slow_calls(SECOND, 2);
    for settings in [Settings::consecutive(2), Settings::of_last(3).slow_calls(SECOND, 2), by_time] {
        let mut circuit = circuit(settings);
        assert!(circuit.is_calm());
        call(&mut circuit, START, BOTH);
        assert!(circuit.is_calm());
        call(&mut circuit, START, BOTH);
        assert!(!circuit.is_calm(), "it is open");
    }
}

/// A success that is added late ends a row of failures all the same.
#[test]
fn successes_that_are_added_late_push_failures_out_of_the_window() {
    let mut circuit = circuit(Settings::of_last(5).failures(3));
    for _ in 0..2 {
        call(&mut circuit, START, BAD);
    }
    circuit.add_successes(START, 3);
    assert_eq!(circuit.view(START).counts, Counts { calls: 5, failures: 2, slow: 0 });
    circuit.add_successes(START, 1);
    assert_eq!(circuit.view(START).counts, Counts { calls: 5, failures: 1, slow: 0 });
    assert_eq!(call(&mut circuit, START, BAD), State::Closed, "one is out of the window, and this pushes out another");
    circuit.add_successes(START, u64::from(u32::MAX));
    assert_eq!(circuit.view(START).counts, Counts { calls: 5, failures: 0, slow: 0 });
    for _ in 0..3 {
        call(&mut circuit, START, BAD);
    }
    let open = circuit.clone();
    circuit.add_successes(START, 5);
    assert_eq!((circuit.view(START).state, &circuit), (State::Open, &open));
}

#[test]
fn a_circuit_that_opens_by_a_rate_is_calm_while_its_window_is_full() {
    for settings in [
        Settings::of_last(2).failure_rate(100),
        Settings::of_last(2).failures(1).slow_rate(SECOND, 100),
        Settings::of_last(2).failures(1).min_calls(2),
    ] {
        let mut circuit = circuit(settings);
        assert!(!circuit.is_calm());
        call(&mut circuit, START, GOOD);
        assert!(!circuit.is_calm(), "a success could be the call that a rate still needs");
        call(&mut circuit, START, GOOD);
        assert!(circuit.is_calm());
    }
    let mut half = circuit(Settings::of_last(3).failure_rate(50));
    for outcome in [GOOD, BAD, GOOD] {
        call(&mut half, START, outcome);
    }
    assert!(half.is_calm(), "a failure is no reason not to be calm");
    assert!(!circuit(Settings::over(SECOND).failure_rate(1)).is_calm());
    assert!(!circuit(Settings::over(SECOND).failures(1).min_calls(1)).is_calm());
}

#[test]
fn outcomes_keep_all_numbers_and_the_last_marks_of_a_window_of_calls() {
    let marks = [BAD, SLOW, GOOD].map(Option::unwrap);
    let mut of_two = Outcomes::default();
    let mut by_time = Outcomes::default();
    assert!(of_two.is_empty());
    for mark in marks {
        of_two.push(&Settings::consecutive(2), mark);
        by_time.push(&Settings::over(SECOND).failures(1), mark);
        assert!(!of_two.is_empty());
    }
    let counts = Counts { calls: 3, failures: 1, slow: 1 };
    assert_eq!((of_two.counts(), by_time.counts()), (counts, counts));
    assert!(of_two.marks().eq(marks[1..].iter().copied()));
    assert_eq!((of_two.marks().len(), by_time.marks().len()), (2, 0));
    of_two.clear();
    assert_eq!(of_two, Outcomes::default());
}

#[test]
fn states_have_names_for_machines_and_for_people() {
    let names = [State::Closed, State::Open, State::HalfOpen].map(|state| (state.as_str(), state.to_string()));
    let expected = [("closed", "closed"), ("open", "open"), ("half_open", "half-open")];
    assert_eq!(names, expected.map(|(machine, person)| (machine, person.to_owned())));
}

fn refused_at(circuit: &Circuit, now: Instant) -> Option<Refusal> {
    circuit.check(now).err()
}

#[test]
fn a_clock_that_is_set_back_is_followed_by_a_cool_down_and_by_leases() {
    let mut circuit = open(Settings::consecutive(1).probe_lease(4 * SECOND));
    let refused = |state, at| Err(Refusal::new(state, Some(at)));
    circuit.follow(before(60));
    assert_eq!(circuit.check(before(60)), refused(State::Open, before(50)));
    assert!(circuit.admit(before(50), ProbeId(7)).is_ok());
    circuit.follow(before(90));
    assert_eq!(circuit.check(before(90)), refused(State::HalfOpen, before(86)));
    assert!(circuit.admit(before(86), ProbeId(8)).is_ok());
    circuit.force_open();
    circuit.follow(before(900));
    assert_eq!(circuit.check(after(900)), Err(Refusal::new(State::Open, None)));
}

/// Its parts are of a second.
#[test]
fn a_clock_that_is_set_back_beyond_a_window_of_time_begins_a_new_one() {
    for (back, failures) in [(10, 2), (11, 1)] {
        let mut circuit = circuit(Settings::over(10 * SECOND).failures(9));
        call(&mut circuit, START, BAD);
        let now = before(back);
        call(&mut circuit, now, BAD);
        assert_eq!(circuit.view(now).counts.failures, failures, "{back} s back");
    }
}
