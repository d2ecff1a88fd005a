//! The answer to a command that a caller awaits.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

use super::foreign;
use crate::{Answer, StoreError};

/// A place for one answer.
#[derive(Default)]
pub(crate) struct Reply(Mutex<Place>);

#[derive(Default)]
struct Place {
    answer: Option<Result<Answer, StoreError>>,
    waker: Option<Waker>,
}

impl Reply {
    /// Stores the answer, unless there is one, and wakes the caller.
    pub(crate) fn set(&self, result: Result<Answer, StoreError>) {
        let waker = {
            let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            place.answer.get_or_insert(result);
            place.waker.take()
        };
        if let Some(waker) = waker {
            foreign::wake(waker);
        }
    }

    /// Completes when the answer is there.
    pub(crate) async fn get(&self) -> Result<Answer, StoreError> {
        poll_fn(|context| {
            let mut waker = Some(context.waker().clone());
            let answer = {
                let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::swap(&mut place.waker, &mut waker);
                place.answer.take()
            };
            foreign::contain(|| drop(waker));
            answer.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
