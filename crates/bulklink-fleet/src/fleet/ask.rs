//! What a caller asks the store for, beside the statements of its process.

use std::sync::Arc;

use super::ResizeError;
use super::reply::Reply;
use super::seat::Seat;
use crate::share::{LimitRefusal, Status};
use crate::{Link, StoreError, Version};

/// A command whose answer a caller awaits.
pub(super) enum Ask {
    /// Changes the limit, if its version is still the expected one.
    Resize { limit: u32, expected: Version, reply: Arc<Reply<Result<(), ResizeError>>> },
    /// Reads the state of the name.
    Look { reply: Arc<Reply<Result<Option<Status>, StoreError>>> },
}

/// What is dropped on its way may have had its effect.
impl Drop for Ask {
    fn drop(&mut self) {
        self.answer_with(StoreError::Unreachable);
    }
}

impl Ask {
    /// Ends without an answer of the store.
    pub(super) fn fail(self, error: StoreError) {
        self.answer_with(error);
    }

    /// Answers, unless there is an answer.
    fn answer_with(&self, error: StoreError) {
        match self {
            Self::Resize { reply, .. } => reply.set(Err(ResizeError::Unavailable(error))),
            Self::Look { reply } => reply.set(Err(error)),
        }
    }

    /// Asks, and answers the caller. Returns the error of the store.
    pub(super) async fn carry(self, link: &impl Link, seat: &Seat) -> Option<StoreError> {
        match &self {
            Self::Resize { limit, expected, reply } => {
                let result = link.resize(&seat.name, *limit, *expected).await;
                let error = result.as_ref().err().cloned();
                match &result {
                    Ok(Ok(version)) => seat.resized(*limit, *version),
                    Ok(Err(LimitRefusal::Version { current, limit })) => seat.resized(*limit, *current),
                    _ => {}
                }
                let result = result.map_err(ResizeError::Unavailable).and_then(|it| it.map_err(ResizeError::Refused));
                reply.set(result.map(|_| ()));
                error
            }
            Self::Look { reply } => {
                let result = link.look(&seat.name).await;
                let error = result.as_ref().err().cloned();
                reply.set(result);
                error
            }
        }
    }
}
