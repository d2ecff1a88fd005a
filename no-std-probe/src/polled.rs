//! A future that is polled by hand, with a waker that only remembers.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};

use crate::host::section;

/// A future in the place of a task.
pub(crate) struct Polled<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl<F: Future> Polled<F> {
    pub(crate) fn new(future: F) -> Self {
        Polled { future: Box::pin(future), woken: Arc::new(Woken(AtomicBool::new(false))) }
    }

    pub(crate) fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Whether it was woken since the last look.
    pub(crate) fn was_woken(&self) -> bool {
        self.woken.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        assert!(!section::is_entered(), "nobody is woken inside a critical section");
        self.0.store(true, Ordering::Relaxed);
    }
}
