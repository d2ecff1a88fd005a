//! Entering the gate on behalf of a task that does not run yet.

use alloc::sync::Arc;
use core::task::Waker;

use bulklink_core::Request;

use super::{Live, State, Waiting};
use crate::acquire::slot::Hold;
use crate::gate::shared::{Answer, Shared};
use crate::{Runtime, SubmitError};

/// What became of a request that was made right now.
pub(crate) enum Admission<R: Runtime> {
    Granted(Hold<Arc<Shared>>),
    Queued(Waiting<Arc<Shared>, R>),
}

impl<R: Runtime> Waiting<Arc<Shared>, R> {
    /// Takes a slot or a place in the queue, or is rejected. A queued admission has no waker and no timer
    /// until it is first polled; the caller must have it polled.
    pub(crate) fn enter(shared: Arc<Shared>, runtime: R, request: Request) -> Result<Admission<R>, SubmitError> {
        let at_once = if request.is_simple() { shared.acquire() } else { None };
        if let Some(grant) = at_once {
            return Ok(Admission::Granted(Hold::new(shared, grant)));
        }
        let home = || Ok(runtime.home()?.map(|home| home.id()));
        let mut ticket = None;
        match shared.enter(&request, Waker::noop(), home, &mut ticket)? {
            Answer::Granted(grant) => return Ok(Admission::Granted(Hold::new(shared, grant))),
            Answer::Rejected(rejection) => return Err(rejection.into()),
            Answer::Queued(_) => {}
        }
        let state = State::Queued { ticket, alarm: None };
        Ok(Admission::Queued(Waiting::of(runtime, Live { shared, state })))
    }
}
