//! The wait for a slot, which ends when the circuit opens.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use bulklink::Rejection;

use super::GuardError;
use crate::Breaker;

/// Waits for a slot, and leaves the queue when the circuit opens.
pub(super) async fn wait<A, S, E>(breaker: &Breaker, mut acquire: A) -> Result<S, GuardError<E>>
where
    A: Future<Output = Result<S, Rejection>> + Unpin,
{
    loop {
        // In this order, so that no transition falls between.
        let mut transition = breaker.transition();
        breaker.check()?;
        let acquired = poll_fn(|context| match Pin::new(&mut acquire).poll(context) {
            Poll::Ready(slot) => Poll::Ready(Some(slot)),
            Poll::Pending => Pin::new(&mut transition).poll(context).map(|()| None),
        });
        if let Some(slot) = acquired.await {
            return Ok(slot?);
        }
    }
}
