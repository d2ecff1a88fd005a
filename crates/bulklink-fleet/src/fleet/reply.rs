//! An answer that a caller awaits.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

use bulklink::plumbing::{discard, wake};

/// A place for one answer.
pub(crate) struct Reply<T>(Mutex<Place<T>>);

struct Place<T> {
    answer: Option<T>,
    waker: Option<Waker>,
}

impl<T> Default for Reply<T> {
    fn default() -> Self {
        Reply(Mutex::new(Place { answer: None, waker: None }))
    }
}

impl<T> Reply<T> {
    /// Stores the answer, unless there is one, and wakes the caller.
    pub(crate) fn set(&self, answer: T) {
        let waker = {
            let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            place.answer.get_or_insert(answer);
            place.waker.take()
        };
        wake(waker);
    }

    /// Completes when the answer is there.
    pub(crate) async fn get(&self) -> T {
        poll_fn(|context| {
            let mut waker = Some(context.waker().clone());
            let answer = {
                let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::swap(&mut place.waker, &mut waker);
                place.answer.take()
            };
            discard(waker);
            answer.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
