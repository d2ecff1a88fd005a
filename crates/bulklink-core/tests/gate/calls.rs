//! The account of single calls beside a gate.

use std::time::Duration;

use bulklink_core::{Answer, Calls, Gate, Instant, Limits, Request, Reserve};

type TestGate = Gate<()>;

fn gate(capacity: usize, waiting_room: usize) -> TestGate {
    Gate::new(Limits::new(capacity).with_waiting_room(waiting_room)).expect("valid")
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

#[test]
fn measured_holds_are_summed_in_snapshots_and_averaged_in_intervals() {
    let mut gate = gate(2, 1);
    let plain = Calls::new(Reserve::Learnt);
    assert!(!plain.measures_holds() && !plain.takes_back());
    let mut calls = plain.measure_holds(true);
    assert!(calls.measures_holds() && !calls.takes_back());
    let enter =
        |gate: &mut TestGate, calls: &mut Calls, now| calls.enter(gate, &Request::new(), at(now)).expect("valid");
    let Answer::Granted(first) = enter(&mut gate, &mut calls, 100) else { panic!("not granted") };
    let Answer::Granted(second) = enter(&mut gate, &mut calls, 110) else { panic!("not granted") };
    let Answer::Queued(ticket) = enter(&mut gate, &mut calls, 120) else { panic!("not queued") };
    assert_eq!((calls.cost(&first), first.cost(), first.is_recorded()), (1, None, true));
    gate.release(calls.end(first, at(130)));
    calls.advance(&mut gate, at(130));
    let Answer::Granted(third) = calls.collect(&mut gate, ticket) else { panic!("not granted") };
    assert_eq!(third.waited_nanos(), 10);
    let mut before = gate.snapshot(Some(at(140)));
    calls.complete(&mut before);
    assert_eq!((before.holds, before.cumulative_hold()), (1, Duration::from_nanos(30)));
    gate.release(calls.end(second, at(150)));
    gate.release(calls.end(third, at(150)));
    let mut after = gate.snapshot(Some(at(150)));
    calls.complete(&mut after);
    let interval = after.since(&before).expect("in order");
    assert_eq!((interval.holds, interval.mean_hold()), (2, Some(Duration::from_nanos(30))), "40 ns and 20 ns");
    assert_eq!(interval.cumulative_hold(), Duration::from_nanos(60));
}

#[test]
fn a_shorter_operation_reduces_the_reserve_by_little_if_its_call_has_waited() {
    let until = |deadline| Request::new().deadline(at(deadline));
    for (waited, less) in [(0, 250_000 * 16 / 1_024), (1, 250_000 / 1_024), (50_000, 250_000 / 1_024)] {
        let (mut gate, mut calls) = (gate(1, 1), Calls::new(Reserve::Learnt));
        // The second of them replaces the first.
        for hold in [260_000, 250_000] {
            let Ok(Answer::Granted(first)) = calls.enter(&mut gate, &until(1_000_000), at(0)) else {
                panic!("not granted")
            };
            gate.release(calls.end(first, at(hold)));
        }
        let Ok(Answer::Granted(running)) = gate.enter(&Request::new(), Some(at(300_000))) else {
            panic!("not granted")
        };
        let Ok(Answer::Queued(ticket)) = calls.enter(&mut gate, &until(1_300_000), at(300_000)) else {
            panic!("not queued")
        };
        gate.release(running);
        calls.advance(&mut gate, at(300_000 + waited));
        let Answer::Granted(grant) = calls.collect(&mut gate, ticket) else { panic!("not granted") };
        gate.release(calls.end(grant, at(300_000 + waited + 200_000)));
        let mut snapshot = gate.snapshot(None);
        calls.complete(&mut snapshot);
        assert_eq!(snapshot.reserve(), Duration::from_nanos(250_000 - less), "after {waited} ns");
    }
}

#[test]
fn only_a_call_that_needs_a_record_has_one() {
    let (mut gate, mut calls) = (gate(2, 0), Calls::new(Reserve::Learnt));
    for (request, is_recorded) in [(Request::new(), false), (Request::new().deadline(at(9)), true)] {
        let Ok(Answer::Granted(grant)) = calls.enter(&mut gate, &request, at(0)) else { panic!("not granted") };
        assert_eq!((grant.is_recorded(), calls.cost(&grant)), (is_recorded, 1));
        gate.release(calls.end(grant, at(1)));
    }
}

#[test]
fn every_input_needs_the_time_where_holds_are_measured_or_a_slot_may_be_taken_back() {
    let plain = || Calls::new(Reserve::Learnt);
    let mut gate = gate(1, 1);
    assert!(!plain().needs_now(&gate) && plain().measure_holds(true).needs_now(&gate));
    let mut calls = plain().collect_limit(Duration::from_nanos(5));
    assert!(!calls.needs_now(&gate), "there is no ticket");
    let Ok(Answer::Granted(running)) = calls.enter(&mut gate, &Request::new(), at(0)) else { panic!("not granted") };
    assert!(!calls.needs_now(&gate), "a slot that is used is never taken back");
    let Ok(Answer::Queued(ticket)) = calls.enter(&mut gate, &Request::new(), at(0)) else { panic!("not queued") };
    assert!(calls.needs_now(&gate) && !plain().needs_now(&gate));
    gate.release(running);
    calls.advance(&mut gate, at(1));
    assert!(calls.needs_now(&gate), "it is not collected yet");
    let Answer::Granted(grant) = calls.collect(&mut gate, ticket) else { panic!("not granted") };
    assert!(!calls.needs_now(&gate));
    gate.release(calls.end(grant, at(2)));
}
