//! The script through the front: futures polled by hand, slots that are given back on drop.

use core::task::Poll;
use core::time::Duration;

use bulklink::{Bulkhead, Reason, Rejection, Slot, SlotFuture};

use crate::account::{self, WAIT, WAIT_LIMIT};
use crate::polled::Polled;
use crate::say::say;
use crate::time::{self, Ticks};

type Waiter<'a> = Polled<SlotFuture<'a, Ticks>>;

/// The least that time moves.
const TICK: Duration = Duration::from_nanos(1);

/// Plays the script.
pub(crate) fn drive() {
    let bulkhead = Bulkhead::<Ticks>::builder("probe").parallelism(1).waiting_room(1).wait_limit(WAIT_LIMIT).build();
    let bulkhead = bulkhead.expect("a valid configuration");
    let first = admit_directly(&bulkhead);
    let waiter = queue(&bulkhead);
    say!("front: queued");
    reject_as_saturated(&bulkhead);
    let second = hand_over(first, waiter);
    expire(&bulkhead);
    close(&bulkhead);
    drain(&bulkhead, second);
    account::check("front", &bulkhead.status());
}

fn admit_directly(bulkhead: &Bulkhead<Ticks>) -> Slot<'_> {
    let mut first = Polled::new(bulkhead.slot());
    let Poll::Ready(Ok(slot)) = first.poll() else { panic!("an empty bulkhead did not admit") };
    assert_eq!(slot.cost(), 1, "the cost unless said");
    say!("front: admitted directly");
    slot
}

fn queue(bulkhead: &Bulkhead<Ticks>) -> Waiter<'_> {
    let mut waiter = Polled::new(bulkhead.slot());
    assert!(waiter.poll().is_pending(), "it has to wait");
    assert_eq!(bulkhead.status().waiting, 1, "it is in the queue");
    waiter
}

fn reject_as_saturated(bulkhead: &Bulkhead<Ticks>) {
    let rejection = bulkhead.try_slot().expect_err("the bulkhead is full");
    assert_eq!(rejection.reason(), Reason::Saturated);
    say!("front: rejected: {rejection}");
}

fn hand_over<'a>(first: Slot<'_>, mut waiter: Waiter<'a>) -> Slot<'a> {
    time::pass(WAIT);
    assert!(!waiter.was_woken(), "the slot is still taken");
    drop(first);
    assert!(waiter.was_woken(), "the release woke it");
    let Poll::Ready(Ok(second)) = waiter.poll() else { panic!("woken for a slot, but it has none") };
    say!("front: handed over on release");
    second
}

fn expire(bulkhead: &Bulkhead<Ticks>) {
    let mut waiter = queue(bulkhead);
    time::pass(WAIT_LIMIT.saturating_sub(TICK));
    assert!(!waiter.was_woken() && waiter.poll().is_pending(), "not late yet");
    time::pass(TICK);
    let rejection = rejection(waiter);
    assert_eq!(rejection.reason(), Reason::Expired);
    assert_eq!((rejection.waited(), rejection.limit()), (WAIT_LIMIT, Some(WAIT_LIMIT)));
    say!("front: rejected: {rejection}");
}

fn close(bulkhead: &Bulkhead<Ticks>) {
    let waiter = queue(bulkhead);
    assert!(bulkhead.close(), "it was open");
    assert!(!bulkhead.close(), "it was closed already");
    let rejection = rejection(waiter);
    assert_eq!(rejection.reason(), Reason::Closed);
    say!("front: rejected: {rejection}");
}

fn drain(bulkhead: &Bulkhead<Ticks>, last: Slot<'_>) {
    let mut closed = Polled::new(bulkhead.closed());
    assert!(closed.poll().is_pending(), "one operation goes on");
    drop(last);
    assert!(closed.was_woken() && closed.poll().is_ready(), "that was the last one");
    say!("front: drained");
}

fn rejection(mut waiter: Waiter<'_>) -> Rejection {
    assert!(waiter.was_woken(), "its wait is over");
    match waiter.poll() {
        Poll::Ready(Err(rejection)) => rejection,
        Poll::Ready(Ok(slot)) => panic!("turned away, but it has {slot:?}"),
        Poll::Pending => panic!("turned away, but it still waits"),
    }
}
