//! A call that is polled by hand, and a waker that counts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::{Instant, OwnedSlot, OwnedSlotFuture, Reason, Rejection, Request};

use crate::model::{ByHand, Front};

/// A waker that counts how often it is woken.
#[derive(Clone, Default)]
pub(crate) struct Bell(Arc<Rings>);

#[derive(Default)]
struct Rings(AtomicUsize);

impl Bell {
    pub(crate) fn rings(&self) -> usize {
        self.0.0.load(Ordering::Relaxed)
    }

    /// Returns whether another clone of the waker exists.
    pub(crate) fn is_kept(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    pub(crate) fn poll<F: Future + Unpin>(&self, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.0));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }
}

impl Wake for Rings {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A call for a slot, and the waker it is polled with.
pub(crate) struct Call {
    future: OwnedSlotFuture<ByHand>,
    bell: Bell,
}

impl Call {
    /// Returns a call that has not been polled.
    pub(crate) fn new(bulkhead: &Front) -> Self {
        Call::with(bulkhead, Request::new())
    }

    pub(crate) fn with(bulkhead: &Front, request: Request<Instant>) -> Self {
        Call { future: bulkhead.slot_owned_with(request), bell: Bell::default() }
    }

    /// Polls a call that has to wait.
    pub(crate) fn queued(mut self) -> Self {
        assert!(self.poll().is_pending(), "there was no slot for it");
        self
    }

    /// Returns calls that have to wait, in the order of the queue.
    pub(crate) fn line<const CALLS: usize>(bulkhead: &Front) -> [Self; CALLS] {
        std::array::from_fn(|_| Call::new(bulkhead).queued())
    }

    pub(crate) fn poll(&mut self) -> Poll<Result<OwnedSlot, Rejection>> {
        self.bell.poll(&mut self.future)
    }

    /// Polls with another waker from now on, as if the task had changed. Returns the old one.
    pub(crate) fn change_bell(&mut self) -> Bell {
        std::mem::take(&mut self.bell)
    }

    pub(crate) fn rings(&self) -> usize {
        self.bell.rings()
    }

    /// Returns the answer of the call, which must have been woken for it exactly once.
    pub(crate) fn answer(mut self) -> Result<OwnedSlot, Reason> {
        assert_eq!(self.rings(), 1, "woken once for one answer");
        let Poll::Ready(answer) = self.poll() else { panic!("woken without an answer") };
        answer.map_err(|rejection| rejection.reason())
    }

    /// Returns the slot of the call, which must have been woken for it exactly once.
    pub(crate) fn granted(self) -> OwnedSlot {
        self.answer().expect("the call was granted a slot")
    }
}
