//! The wait for a slot, which ends when the circuit opens, and a slot that is not used yet.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use bulklink::runtime::Runtime;
use bulklink::{BoundRequest, OwnedSlot, Rejection};

use super::GuardError;
use crate::{Breaker, Call};

/// Waits for a slot, and leaves the queue when the circuit opens.
async fn wait<A, S, E, K>(breaker: &Breaker<K>, mut acquire: A) -> Result<S, GuardError<E>>
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

/// Waits for a slot, and asks the circuit with it, for a call that borrows nothing.
pub(crate) async fn admit<R: Runtime, E, K>(
    breaker: &Breaker<K>,
    request: BoundRequest<R>,
) -> Result<(Call<'static>, Unused<OwnedSlot>), GuardError<E>> {
    breaker.check()?;
    let slot = wait(breaker, request.slot()).await?;
    let slot = Unused::new(slot, OwnedSlot::abandon);
    let call = breaker.ask_owned_operation().await?;
    Ok((call, slot))
}

/// A slot before its operation. If that never begins, because the circuit has opened or the
/// call is dropped, the slot is abandoned: the bulkhead must not learn from it.
pub(crate) struct Unused<S> {
    slot: Option<S>,
    abandon: fn(S),
}

impl<S> Unused<S> {
    pub(super) fn new(slot: S, abandon: fn(S)) -> Self {
        Unused { slot: Some(slot), abandon }
    }

    /// Returns the slot for its operation, which begins now.
    pub(crate) fn begin(mut self) -> S {
        self.slot.take().unwrap_or_else(|| unreachable!("only this and the drop take it"))
    }
}

impl<S> Drop for Unused<S> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            (self.abandon)(slot);
        }
    }
}
