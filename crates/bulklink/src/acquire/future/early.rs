//! Entering the gate for a task that does not run yet.

use alloc::sync::Arc;
use core::task::Waker;

use bulklink_core::Request;

use super::{Acquire, AcquireState, Unfinished};
use crate::acquire::claim::Claim;
use crate::gate::shared::{NotGranted, Shared};
use crate::{Runtime, SubmitError};

/// The outcome of a request that was not rejected immediately.
pub(crate) enum Admission<R: Runtime> {
    Granted(Claim<Arc<Shared>>),
    Queued(Acquire<Arc<Shared>, R>),
}

impl<R: Runtime> Acquire<Arc<Shared>, R> {
    /// Enters the gate without a task. A queued admission has no waker and no timer until it is
    /// first polled; the caller must poll it.
    ///
    /// # Errors
    ///
    /// If the request is rejected, or if it may have to wait with a limit and the current thread
    /// has no timer.
    pub(crate) fn enter(shared: Arc<Shared>, runtime: R, request: Request) -> Result<Admission<R>, SubmitError> {
        let granted = if request.is_simple() { shared.acquire() } else { None };
        if granted.is_some() {
            return Ok(Admission::Granted(Claim::new(shared, None, granted)));
        }
        let home = || Ok(runtime.home()?.map(|home| home.id()));
        let (mut ticket, mut not_granted) = (None, NotGranted::UNKNOWN);
        let granted = shared.enter(&request, Waker::noop(), home, &mut ticket, &mut not_granted)?;
        if granted.is_some() {
            return Ok(Admission::Granted(Claim::new(shared, None, granted)));
        }
        if let NotGranted::Rejected(rejection) = not_granted {
            return Err(rejection.into());
        }
        let state = AcquireState::Queued { ticket, sleep: None };
        Ok(Admission::Queued(Acquire::of(runtime, Some(Unfinished { shared, lease: None, state }))))
    }
}
