//! The parts that the exhaustive search does not cover: wakers, watches, the occupancy in
//! rejections, clocks that run backwards, and tickets of another gate.

use std::num::NonZeroU64;
use std::time::Duration;

use bulklink_core::plumbing::{self, Word};
use bulklink_core::{
    Answer, EventFilter, Gate, Grant, Instant, Interval, IntervalError, InvalidArgument, Limits, Occupancy, Reason,
    Rejection, Request, Restriction, Snapshot, Ticket,
};

type TestGate = Gate<&'static str>;

fn gate(capacity: usize, waiting_room: usize) -> TestGate {
    Gate::new(Limits::new(capacity).with_waiting_room(waiting_room)).expect("valid")
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn within(nanos: u64) -> Request {
    Request::new().within(Duration::from_nanos(nanos))
}

fn grant(gate: &mut TestGate, now: u64) -> Grant {
    match gate.enter(&Request::new(), Some(at(now))) {
        Ok(Answer::Granted(grant)) => grant,
        other => panic!("{other:?}"),
    }
}

fn ticket(gate: &mut TestGate, request: &Request, now: u64) -> Ticket {
    match gate.enter(request, Some(at(now))) {
        Ok(Answer::Queued(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

fn rejection(gate: &mut TestGate, request: &Request, now: u64) -> Rejection {
    match gate.enter(request, Some(at(now))) {
        Ok(Answer::Rejected(rejection)) => rejection,
        other => panic!("{other:?}"),
    }
}

fn rejected(gate: &mut TestGate, ticket: Ticket) -> Rejection {
    match gate.collect(ticket) {
        Answer::Rejected(rejection) => rejection,
        other => panic!("{other:?}"),
    }
}

/// Returns in flight, in use, waiting, capacity and waiting room.
fn shown(occupancy: Occupancy) -> [usize; 5] {
    [occupancy.in_flight(), occupancy.in_use(), occupancy.waiting(), occupancy.capacity(), occupancy.waiting_room()]
}

#[test]
fn every_rejection_has_the_figures_right_after_it() {
    let mut gate = gate(3, 1);
    let _running = [grant(&mut gate, 0), grant(&mut gate, 0)];
    let waiting = ticket(&mut gate, &within(5).cost(2), 0);
    let saturated = rejection(&mut gate, &Request::new(), 1);
    assert_eq!((saturated.reason(), shown(saturated.occupancy())), (Reason::Saturated, [2, 2, 1, 3, 1]));
    assert_eq!((saturated.waited(), saturated.limit()), (Duration::ZERO, None));
    gate.advance(Some(at(7)));
    let late = rejected(&mut gate, waiting);
    assert_eq!((late.reason(), shown(late.occupancy())), (Reason::Expired, [2, 2, 0, 3, 1]));
    assert_eq!((late.waited(), late.limit()), (Duration::from_nanos(7), Some(Duration::from_nanos(5))));
    let waiting = ticket(&mut gate, &Request::new().cost(2), 8);
    gate.close(at(10));
    let closed = rejected(&mut gate, waiting);
    assert_eq!((closed.reason(), shown(closed.occupancy())), (Reason::Closed, [2, 2, 0, 3, 1]));
    assert_eq!((closed.waited(), closed.limit()), (Duration::from_nanos(2), None));
}

#[test]
fn a_limit_counts_from_the_instant_of_its_own_call() {
    let mut gate = gate(1, 2);
    let running = grant(&mut gate, 100);
    let first = ticket(&mut gate, &Request::new(), 100);
    let limited = ticket(&mut gate, &within(10), 50);
    assert_eq!(gate.deadline(&limited), Some(at(60)), "a limit of 10 from the call at 50");
    gate.advance(Some(at(59)));
    assert!(gate.waker_mut(&limited).is_some());
    gate.release(running);
    gate.advance(Some(at(60)));
    let late = rejected(&mut gate, limited);
    assert_eq!((late.waited(), late.limit()), (Duration::from_nanos(10), Some(Duration::from_nanos(10))));
    assert!(matches!(gate.collect(first), Answer::Granted(_)));
    assert_eq!(gate.snapshot(None).longest_wait(), Duration::ZERO, "the clock is behind the latest instant");
}

#[test]
fn a_cancellation_ends_its_wait_and_expires_no_ticket() {
    let mut gate = gate(1, 1);
    gate.observe(EventFilter::ALL);
    let running = grant(&mut gate, 0);
    let waiting = ticket(&mut gate, &within(10), 0);
    gate.release(running);
    assert!(gate.wants_now() && gate.waker_mut(&waiting).is_some());
    assert_eq!(gate.cancel(waiting, Some(at(30))), Ok(None));
    let last = std::iter::from_fn(|| gate.poll_event()).last().expect("the cancellation");
    assert_eq!(last.waited(), Some(Duration::from_nanos(30)));
}

#[test]
fn an_empty_queue_forgets_the_time() {
    let mut gate = gate(1, 1);
    let _running = grant(&mut gate, 1_000_000);
    let earlier = ticket(&mut gate, &within(10), 1_000_000);
    _ = gate.cancel(earlier, Some(at(1_000_000)));
    let later = ticket(&mut gate, &within(10), 5);
    assert_eq!(gate.deadline(&later), Some(at(15)));
}

/// Queues a request on a gate that measures no waits, without giving the time.
fn untimed(gate: &mut TestGate) -> Ticket {
    match gate.enter(&Request::new(), None) {
        Ok(Answer::Queued(ticket)) => ticket,
        other => panic!("{other:?}"),
    }
}

fn granted(gate: &mut TestGate, ticket: Ticket) -> Grant {
    match gate.collect(ticket) {
        Answer::Granted(grant) => grant,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wait_with_a_limit_needs_the_time_even_unmeasured() {
    let limits = Limits::new(1).with_waiting_room(1).with_wait_limit(Some(Duration::from_nanos(10)));
    let mut limited = TestGate::new(limits).expect("valid");
    for (gate, request) in [(&mut gate(1, 1), within(10)), (&mut limited, Request::new())] {
        gate.measure_waits(false);
        let _running = grant(gate, 0);
        assert_eq!(gate.enter(&request, None), Ok(Answer::NeedsNow));
        let ticket = ticket(gate, &request, 5);
        assert_eq!(gate.deadline(&ticket), Some(at(15)));
        assert!(gate.needs_now(None) && !gate.advance(None));
    }
}

#[test]
fn an_unmeasured_wait_lets_an_empty_queue_forget_the_time() {
    let mut gate = gate(1, 2);
    gate.measure_waits(false);
    let _running = grant(&mut gate, 1_000_000);
    let earlier = ticket(&mut gate, &within(10), 1_000_000);
    _ = gate.cancel(earlier, Some(at(1_000_000)));
    let _patient = untimed(&mut gate);
    let later = ticket(&mut gate, &within(10), 5);
    assert_eq!(gate.deadline(&later), Some(at(15)));
}

#[test]
fn an_unmeasured_wait_counts_as_zero_behind_any_waiter() {
    let mut gate = gate(1, 2);
    gate.measure_waits(false);
    let running = grant(&mut gate, 0);
    let limited = ticket(&mut gate, &within(100), 0);
    let unlimited = ticket(&mut gate, &Request::new(), 0);
    gate.release(running);
    gate.advance(Some(at(10)));
    let running = granted(&mut gate, limited);
    gate.release(running);
    assert!(gate.advance(None));
    let _running = granted(&mut gate, unlimited);
    let snapshot = gate.snapshot(None);
    assert_eq!(snapshot.totals.cumulative_wait(), Duration::from_nanos(10), "the wait of the one with a limit");
}

#[test]
fn a_cancel_needs_the_time_only_if_a_waiter_gains() {
    let mut gate = gate(3, 9);
    let running = [grant(&mut gate, 0), grant(&mut gate, 0)];
    let head = ticket(&mut gate, &Request::new().cost(3), 0);
    let behind = ticket(&mut gate, &Request::new(), 0);
    let another = ticket(&mut gate, &Request::new(), 0);
    assert_eq!(gate.cancel(another, None), Ok(None), "it is behind the head");
    let head = gate.cancel(head, None).expect_err("the waiter behind it would fit");
    assert_eq!(gate.cancel(head, Some(at(0))), Ok(None));
    gate.advance(Some(at(0)));
    let next = ticket(&mut gate, &within(10), 0);
    let last = ticket(&mut gate, &Request::new().before(at(10)), 0);
    let behind = gate.cancel(behind, None).expect_err("its slot goes to the next waiter");
    assert_eq!(gate.cancel(next, None), Ok(None), "nothing is free");
    gate.advance(Some(at(10)));
    assert_eq!(gate.cancel(last, None), Ok(None), "it was rejected");
    assert_eq!(gate.cancel(behind, None), Ok(None), "no waiter wants its slot");
    for grant in running {
        gate.release(grant);
    }
    assert!(!gate.wants_now() && gate.occupancy().in_use() == 0);
}

#[test]
fn a_word_counts_no_more_than_its_bits_can_hold() {
    let most = Word::MAX_CAPACITY;
    let mut gate = gate(most, 0);
    let grants: Vec<_> = (0..most).map(|_| grant(&mut gate, 0)).collect();
    let full = gate.publish();
    assert!(full.acquire().is_none());
    assert!(grants.iter().all(|grant| full.has_released(grant)));
    let word = Word::from_bits(full.to_bits() + Word::RELEASE * most as u64);
    let (word, last) = word.acquire().expect("all are free");
    gate.fold(word);
    assert_eq!((gate.occupancy().in_flight(), gate.snapshot(None).peak_in_flight), (1, most));
    gate.resize(most + 1, at(0)).expect("open");
    assert_eq!(gate.publish(), Word::GATE);
    gate.release(last);
}

#[test]
fn an_invalid_cost_changes_nothing() {
    let mut gate = gate(1, 1);
    let running = grant(&mut gate, 0);
    let waiting = ticket(&mut gate, &Request::new(), 0);
    gate.release(running);
    let invalid = gate.enter(&Request::new().cost(2), Some(at(1))).expect_err("more than the capacity");
    assert_eq!((invalid.field(), invalid.value().to_string().as_str()), ("cost", "2"));
    assert!(gate.wants_now() && gate.waker_mut(&waiting).is_some());
}

#[test]
fn a_request_that_may_not_wait_is_saturated_not_expired() {
    let mut gate = gate(1, 1);
    let _running = grant(&mut gate, 0);
    assert_eq!(rejection(&mut gate, &within(0).now(), 0).reason(), Reason::Saturated);
    assert_eq!(rejection(&mut gate, &within(0), 0).reason(), Reason::Expired);
}

#[test]
fn settling_a_ticket_wakes_its_latest_waker() {
    let mut gate = gate(1, 1);
    let running = grant(&mut gate, 0);
    let waiting = ticket(&mut gate, &Request::new(), 0);
    assert_eq!(gate.deadline(&waiting), None);
    let waker = gate.waker_mut(&waiting).expect("it waits");
    assert_eq!((waker.replace("first"), waker.replace("second")), (None, Some("first")));
    assert_eq!(gate.waker_mut(&waiting), Some(&mut Some("second")));
    gate.release(running);
    assert!(!gate.has_wakes());
    gate.advance(Some(at(1)));
    assert!(gate.has_wakes());
    assert_eq!((gate.poll_wake(), gate.poll_wake(), gate.has_wakes()), (Some("second"), None, false));
    assert_eq!(gate.waker_mut(&waiting), None, "it is settled: collect it");
}

#[test]
fn rousing_wakes_a_drivers_tickets_and_keeps_their_places() {
    let mut gate = gate(1, 5);
    let running = grant(&mut gate, 0);
    let [here, there] = [1, 2].map(NonZeroU64::new);
    let requests = [within(9), Request::new(), within(5), within(5), within(5)];
    let [late, unlimited, later, other, none] = requests.map(|request| ticket(&mut gate, &request, 0));
    for (ticket, waker, home) in [
        (&late, "late", here),
        (&unlimited, "unlimited", here),
        (&later, "later", here),
        (&other, "other", there),
        (&none, "none", None),
    ] {
        assert_eq!(gate.waker_mut(ticket).expect("it waits").replace(waker), None);
        gate.rely(ticket, home);
    }
    assert_eq!(gate.relies_on(&unlimited), None, "it has no deadline");
    gate.rouse(here.expect("not zero"));
    assert_eq!([gate.poll_wake(), gate.poll_wake(), gate.poll_wake()], [Some("late"), Some("later"), None]);
    assert_eq!([&late, &unlimited].map(|ticket| *gate.waker_mut(ticket).expect("it waits")), [None, Some("unlimited")]);
    assert_eq!([&late, &other, &none].map(|ticket| gate.relies_on(ticket)), [None, there, None]);
    gate.rouse(here.expect("not zero"));
    assert_eq!(gate.poll_wake(), None, "each waker was woken once");
    assert_eq!((gate.occupancy().waiting(), gate.next_deadline()), (5, Some(at(5))));
    assert_eq!(gate.waker_mut(&late).expect("it waits").replace("anew"), None);
    gate.release(running);
    gate.advance(Some(at(1)));
    assert_eq!(gate.poll_wake(), Some("anew"), "the ticket is still the first");
}

#[test]
fn watches_are_woken_in_order_after_the_last_operation() {
    let mut gate = gate(2, 0);
    let (first, second) = (grant(&mut gate, 0), grant(&mut gate, 0));
    let watches = ["a", "b", "c"].map(|name| gate.watch(name));
    let [a, b, c] = watches;
    assert_eq!(gate.watch_mut(&a).expect("an operation runs").replace("A"), Some("a"));
    assert_eq!(gate.watch_mut(&a), Some(&mut Some("A")));
    assert_eq!(gate.unwatch(b), Some("b"));
    gate.close(at(0));
    gate.release(first);
    assert!(!gate.snapshot(None).is_drained());
    assert_eq!(gate.poll_wake(), None, "an operation still runs");
    gate.release(second);
    assert!(gate.is_drained() && gate.snapshot(None).is_drained());
    assert_eq!([gate.poll_wake(), gate.poll_wake(), gate.poll_wake()], [Some("A"), Some("c"), None]);
    assert_eq!(gate.watch_mut(&a), None, "the last operation has ended");
    assert_eq!(gate.unwatch(c), None);
}

#[test]
fn recorded_events_stay_output_until_they_are_polled() {
    let mut gate = gate(1, 0);
    gate.observe(EventFilter::ALL);
    let running = grant(&mut gate, 0);
    gate.observe(EventFilter::NONE);
    gate.release(running);
    assert!(gate.has_output());
    assert!(gate.poll_event().is_some_and(|event| event.number == 1));
    assert!(gate.poll_event().is_none() && !gate.has_output());
}

#[test]
#[should_panic(expected = "a ticket of another gate")]
fn a_ticket_of_another_gate_panics() {
    let (mut one, mut other) = (gate(1, 3), gate(1, 3));
    let _running = (grant(&mut one, 0), grant(&mut other, 0));
    let gone = ticket(&mut one, &Request::new(), 0);
    _ = one.cancel(gone, None);
    let _second_in_the_same_place = ticket(&mut one, &Request::new(), 0);
    let first_in_that_place = ticket(&mut other, &Request::new(), 0);
    _ = one.cancel(first_in_that_place, None);
}

#[test]
fn invalid_limits_are_rejected() {
    let refused = |limits: Limits| Gate::<()>::new(limits).map(|_| ()).expect_err("the limits are invalid");
    let sound = Limits::new(1);
    let names = |invalid: InvalidArgument| (invalid.field(), invalid.value().to_string());
    assert_eq!(names(refused(sound.with_capacity(0))), ("capacity", "0".to_owned()));
    let limit = sound.with_wait_limit(Some(Duration::ZERO));
    assert_eq!(names(refused(limit)), ("wait_limit", "0 s".to_owned()));
}

fn between(earlier: &Snapshot, later: &Snapshot) -> Interval {
    later.since(earlier).expect("in order")
}

#[test]
fn an_interval_has_the_differences_of_waits_too() {
    let mut gate = gate(1, 1);
    let mut snapshots = vec![gate.snapshot(None)];
    let mut running = grant(&mut gate, 0);
    for wait in [30, 10] {
        let waiting = ticket(&mut gate, &Request::new(), 0);
        gate.release(running);
        gate.advance(Some(at(wait)));
        let Answer::Granted(next) = gate.collect(waiting) else { panic!("it was granted the slot") };
        running = next;
        snapshots.push(gate.snapshot(None));
    }
    gate.release(running);
    let [start, first, second] = snapshots[..] else { panic!("three") };
    assert_eq!([start.number, first.number, second.number], [1, 2, 3]);
    assert_eq!(second.totals.average_wait(), Some(Duration::from_nanos(20)), "of two of three admitted");
    assert_eq!(between(&first, &second).totals.average_wait(), Some(Duration::from_nanos(10)));
    assert!(!between(&first, &first).has_activity(), "a snapshot follows itself");
    assert_eq!(first.since(&second), Err(IntervalError::Reversed { earlier: 3, later: 2 }));
    assert!((start.queue_utilization(), self::gate(1, 0).snapshot(None).queue_utilization()) == (0.0, 0.0));
}

#[test]
fn a_close_gives_all_waiters_the_same_occupancy() {
    let rejections = [10, 20].map(|limit| {
        let mut gate = gate(1, 1);
        let running = grant(&mut gate, 0);
        let waiting = ticket(&mut gate, &within(limit), 0);
        gate.close(at(5));
        gate.release(running);
        let Answer::Rejected(rejection) = gate.collect(waiting) else { panic!("it was rejected by the close") };
        rejection
    });
    assert_eq!(rejections[0], rejections[1]);
}

#[test]
fn a_word_rejects_while_the_waiting_room_is_as_large_as_at_first() {
    let mut gate = gate(1, 1);
    for _ in 0..2 {
        drop(gate.enter(&Request::new(), Some(Instant::EPOCH)));
    }
    assert!(gate.publish().reject(&Request::new(), 1).is_some());
    for (waiting_room, rejects) in [(0, false), (1, true)] {
        gate.reconfigure(&gate.limits().with_waiting_room(waiting_room), Instant::EPOCH).expect("valid");
        assert_eq!(gate.publish().reject(&Request::new(), 1).is_some(), rejects, "{waiting_room}");
    }
}

/// Also with a full waiting room, and while nothing may be in use; but not while more is in use
/// than the restriction allows.
#[test]
fn a_word_rejects_under_a_restriction() {
    let mut gate = gate(3, 1);
    let refused = |gate: &TestGate| {
        let word = gate.publish();
        assert!(word.reject(&Request::new().now(), 1).is_none(), "the other flag");
        let (_, refusal) = word.reject_restricted(&Request::new().now(), 1)?;
        Some((refusal.restricted_to()?, shown(refusal.rejection_of(1, 3).occupancy())))
    };
    let restrict = |gate: &mut TestGate, units| gate.restrict(Some(Restriction::new(units, "test")), at(0));
    restrict(&mut gate, 0);
    assert_eq!(refused(&gate), Some((0, [0, 0, 0, 3, 1])));
    restrict(&mut gate, 2);
    let running = [grant(&mut gate, 0), grant(&mut gate, 0)];
    assert_eq!(refused(&gate), Some((2, [2, 2, 0, 3, 1])));
    let waiting = ticket(&mut gate, &Request::new(), 0);
    assert_eq!(refused(&gate), Some((2, [2, 2, 1, 3, 1])));
    restrict(&mut gate, 1);
    assert_eq!(refused(&gate), None);
    assert_eq!(gate.restrict(None, at(0)), 1);
    assert!(gate.publish().reject(&Request::new().now(), 1).is_some(), "all are in use");
    drop((running, waiting));
}

#[test]
fn the_oldest_wait_is_that_of_the_head_if_it_is_measured() {
    let mut gate = gate(1, 2);
    let _running = grant(&mut gate, 0);
    assert_eq!(plumbing::waiting_since(&gate), None);
    let first = ticket(&mut gate, &Request::new(), 5);
    let _second = ticket(&mut gate, &Request::new(), 7);
    assert_eq!(plumbing::waiting_since(&gate), Some(at(5)));
    _ = gate.cancel(first, Some(at(8)));
    assert_eq!(plumbing::waiting_since(&gate), Some(at(7)));
    let mut unmeasured = self::gate(1, 1);
    unmeasured.measure_waits(false);
    let _running = grant(&mut unmeasured, 0);
    let _waiting = untimed(&mut unmeasured);
    assert_eq!(plumbing::waiting_since(&unmeasured), None);
}

#[test]
fn a_rejection_can_be_read_before_it_is_collected() {
    let mut gate = gate(1, 2);
    let running = grant(&mut gate, 0);
    let (next, late) = (ticket(&mut gate, &Request::new(), 0), ticket(&mut gate, &within(5), 0));
    assert_eq!(plumbing::rejection(&gate, &late), None, "it waits");
    gate.release(running);
    gate.advance(Some(at(5)));
    assert_eq!(plumbing::rejection(&gate, &next), None, "it was granted");
    let read = plumbing::rejection(&gate, &late).expect("it has expired");
    assert_eq!((read.reason(), read), (Reason::Expired, rejected(&mut gate, late)));
}

#[test]
fn recorded_events_are_numbered_from_one() {
    let mut gate = gate(1, 0);
    gate.observe(EventFilter::ALL);
    assert_eq!(plumbing::events_recorded(&gate), 0);
    let running = grant(&mut gate, 0);
    gate.release(running);
    assert_eq!(plumbing::events_recorded(&gate), 2);
    let mut event = gate.poll_event().expect("two are recorded");
    assert_eq!((event.number, gate.poll_event_into(&mut event), event.number), (1, true, 2));
    assert!(!gate.poll_event_into(&mut event), "there is no more");
}

#[test]
fn a_rejection_says_whether_the_gate_was_paused() {
    let mut gate = gate(1, 0);
    let held = grant(&mut gate, 0);
    assert!(!rejection(&mut gate, &Request::new(), 0).is_paused());
    gate.release(held);
    assert!(gate.pause());
    assert!(rejection(&mut gate, &Request::new(), 0).is_paused());
}

#[test]
fn a_snapshot_says_for_how_long_the_oldest_slot_is_not_collected() {
    let mut gate = gate(1, 2);
    let held = grant(&mut gate, 0);
    let waiting = ticket(&mut gate, &Request::new(), 10);
    assert_eq!(gate.snapshot(Some(at(20))).oldest_uncollected(), None);
    gate.release(held);
    gate.advance(Some(at(30)));
    assert_eq!(gate.snapshot(Some(at(75))).oldest_uncollected(), Some(Duration::from_nanos(45)));
    let Answer::Granted(collected) = gate.collect(waiting) else { panic!("it was handed the slot") };
    assert_eq!(gate.snapshot(Some(at(80))).oldest_uncollected(), None);
    gate.release(collected);
}
