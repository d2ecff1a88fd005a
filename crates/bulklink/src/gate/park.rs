//! How a task leaves its waker under a lock without missing the event it waits for.

use core::mem;
use core::task::{Poll, Waker};

use crate::foreign::discard;
use crate::gate::lock::Lock;

/// Looks for the event of a task, and leaves its waker if that has not come yet.
///
/// `find` returns either the event, or the place for the waker. In the second case it must
/// consume nothing: it is called again, unless the place already has a waker of this task. The look
/// and the parking of the waker are one turn of the lock, so nothing comes between them.
#[inline]
pub(crate) fn look_or_park<S, T>(
    lock: &Lock<S>,
    waker: &Waker,
    mut find: impl FnMut(&mut S) -> Result<T, &mut Option<Waker>>,
) -> Poll<T> {
    let polled = lock.with(|state| match find(state) {
        Ok(found) => Some(Poll::Ready(found)),
        Err(parked) => parked.as_ref().is_some_and(|parked| parked.will_wake(waker)).then_some(Poll::Pending),
    });
    match polled {
        Some(poll) => poll,
        // Cloning a waker runs foreign code, so it happens outside the lock.
        None => park(lock, waker.clone(), find),
    }
}

#[cold]
fn park<S, T>(lock: &Lock<S>, waker: Waker, find: impl FnOnce(&mut S) -> Result<T, &mut Option<Waker>>) -> Poll<T> {
    let mut waker = Some(waker);
    // The event may have come since the lock was released.
    let poll = lock.with(|state| match find(state) {
        Ok(found) => Poll::Ready(found),
        Err(parked) => {
            mem::swap(parked, &mut waker);
            Poll::Pending
        }
    });
    // The waker that is left is unused or displaced. Dropping a waker runs foreign code too.
    discard(waker);
    poll
}
