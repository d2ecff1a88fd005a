//! A thread that waits for the store's answer.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Not by `thread::park`, whose token belongs to all code that knows the thread.
#[derive(Default)]
struct Thread {
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.woken.notify_one();
    }
}

/// Blocks the thread until the future has completed.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let thread = Arc::new(Thread::default());
    let waker = Waker::from(Arc::clone(&thread));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let is_woken = thread.is_woken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_woken =
            thread.woken.wait_while(is_woken, |is_woken| !*is_woken).unwrap_or_else(PoisonError::into_inner);
        *is_woken = false;
    }
}
