//! For the other crates of Bulklink. It may change in any release.

use alloc::sync::Arc;

pub use bulklink_core::Rounded;

use crate::acquire::claim::Claim;
pub use crate::foreign::{catch, contain, discard, texts, wake};
use crate::{Bulkhead, HandlerId, OwnedSlot, OwnedSlotFuture, Rejection, Request, Runtime, Slot, SlotFuture};

/// Events of which only so many are logged in a second.
#[cfg(feature = "tracing")]
pub mod log {
    pub use crate::observe::trace::{Account, is_on, limited, shortened};
}

/// Returns the label of the slot's bulkhead.
#[must_use]
pub fn label(slot: &OwnedSlot) -> Arc<str> {
    slot.label()
}

/// Returns whether the end of the slot's operation is a sample for an adaptive limit.
#[inline]
#[must_use]
pub fn is_judged(slot: &OwnedSlot) -> bool {
    slot.is_judged()
}

/// Has the end of the slot's operation be that of a call that was cancelled, until its outcome is
/// set.
pub fn cancelled(slot: &OwnedSlot) {
    slot.cancel();
}

/// Returns whether the bulkhead of the call has an adaptive limit.
#[must_use]
pub fn has_adaptive_limit<R: Runtime>(future: &OwnedSlotFuture<R>) -> bool {
    future.has_adaptive_limit()
}

/// Returns the id of a handler of something else than a bulkhead.
#[must_use]
pub fn new_handler_id() -> HandlerId {
    HandlerId::new()
}

/// Takes a slot of one unit if the fast path has one, and does nothing else.
///
/// If it returns `None`, nothing was rejected or counted, and a slot may still be free: another
/// call finds out. The fast path has none while a call waits, and while a handler wants to see each
/// admission.
#[inline]
#[must_use]
pub fn take_free<R>(bulkhead: &Bulkhead<R>) -> Option<Slot<'_>> {
    let shared = &*bulkhead.handle().shared;
    let granted = shared.fast.acquire()?;
    Some(Slot::new(Claim::new(shared, Some(granted))))
}

/// As [`take_free`], for a slot that borrows nothing.
#[inline]
#[must_use]
pub fn take_free_owned<R>(bulkhead: &Bulkhead<R>) -> Option<OwnedSlot> {
    let shared = &bulkhead.handle().shared;
    let granted = shared.fast.acquire()?;
    Some(OwnedSlot::new(Claim::new(Arc::clone(shared), Some(granted))))
}

/// As [`Bulkhead::with`] and [`slot`](crate::BoundRequest::slot), for a slot that borrows the
/// bulkhead.
#[inline]
pub fn slot_with<R: Runtime>(bulkhead: &Bulkhead<R>, request: Request<R::Instant>) -> SlotFuture<'_, R> {
    let runtime = bulkhead.runtime();
    SlotFuture::new(&bulkhead.handle().shared, runtime.clone(), request.on(runtime))
}

/// Asks the fast path alone, without a poll. Returns the slot, or the rejection if neither a slot
/// is free nor a place to wait. The future has completed then.
///
/// Otherwise this returns `None`, nothing has changed, and the first poll decides, even if a slot
/// is free: the fast path decides calls of one unit without a limit of their own or a deadline,
/// while no handler wants to see the answer. It is not affected by the cooperative budget: a loop
/// that asks again after a rejection must yield.
#[inline]
pub fn decide<R: Runtime>(future: &mut OwnedSlotFuture<R>) -> Option<Result<OwnedSlot, Rejection>> {
    future.decide()
}

/// Blocks the thread until the future is ready.
#[cfg(feature = "std")]
pub fn block_on<F: Future>(future: F) -> F::Output {
    crate::blocking::thread::Thread::on(crate::gate::latch::NoTime).block_on(future)
}

/// For configurations with sections of other crates.
#[cfg(feature = "std")]
pub mod config {
    pub use crate::config::place::Place;
    #[cfg(feature = "schema")]
    pub use crate::config::schema::{
        add as add_schema, duration as duration_schema, positive_duration as positive_duration_schema, unbroken,
    };

    /// The form of a duration, for serde.
    #[cfg(feature = "serde")]
    pub mod duration {
        use std::time::Duration;

        use serde::{Deserializer, Serializer};

        use crate::config::forms::duration;

        /// Writes a duration.
        ///
        /// # Errors
        ///
        /// If the format fails.
        pub fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
            duration::serialize(value, serializer)
        }

        /// Reads a duration.
        ///
        /// # Errors
        ///
        /// If it has another form.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
            duration::deserialize(deserializer)
        }
    }
}
