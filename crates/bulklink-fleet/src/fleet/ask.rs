//! Commands of callers to the store, beside the statements of their process.

use std::sync::Arc;

use super::ResizeError;
use super::reply::Reply;
use crate::share::Status;
use crate::{StoreError, Version};

/// A command with an answer that a caller awaits.
pub(super) enum Ask {
    /// Changes the limit, if its version is still the expected one.
    Resize { limit: u32, expected: Version, reply: Arc<Reply<Result<(), ResizeError>>> },
    /// Reads the state of the name.
    Look { reply: Arc<Reply<Result<Option<Status>, StoreError>>> },
}

/// A command that is dropped on its way may have had its effect.
impl Drop for Ask {
    fn drop(&mut self) {
        self.fail(StoreError::UNREACHABLE);
    }
}

impl Ask {
    /// Answers without the store, unless there is an answer.
    pub(super) fn fail(&self, error: StoreError) {
        match self {
            Self::Resize { reply, .. } => reply.set(Err(ResizeError::Store(error))),
            Self::Look { reply } => reply.set(Err(error)),
        }
    }
}
