//! The reports of partitions: figures of one moment, and never a key.

use std::fmt::Debug;
use std::hash::RandomState;
use std::panic::UnwindSafe;

use bulklink::partitions::{Builder, Status};
use bulklink::testing::FakeClock;
use bulklink::{IntervalError, OwnedSlot, OwnedSlotFuture, Partitions, Request};
use static_assertions::{assert_impl_all, assert_not_impl_any};

use super::{Tenants, builder, tenants, touch};
use crate::executor;

assert_impl_all!(Tenants: Clone, Send, Sync, Unpin, Debug);
assert_impl_all!(Partitions<std::rc::Weak<()>, FakeClock>: Clone, Unpin);
assert_impl_all!(OwnedSlot: Send, Sync, Unpin, UnwindSafe);
assert_impl_all!(OwnedSlotFuture<FakeClock>: Send, Unpin);
assert_impl_all!(Builder<String, FakeClock, RandomState>: Clone, Send, Sync);
assert_impl_all!(Status: Clone, Send, Sync);
assert_not_impl_any!(OwnedSlot: Clone);

#[test]
fn execute_futures_are_spawnable_and_slots_are_two_words() {
    fn spawnable<T: Send>(_: &T) {}
    let executor = executor();
    let tenants = tenants(&executor, 1);
    spawnable(&tenants.key("ann").execute(async { 1 }));
    spawnable(&tenants.key("ann").execute_fallible(async { Ok::<_, ()>(1) }));
    spawnable(&tenants.close_and_wait());
    assert!(size_of::<OwnedSlot>() <= 16);
}

#[test]
fn intervals_are_differences() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    touch(&tenants, "ann");
    let earlier = tenants.status();
    touch(&tenants, "ann");
    let idle = tenants.status();
    assert!(!idle.since(&earlier).expect("in order").has_activity());
    let _bob = tenants.key("bob").try_slot().expect("free");
    tenants.key("ann").try_slot().expect_err("no room");
    let later = tenants.status();
    assert!(later.number > earlier.number);
    let totals = later.since(&earlier).expect("in order").totals;
    assert_eq!((totals.created, totals.evicted, totals.limit_rejected), (1, 1, 1));
}

#[test]
fn an_interval_needs_two_statuses_of_one_bulkhead_in_order() {
    let executor = executor();
    let (one, other) = (tenants(&executor, 1), tenants(&executor, 1));
    let (first, second) = (one.status(), one.status());
    assert!(matches!(first.since(&second), Err(IntervalError::Reversed { earlier: 2, later: 1 })));
    assert!(matches!(second.since(&other.status()), Err(IntervalError::DifferentInstance { .. })));
}

#[test]
fn no_output_shows_a_key() {
    let executor = executor();
    let tenants = builder(&executor).parallelism(1).waiting_room(1).max_partitions(1).build().expect("valid");
    let waiting = tenants.key("secret").slot();
    let slot = tenants.key("secret").try_slot().expect("free");
    let taken = tenants.key("secret").try_slot().expect_err("taken");
    let refused = tenants.key("other secret").slot();
    let rejection = tenants.key("other secret").try_slot().expect_err("no room");
    let impossible = tenants.key("secret").with(Request::new().cost(9)).try_slot().expect_err("no room");
    let texts = [
        format!("{tenants:?} {:?}", tenants.status()),
        format!("{waiting:?} {slot:?} {refused:?}"),
        format!("{taken} {taken:?} {rejection} {rejection:?} {impossible} {impossible:?}"),
        format!("{:?} {:?}", tenants.partition("secret"), builder(&executor)),
    ];
    for text in texts {
        assert!(text.contains("tenants") && !text.contains("secret"), "{text}");
    }
}
