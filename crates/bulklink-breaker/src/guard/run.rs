//! The limit on the run of an operation.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bulklink::runtime::Runtime;

/// Polls an operation until it ends. Returns `None` when its limit has passed.
#[inline]
pub(crate) async fn limited<R: Runtime, F: Future>(
    runtime: &R,
    limit: Option<Duration>,
    mut operation: Pin<&mut F>,
    mut poll: impl FnMut(Pin<&mut F>, &mut Context<'_>) -> Poll<F::Output>,
) -> Option<F::Output> {
    let Some(limit) = limit else {
        return Some(poll_fn(|context| poll(operation.as_mut(), context)).await);
    };
    let deadline = runtime.now() + limit;
    // Made if the first poll does not complete.
    let mut sleep = None;
    poll_fn(|context| {
        if let Poll::Ready(output) = poll(operation.as_mut(), context) {
            return Poll::Ready(Some(output));
        }
        let timer = sleep.get_or_insert_with(|| Box::pin(runtime.sleep_until(deadline)));
        ready!(timer.as_mut().poll(context));
        // The clock decides, not the timer. One that is early is made again, by the next poll: a
        // loop here might not end.
        if runtime.now() >= deadline {
            return Poll::Ready(None);
        }
        sleep = None;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
