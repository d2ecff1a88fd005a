//! A bulkhead in a `static`.

use std::panic::catch_unwind;
use std::time::Duration;

use bulklink::{Limits, Reason, StaticBulkhead, StdClock};

use crate::ms;

const LIMITS: Limits = Limits::new(1).with_waiting_room(1).with_wait_limit(Some(Duration::from_millis(5)));

#[test]
fn a_static_is_the_same_bulkhead_wherever_it_is_used() {
    static SHARED: StaticBulkhead<StdClock> = StaticBulkhead::new(" shared ", StdClock, LIMITS);

    let running = SHARED.owned().try_slot().expect("free");
    let rejection = std::thread::spawn(|| SHARED.try_slot().map(drop)).join().expect("no panic");
    assert_eq!(rejection.expect_err("taken").reason(), Reason::Saturated);
    assert_eq!(SHARED.blocking_slot().expect_err("taken").limit(), Some(ms(5)));
    drop(running);
    assert_eq!((SHARED.label(), SHARED.limits()), ("shared", LIMITS));
    let clone = SHARED.clone();
    assert_eq!(clone.status().totals.rejected(), 2);
    let error = crate::chain(&SHARED.resize(0).expect_err("zero"));
    assert_eq!(error, "the capacity was not changed: bulkhead shared: capacity must be at least 1, got 0");
}

/// In a `static`, the compiler calls it.
#[test]
fn new_refuses_what_a_builder_refuses() {
    let refused = |label, limits| catch_unwind(|| StaticBulkhead::new(label, StdClock, limits)).is_err();
    for label in ["", "  ", "a\nb", "a\u{7f}", "ü"] {
        assert!(refused(label, LIMITS), "{label:?}");
    }
    let too_many = Limits::MAX + 1;
    for limits in [
        LIMITS.with_capacity(0),
        LIMITS.with_capacity(too_many),
        LIMITS.with_waiting_room(too_many),
        LIMITS.with_waiting_room(0),
        LIMITS.with_waiting_room_units(Some(0)),
        LIMITS.with_waiting_room_units(Some(too_many)),
        Limits::new(1).with_waiting_room_units(Some(1)),
        LIMITS.with_wait_limit(Some(ms(0))),
    ] {
        assert!(refused("label", limits), "{limits:?}");
    }
    assert!(!refused("a b~", Limits::new(Limits::MAX).with_waiting_room(Limits::MAX)));
}
