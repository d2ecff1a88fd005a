//! Entering the gate on behalf of a task that does not run yet.

use alloc::sync::Arc;
use core::task::Waker;

use bulklink_core::Request;

use super::{Acquire, AcquireState, Unfinished};
use crate::acquire::slot::HeldGrant;
use crate::gate::shared::{Answer, Shared};
use crate::{Runtime, SubmitError};

/// What became of a request that was made right now.
pub(crate) enum Admission<R: Runtime> {
    Granted(HeldGrant<Arc<Shared>>),
    Queued(Acquire<Arc<Shared>, R>),
}

impl<R: Runtime> Acquire<Arc<Shared>, R> {
    /// Takes a slot or a place in the queue, or is rejected. A queued admission has no waker and no timer
    /// until it is first polled; the caller must have it polled.
    pub(crate) fn enter(shared: Arc<Shared>, runtime: R, request: Request) -> Result<Admission<R>, SubmitError> {
        let at_once = if request.is_simple() { shared.acquire() } else { None };
        if let Some(grant) = at_once {
            return Ok(Admission::Granted(HeldGrant::new(shared, grant)));
        }
        let home = || Ok(runtime.home()?.map(|home| home.id()));
        let mut ticket = None;
        match shared.enter(&request, Waker::noop(), home, &mut ticket)? {
            Answer::Granted(grant) => return Ok(Admission::Granted(HeldGrant::new(shared, grant))),
            Answer::Rejected(rejection) => return Err(rejection.into()),
            Answer::Queued(_) => {}
        }
        let state = AcquireState::Queued { ticket, sleep: None };
        Ok(Admission::Queued(Acquire::of(runtime, Unfinished { shared, state })))
    }
}
