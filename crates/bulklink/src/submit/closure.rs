//! The task of a submitted closure: its wait for a slot, and its run on a thread that may block. It
//! runs in its slot to its end, even if it is cancelled meanwhile.

use alloc::sync::Arc;
use core::future::poll_fn;

use super::JoinError;
use super::task::Task;
use crate::foreign::{catch, discard};
use crate::{Runtime, Spawn, SpawnBlocking, SpawnError};

impl<C, T> Task<C, T>
where
    C: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    /// Spawns a task that waits in the queue for the closure, so that no thread is blocked.
    pub(crate) fn launch_queued<R: Runtime + Spawn + SpawnBlocking>(self, runtime: &R) -> Result<(), SpawnError> {
        let job = Arc::clone(&self.job);
        job.launch(|| {
            let own = runtime.clone();
            runtime.spawn(async move {
                match poll_fn(|context| self.job.poll_admitted(context)).await {
                    Ok(()) => _ = self.launch(&own),
                    Err(why) => self.reject(why),
                }
            })
        })
    }

    /// Asks the runtime to run the closure. A refusal is also the outcome of the handle.
    pub(crate) fn launch(self, runtime: &impl SpawnBlocking) -> Result<(), SpawnError> {
        let job = Arc::clone(&self.job);
        job.launch(|| runtime.spawn_blocking(move || self.run()))
    }

    /// Runs the closure, unless it was cancelled.
    fn run(mut self) {
        let claim = match self.job.begin() {
            Ok(claim) => claim,
            Err(why) => return self.reject(why),
        };
        let closure = self.operation.take().expect("it runs once");
        let outcome = catch(closure).map_err(JoinError::panicked);
        if outcome.is_err() {
            claim.cancel();
        }
        drop(claim);
        self.job.end(outcome);
    }

    /// Drops the closure, and then gives the outcome.
    fn reject(mut self, why: JoinError) {
        discard(self.operation.take());
        self.job.end(Err(why));
    }
}
