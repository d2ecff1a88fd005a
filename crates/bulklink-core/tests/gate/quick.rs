//! The quick paths of the front: each takes the usual case, and leaves every other to the general
//! path. What both do is compared by the search, in worlds through a word; how an operation
//! finishes, by the random scripts, because the search advances in an input of its own.

use bulklink_core::{Answer, EventFilter, Gate, Grant, Instant, Limits, Request, Ticket, plumbing};

type TestGate = Gate<&'static str>;

const NOW: Option<Instant> = Some(Instant::from_nanos(5));

/// Returns a gate of one unit that is in use, with this room, and two requests in its queue.
fn gate(waiting_room: usize, measures_waits: bool) -> (TestGate, Grant, [Ticket; 2]) {
    let mut gate = TestGate::new(Limits::new(1).with_waiting_room(waiting_room)).expect("valid");
    gate.measure_waits(measures_waits);
    let Ok(Answer::Granted(grant)) = gate.enter(&Request::new(), NOW) else { panic!("a unit is free") };
    let tickets = [Request::new(), Request::new().before(Instant::from_nanos(9))].map(|request| {
        let Ok(Answer::Queued(ticket)) = gate.enter(&request, NOW) else { panic!("the unit is in use") };
        gate.waker_mut(&ticket).expect("it waits").replace("parked");
        ticket
    });
    (gate, grant, tickets)
}

#[test]
fn a_ticket_behind_another_is_cancelled_quickly_and_no_other() {
    let cancel = |gate: &mut TestGate, ticket| plumbing::cancel_behind(gate, ticket);
    let (mut usual, grant, [first, second]) = gate(3, true);
    let first = cancel(&mut usual, first).expect_err("the first may have to make room");
    assert_eq!(cancel(&mut usual, second), Ok(Some("parked")));
    usual.release(grant);
    usual.advance(NOW);
    _ = cancel(&mut usual, first).expect_err("it was granted");

    let (mut full, _grant, [_, second]) = gate(2, true);
    _ = cancel(&mut full, second).expect_err("a word that rejects no longer may");
    let (mut untimed, _grant, [_, second]) = gate(3, false);
    _ = cancel(&mut untimed, second).expect_err("the last deadline goes");
    let (mut observed, _grant, [_, second]) = gate(3, true);
    observed.observe(EventFilter::WAITS);
    _ = cancel(&mut observed, second).expect_err("an event follows");
}

#[test]
fn a_granted_ticket_is_collected_quickly_and_no_other() {
    let (mut gate, grant, [first, second]) = gate(2, true);
    assert_eq!(plumbing::collect_granted(&mut gate, &first), None, "it waits");
    gate.release(grant);
    gate.advance(NOW);
    let grant = plumbing::collect_granted(&mut gate, &first).expect("granted");
    assert_eq!((grant.cost(), gate.snapshot(NOW).uncollected), (Some(1), 0));
    gate.advance(Some(Instant::from_nanos(9)));
    assert_eq!(plumbing::collect_granted(&mut gate, &second), None, "it has expired");
    assert!(matches!(gate.collect(second), Answer::Rejected(_)));
}

#[test]
fn an_operation_finishes_in_one_step() {
    let (mut gate, grant, [first, second]) = gate(2, true);
    let grant = plumbing::finish(&mut gate, grant, None).expect_err("calls wait, and that is measured");
    assert_eq!(gate.snapshot(NOW).in_flight, 1, "nothing has changed");
    assert_eq!(plumbing::finish(&mut gate, grant, Some(Instant::from_nanos(9))), Ok(()));
    assert_eq!([gate.poll_wake(), gate.poll_wake(), gate.poll_wake()], [Some("parked"), Some("parked"), None]);
    let Answer::Granted(grant) = gate.collect(first) else { panic!("it was handed the unit") };
    assert!(matches!(gate.collect(second), Answer::Rejected(_)), "it was due");
    assert_eq!(plumbing::finish(&mut gate, grant, None), Ok(()), "no call waits");
    assert_eq!(gate.snapshot(NOW).totals.finished, 2);
}

#[test]
fn wakers_are_taken_all_at_once_in_their_order() {
    let (mut gate, grant, [first, second]) = gate(2, true);
    *gate.waker_mut(&second).expect("it waits") = Some("second");
    gate.release(grant);
    gate.advance(Some(Instant::from_nanos(9)));
    let wakes: Vec<_> = plumbing::take_wakes(&mut gate).collect();
    assert_eq!((wakes, gate.poll_wake()), (vec!["second", "parked"], None));
    drop((gate.collect(first), gate.collect(second)));
}
