//! Tasks that wait for a transition.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bulklink::plumbing::{contain, discard};

use super::call::Source;
use crate::sync::{Mutex, lock};

/// The wakers of the tasks that wait. None is cloned, called or dropped under the lock.
#[derive(Default)]
pub(crate) struct Waiters(Mutex<Parked>);

#[derive(Default)]
struct Parked {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

/// Completes when the circuit has another generation than when this was made.
pub(crate) struct NextTransition<'a> {
    core: Source<'a>,
    generation: u64,
    /// The key of its waker, after the first poll.
    key: Option<u64>,
}

impl Waiters {
    /// Wakes all that wait. The word must have the new generation already.
    pub(super) fn wake(&self) {
        let wakers = std::mem::take(&mut lock(&self.0).wakers);
        for waker in wakers.into_values() {
            contain(|| waker.wake());
        }
    }
}

impl<'a> NextTransition<'a> {
    pub(crate) fn new(core: Source<'a>) -> Self {
        NextTransition { generation: core.generation(), core, key: None }
    }

    fn is_over(&self) -> bool {
        self.core.generation() != self.generation
    }
}

impl Future for NextTransition<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        let this = &mut *self;
        let waiters = this.core.waiters();
        let key = this.key;
        let is_parked = |parked: &Parked| {
            let waker = key.and_then(|key| parked.wakers.get(&key));
            waker.is_some_and(|waker| waker.will_wake(context.waker()))
        };
        if is_parked(&lock(&waiters.0)) {
            return Poll::Pending;
        }
        let mut waker = Some(context.waker().clone());
        let polled = {
            let mut parked = lock(&waiters.0);
            // Looked at under the lock: a transition after this finds the waker.
            if this.core.generation() == this.generation {
                let key = key.unwrap_or(parked.next);
                parked.next = parked.next.max(key + 1);
                waker = waker.and_then(|waker| parked.wakers.insert(key, waker));
                this.key = Some(key);
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        };
        // What is left is unused or displaced.
        discard(waker);
        polled
    }
}

impl Drop for NextTransition<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let waker = lock(&self.core.waiters().0).wakers.remove(&key);
        discard(waker);
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("tasks", &lock(&self.0).wakers.len()).finish()
    }
}
