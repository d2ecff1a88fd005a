//! A waker made of a function.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::task::Waker;

struct WakerFn<F>(F);

impl<F: Fn()> Wake for WakerFn<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// Returns a waker that calls `wake`.
pub(crate) fn waker_fn(wake: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(WakerFn(wake)))
}
