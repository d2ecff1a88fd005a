//! Tasks that wait for a transition.

use std::collections::BTreeMap;
use std::fmt;
use std::task::{Poll, Waker};

use bulklink::plumbing::{contain, discard};

use crate::sync::{Mutex, lock};

/// The wakers of the tasks that wait. None is cloned, called or dropped under the lock.
#[derive(Default)]
pub(crate) struct Waiters(Mutex<Parked>);

#[derive(Default)]
struct Parked {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Waiters {
    /// Wakes all that wait. The word must have the new generation already.
    pub(super) fn wake(&self) {
        let wakers = std::mem::take(&mut lock(&self.0).wakers);
        for waker in wakers.into_values() {
            contain(|| waker.wake());
        }
    }

    /// Parks the waker of a task, unless the transition is over. `key` is that of the task, after
    /// the first time.
    pub(super) fn park(&self, key: &mut Option<u64>, waker: &Waker, is_over: impl Fn() -> bool) -> Poll<()> {
        if is_over() {
            return Poll::Ready(());
        }
        let is_parked =
            |parked: &Parked| key.and_then(|key| parked.wakers.get(&key)).is_some_and(|it| it.will_wake(waker));
        if is_parked(&lock(&self.0)) {
            return Poll::Pending;
        }
        let mut waker = Some(waker.clone());
        let polled = {
            let mut parked = lock(&self.0);
            // Looked at under the lock: a transition after this finds the waker.
            if is_over() {
                Poll::Ready(())
            } else {
                let key = *key.get_or_insert(parked.next);
                parked.next = parked.next.max(key + 1);
                waker = waker.and_then(|waker| parked.wakers.insert(key, waker));
                Poll::Pending
            }
        };
        // The rest is unused or displaced.
        discard(waker);
        polled
    }

    /// Forgets the waker of a task.
    pub(super) fn forget(&self, key: u64) {
        let waker = lock(&self.0).wakers.remove(&key);
        discard(waker);
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("tasks", &lock(&self.0).wakers.len()).finish()
    }
}
