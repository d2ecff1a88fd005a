//! The wait for a slot, which ends when the circuit opens.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use bulklink::Rejection;

use super::GuardError;
use crate::Breaker;

/// Waits for a slot, and leaves the queue when the circuit opens.
pub(super) async fn wait<A, S, E>(breaker: &Breaker, mut acquire: A) -> Result<S, GuardError<E>>
where
    A: Future<Output = Result<S, Rejection>> + Unpin,
{
    let mut opened = pin!(breaker.opened());
    poll_fn(|context| match Pin::new(&mut acquire).poll(context) {
        Poll::Ready(slot) => Poll::Ready(slot.map_err(GuardError::Rejected)),
        Poll::Pending => opened.as_mut().poll(context).map(|open| Err(GuardError::Open(open))),
    })
    .await
}
