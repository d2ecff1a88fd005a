//! Sizes and auto traits of the public types.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};

use bulklink::testing::FakeClock;
use bulklink::{
    Bulkhead, CapacityReport, Closed, CollectiveError, Event, EventFilter, EventReceiver, Handle, OwnedSlot,
    OwnedSlotFuture, RegisterError, Registry, Rejection, Slot, SlotFuture, Status, StdClock, TryRecvError,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

assert_impl_all!(Bulkhead<FakeClock>: Clone, Send, Sync, Unpin);
assert_impl_all!(Bulkhead<StdClock>: Clone, Send, Sync, Unpin);
assert_not_impl_any!(StdClock: bulklink::runtime::Runtime);
assert_impl_all!(bulklink::JoinHandle<Cell<u8>>: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(bulklink::JoinError: std::error::Error, Send, Sync);
assert_impl_all!(bulklink::SubmitError: std::error::Error, Send, Sync, Clone);
assert_impl_all!(bulklink::testing::FakeRuntime: bulklink::runtime::Runtime, bulklink::runtime::Spawn, bulklink::runtime::SpawnBlocking);
assert_impl_all!(Handle: Clone, Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(bulklink::Ceiling: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, std::fmt::Debug);
assert_impl_all!(bulklink::partitions::Handle: Clone, Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(Slot<'static>: Send, Sync, Unpin, UnwindSafe);
assert_impl_all!(OwnedSlot: Send, Sync, Unpin, UnwindSafe);
assert_impl_all!(SlotFuture<'static, FakeClock>: Send, Unpin);
assert_impl_all!(OwnedSlotFuture<FakeClock>: Send, Unpin);
assert_impl_all!(Closed<'static>: Send, Sync, Unpin);
assert_impl_all!(Rejection: std::error::Error, Send, Sync, Clone);
assert_impl_all!(Status: Send, Sync, Clone);
assert_impl_all!(Event: Send, Sync, Clone, Eq, UnwindSafe, RefUnwindSafe);
assert_impl_all!(EventReceiver: Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, futures_util::Stream<Item = Event>);
assert_impl_all!(TryRecvError: std::error::Error, Send, Sync, Copy);
assert_impl_all!(CapacityReport: Send, Sync, Clone, std::fmt::Display);
assert_impl_all!(Registry: Clone, Default, Send, Sync, Unpin, UnwindSafe, RefUnwindSafe);
assert_impl_all!(bulklink::Readiness: Clone, Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, std::fmt::Debug);
assert_impl_all!(RegisterError: std::error::Error, Send, Sync, Clone);
assert_impl_all!(CollectiveError: std::error::Error, Send, Sync, Clone);
assert_not_impl_any!(Slot<'static>: Clone);
assert_not_impl_any!(OwnedSlot: Clone);

#[test]
fn a_rejection_is_six_words() {
    assert!(size_of::<Rejection>() <= 48, "{}", size_of::<Rejection>());
}

#[test]
fn a_slot_is_two_words() {
    assert!(size_of::<Slot<'_>>() <= 16, "{}", size_of::<Slot<'_>>());
    assert!(size_of::<OwnedSlot>() <= 16);
}

#[test]
fn an_executing_future_is_spawnable() {
    fn spawnable<T: Send>(_: &T) {}
    let bulkhead = Bulkhead::builder_on(FakeClock::new(), "test").parallelism(1).build().expect("valid");
    spawnable(&bulkhead.execute(async { 1 }));
    spawnable(&bulkhead.execute_fallible(async { Ok::<_, ()>(1) }));
    let mut events = bulkhead.handle().subscribe(EventFilter::ALL, 1).expect("a capacity");
    spawnable(&events.recv());
    let registry = Registry::new();
    spawnable(&registry.closed());
    spawnable(&registry.close_and_wait());
    spawnable(&registry.remove("test"));
    spawnable(&registry.remove_partitions("test"));
}

/// As a reference does, a slot and its futures fit where a shorter borrow is expected.
#[test]
fn a_slot_and_its_futures_are_covariant() {
    fn slot<'a>(slot: Slot<'static>) -> Slot<'a> {
        slot
    }
    fn future<'a>(future: SlotFuture<'static, FakeClock>) -> SlotFuture<'a, FakeClock> {
        future
    }
    fn closed<'a>(closed: Closed<'static>) -> Closed<'a> {
        closed
    }
    let _ = (slot, future, closed);
}
