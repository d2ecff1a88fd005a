//! Calls and tasks that the scene polls, and a waker that counts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::runtime::Instant;
use bulklink::{OwnedSlot, OwnedSlotFuture, Reason, Rejection, Request};

use crate::model::{ByHand, TestBulkhead};

/// A waker that counts how often it is woken.
#[derive(Clone, Default)]
pub(crate) struct CountingWaker(Arc<Wakes>);

#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed) as u64
    }
}

impl CountingWaker {
    pub(crate) fn wakes(&self) -> usize {
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

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A call for a slot, and the waker with which it is polled.
pub(crate) struct Call {
    future: OwnedSlotFuture<ByHand>,
    waker: CountingWaker,
}

impl Call {
    /// Returns a call that has not been polled.
    pub(crate) fn new(bulkhead: &TestBulkhead) -> Self {
        Call::with(bulkhead, Request::new())
    }

    pub(crate) fn with(bulkhead: &TestBulkhead, request: Request<Instant>) -> Self {
        Call { future: bulkhead.with(request).slot(), waker: CountingWaker::default() }
    }

    /// Polls the call, which must wait.
    pub(crate) fn queued(mut self) -> Self {
        assert!(self.poll().is_pending(), "a slot was free");
        self
    }

    /// Returns new calls in the queue, in its order.
    pub(crate) fn queue<const CALLS: usize>(bulkhead: &TestBulkhead) -> [Self; CALLS] {
        std::array::from_fn(|_| Call::new(bulkhead).queued())
    }

    pub(crate) fn poll(&mut self) -> Poll<Result<OwnedSlot, Rejection>> {
        self.waker.poll(&mut self.future)
    }

    /// Gives the call a new waker for its next polls, and returns the old one.
    pub(crate) fn change_waker(&mut self) -> CountingWaker {
        std::mem::take(&mut self.waker)
    }

    pub(crate) fn wakes(&self) -> usize {
        self.waker.wakes()
    }

    /// Returns the answer of the call, which must have been woken for it exactly once.
    pub(crate) fn answer(mut self) -> Result<OwnedSlot, Reason> {
        assert_eq!(self.wakes(), 1, "the call must be woken exactly once");
        let Poll::Ready(answer) = self.poll() else { panic!("the call was woken without an answer") };
        answer.map_err(|rejection| rejection.reason())
    }

    /// Returns the slot of the call, which must have been woken for it exactly once.
    pub(crate) fn granted(self) -> OwnedSlot {
        self.answer().expect("the call was not rejected")
    }
}

/// A task that is polled when it is woken.
pub(crate) struct Task<F> {
    /// The future of the task, until it ends.
    pub(crate) future: Option<F>,
    pub(crate) waker: CountingWaker,
    seen: usize,
}

impl<F: Future + Unpin> Task<F> {
    pub(crate) fn new(future: F) -> Self {
        Task { future: Some(future), waker: CountingWaker::default(), seen: 0 }
    }

    /// Polls the task once, and drops its future if that has ended.
    pub(crate) fn poll(&mut self) {
        if self.future.as_mut().is_some_and(|future| self.waker.poll(future).is_ready()) {
            self.future = None;
        }
    }

    /// Polls the task as long as it has been woken, and returns whether it has ended.
    pub(crate) fn settle(&mut self) -> bool {
        while self.future.is_some() && self.seen < self.waker.wakes() {
            self.seen = self.waker.wakes();
            self.poll();
        }
        self.future.is_none()
    }
}
