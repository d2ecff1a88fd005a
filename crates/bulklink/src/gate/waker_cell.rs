//! How a task leaves its waker under a lock without missing what it waits for.

use core::task::Waker;

use crate::foreign::discard;
use crate::gate::lock::Lock;

/// A place for one waker in the state `S` that a lock guards, and what its task waits for there.
pub(crate) trait WakerCell<S> {
    /// What a look at the state finds.
    type Found;

    /// Whether `waker` must be left: what the task waits for is not there yet, and the waker in the
    /// cell, if any, wakes another task.
    fn wants(&self, state: &S, waker: &Waker) -> bool;

    /// Leaves `waker`. Returns the one that it displaced.
    fn park(&mut self, state: &mut S, waker: Waker) -> Option<Waker>;

    /// Takes what the task waits for, if it is there.
    fn look(&mut self, state: &mut S) -> Self::Found;
}

/// Looks at the state, and leaves the waker of the task if that is needed.
///
/// The look and the parking of the waker are one turn of the lock, so nothing comes between them.
#[inline]
pub(crate) fn look_or_park<S, C: WakerCell<S>>(lock: &Lock<S>, cell: &mut C, waker: &Waker) -> C::Found {
    let found = lock.with(|state| if cell.wants(state, waker) { None } else { Some(cell.look(state)) });
    match found {
        Some(found) => found,
        // Cloning a waker runs foreign code, so it happens outside the lock.
        None => park_and_look(lock, cell, waker.clone()),
    }
}

#[cold]
fn park_and_look<S, C: WakerCell<S>>(lock: &Lock<S>, cell: &mut C, waker: Waker) -> C::Found {
    let (found, displaced) = lock.with(|state| {
        // What the task waits for may have come since the lock was released.
        let displaced = if cell.wants(state, &waker) { cell.park(state, waker) } else { Some(waker) };
        (cell.look(state), displaced)
    });
    // Dropping a waker runs foreign code too.
    discard(displaced);
    found
}

/// Whether the waker in a cell wakes the same task as `waker`.
#[inline]
pub(crate) fn wakes(parked: Option<&Waker>, waker: &Waker) -> bool {
    parked.is_some_and(|parked| parked.will_wake(waker))
}
