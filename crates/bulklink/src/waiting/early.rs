//! Entering the gate on behalf of a task that does not run yet.

use alloc::sync::Arc;
use core::task::Waker;

use bulklink_core::Request;

use super::{Live, State, Waiting};
use crate::shared::{Aside, Entered, Shared};
use crate::slot::Hold;
use crate::{Rejection, Runtime};

/// What became of a request that was made right now.
pub(crate) enum Admission<R: Runtime> {
    Granted(Hold<Arc<Shared>>),
    Queued(Waiting<Arc<Shared>, R>),
}

impl<R: Runtime> Waiting<Arc<Shared>, R> {
    /// Takes a slot or a place in the queue, or is turned away. Who has a place is woken by nobody and has no timer until it is
    /// polled, so whoever gets it has to do that.
    pub(crate) fn enter(shared: Arc<Shared>, runtime: R, request: Request) -> Result<Admission<R>, Rejection> {
        let at_once = if request.is_simple() { shared.acquire() } else { None };
        if let Some(grant) = at_once {
            return Ok(Admission::Granted(Hold::new(shared, grant)));
        }
        let mut aside = Aside::default();
        let home = || runtime.home().map(|home| home.id());
        match shared.enter(&request, Waker::noop(), home, &mut aside) {
            Entered::Granted(grant) => return Ok(Admission::Granted(Hold::new(shared, grant))),
            Entered::Queued => {}
            Entered::Rejected | Entered::NeedsNow => return Err(aside.rejection.expect("not granted")),
        }
        let state = State::joined(&mut aside);
        Ok(Admission::Queued(Waiting { runtime, live: Some(Live { shared, state }) }))
    }
}
