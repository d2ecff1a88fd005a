//! The limit on the run of an operation.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bulklink::runtime::{Instant, Runtime, Timer};

use super::TimedOut;
use crate::Call;
use crate::breaker::RunLimit;

/// The end of a run that began when this was made.
pub(super) struct Limit<R: Timer> {
    pub(super) length: RunLimit,
    at: Instant,
    /// Made if the first poll does not complete.
    sleep: Option<Pin<Box<R::Sleep>>>,
}

impl<R: Runtime> Limit<R> {
    #[inline]
    pub(super) fn new(runtime: &R, limit: RunLimit) -> Self {
        Limit { length: limit, at: limit.after(runtime.now()), sleep: None }
    }

    /// Completes when the limit has passed. The clock decides, not the timer.
    pub(super) fn poll(&mut self, runtime: &R, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(runtime.sleep_until(self.at)));
        ready!(sleep.as_mut().poll(context));
        if runtime.now() >= self.at {
            return Poll::Ready(());
        }
        // The timer was early. The next poll makes another one: a loop here might not end.
        self.sleep = None;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Runs the operation of a call that is in its slot.
pub(crate) async fn run_limited<R: Runtime, F: Future>(
    runtime: &R,
    limit: Option<RunLimit>,
    call: &mut Call<'static>,
    operation: Pin<&mut F>,
) -> Result<F::Output, TimedOut> {
    let label = call.label();
    let run = pin!(call.run(operation));
    limited(runtime, limit, run).await.ok_or_else(|| TimedOut::new(label, limit))
}

/// Polls an operation until it ends. Returns `None` when its limit has passed.
pub(super) async fn limited<R: Runtime, F: Future>(
    runtime: &R,
    limit: Option<RunLimit>,
    mut operation: Pin<&mut F>,
) -> Option<F::Output> {
    let mut limit = limit.map(|limit| Limit::new(runtime, limit));
    poll_fn(|context| {
        if let Poll::Ready(output) = operation.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        let Some(limit) = &mut limit else { return Poll::Pending };
        limit.poll(runtime, context).map(|()| None)
    })
    .await
}
