//! The script through the bare gate: inputs, `advance`, and wakers that are names.

use core::time::Duration;

use bulklink_core::{Collected, Entry, Gate, Grant, Instant, Limits, Reason, Rejection, Request, Ticket};

use crate::account::{self, WAIT, WAIT_LIMIT};
use crate::say::say;

/// Any but the epoch, from which nothing could be told.
const START: Instant = Instant::from_nanos(1_000_000_000);

/// Plays the script.
pub(crate) fn drive() {
    let limits = Limits { capacity: 1, waiting_room: 1, wait_limit: Some(WAIT_LIMIT) };
    let mut gate = Gate::new(limits).expect("limits in range");
    let first = admit_directly(&mut gate);
    let ticket = queue(&mut gate, START, "second");
    say!("gate: queued");
    reject_as_saturated(&mut gate);
    let second = hand_over(&mut gate, first, ticket);
    expire(&mut gate);
    close(&mut gate);
    gate.release(second);
    assert!(gate.is_drained() && !gate.wants_now() && !gate.has_output(), "nothing is left to do");
    account::check("gate", &gate.snapshot());
}

fn admit_directly(gate: &mut Gate<&str>) -> Grant {
    let entry = gate.enter_untimed(&Request::new()).expect("a cost in range");
    let Some(Entry::Granted(grant)) = entry else { panic!("an empty gate answered {entry:?}") };
    assert_eq!(grant.cost(), 1, "the cost unless said");
    say!("gate: admitted directly");
    grant
}

fn queue(gate: &mut Gate<&'static str>, now: Instant, name: &'static str) -> Ticket {
    let entry = gate.enter(&Request::new(), now).expect("a cost in range");
    let Entry::Queued(ticket) = entry else { panic!("a full gate with room to wait answered {entry:?}") };
    assert_eq!(gate.park(&ticket, name), None, "nobody was parked before");
    assert_eq!(gate.next_deadline(), Some(now + WAIT_LIMIT), "the deadline of {name}");
    ticket
}

fn reject_as_saturated(gate: &mut Gate<&str>) {
    let entry = gate.enter(&Request::new(), START).expect("a cost in range");
    let Entry::Rejected(rejection) = entry else { panic!("a full waiting room answered {entry:?}") };
    assert_eq!(rejection.reason(), Reason::Saturated);
    let occupancy = rejection.occupancy();
    assert_eq!((occupancy.in_use(), occupancy.waiting()), (1, 1), "the occupancy that the rejection tells");
    say!("gate: rejected as saturated");
}

fn hand_over(gate: &mut Gate<&str>, first: Grant, ticket: Ticket) -> Grant {
    gate.release(first);
    assert!(gate.wants_now(), "a slot is free and somebody waits");
    gate.advance(START + WAIT);
    expect_one_wake(gate, "second");
    let collected = gate.collect(ticket);
    let Collected::Granted(second) = collected else { panic!("handed a slot, but collected {collected:?}") };
    say!("gate: handed over on release");
    second
}

fn expire(gate: &mut Gate<&'static str>) {
    let ticket = queue(gate, START + WAIT, "third");
    let deadline = START + WAIT + WAIT_LIMIT;
    gate.advance(deadline.saturating_sub(Duration::from_nanos(1)));
    assert!(!gate.has_output(), "not late yet");
    gate.advance(deadline);
    expect_one_wake(gate, "third");
    let rejection = collect_rejection(gate, ticket);
    assert_eq!(rejection.reason(), Reason::Expired);
    assert_eq!((rejection.waited(), rejection.limit()), (WAIT_LIMIT, Some(WAIT_LIMIT)));
    say!("gate: expired after {:?}", rejection.waited());
}

fn close(gate: &mut Gate<&'static str>) {
    let now = START + WAIT + WAIT_LIMIT;
    let ticket = queue(gate, now, "fourth");
    assert!(gate.close(now), "it was open");
    assert!(!gate.close(now), "it was closed already");
    expect_one_wake(gate, "fourth");
    assert_eq!(collect_rejection(gate, ticket).reason(), Reason::Closed);
    assert!(gate.is_closed() && !gate.is_drained(), "one operation goes on");
    say!("gate: closed, with its waiter rejected");
}

fn expect_one_wake(gate: &mut Gate<&str>, name: &str) {
    assert_eq!((gate.poll_wake(), gate.poll_wake()), (Some(name), None), "the only one to be woken");
}

fn collect_rejection(gate: &mut Gate<&str>, ticket: Ticket) -> Rejection {
    match gate.collect(ticket) {
        Collected::Rejected(rejection) => rejection,
        collected => panic!("turned away, but collected {collected:?}"),
    }
}
