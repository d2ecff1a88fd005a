//! The handle of a submitted operation.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::task::{Context, Poll};

use super::JoinError;
use super::job::Job;

/// The handle of a [submitted](crate::Bulkhead::submit) operation, and a future of its outcome.
///
/// Dropping the handle *detaches* the operation, as the handles of threads and of most runtimes do:
/// it goes on, in the queue or in its slot, and its outcome is dropped. A panic of that drop is
/// contained. [`cancel`](JoinHandle::cancel) stops the operation; with
/// [`cancel_on_drop`](JoinHandle::cancel_on_drop), dropping the handle does so.
///
/// When the handle completes, the operation has been dropped and its slot is free. This holds also
/// for an operation that never began.
///
/// # Errors
///
/// If the operation returned no value; [`JoinError`] has the reasons. A panic of the operation is
/// one of them, and continues here only if that [`Panic`](crate::Panic) is resumed.
///
/// # Cancel safety
///
/// A call that awaits a reference to the handle (`(&mut handle).await`) may be cancelled at any
/// time, and nothing is lost.
///
/// # Panics
///
/// If polled again after it has completed.
pub struct JoinHandle<T> {
    job: Arc<Job<T>>,
    cancels_on_drop: bool,
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(job: Arc<Job<T>>) -> Self {
        JoinHandle { job, cancels_on_drop: false }
    }

    /// Cancels the operation. Returns whether it had neither begun nor ended: it then never begins,
    /// and its place in the queue or its slot is free immediately.
    ///
    /// The handle completes once the runtime has dropped the operation:
    ///
    /// - A future, whether it has begun or not, is dropped when its task is next polled. The cancel
    ///   wakes the task, so a running runtime polls it soon.
    /// - A closure in the queue is dropped by the task that waits for it, in the same way. A
    ///   closure that is in the runtime's pool already is dropped when the pool comes to it.
    /// - A closure that runs is not dropped: it continues to its end, in its slot, and the handle
    ///   completes with its value.
    ///
    /// Called again before the runtime has dropped the operation, this returns the same.
    ///
    /// The outcome is [`JoinError::Cancelled`], unless the operation ended with another one first.
    #[doc(alias = "abort")]
    pub fn cancel(&self) -> bool {
        self.job.cancel()
    }

    /// Makes dropping the handle [cancel](JoinHandle::cancel) the operation.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build()?;
    /// let long = payments.submit(std::future::pending::<()>())?.cancel_on_drop();
    /// drop(long);
    /// # tokio::task::yield_now().await;
    /// assert_eq!(payments.status().in_flight, 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the operation is cancelled as soon as this is dropped"]
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancels_on_drop = true;
        self
    }

    /// Returns whether the outcome is there, so that the handle completes without waiting.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.job.is_finished()
    }

    /// Blocks the thread until the operation has ended, and returns its outcome.
    ///
    /// Do not call this from a [task](crate#threads): on the only thread that runs the operation's
    /// runtime it never returns, also after [`cancel`](JoinHandle::cancel). Await the handle there.
    ///
    /// # Errors
    ///
    /// As awaiting it.
    #[cfg(feature = "std")]
    pub fn join(self) -> Result<T, JoinError> {
        crate::blocking::thread::Thread::on(crate::StdClock).block_on(self)
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.job.poll(context)
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if self.cancels_on_drop {
            self.job.cancel();
        }
        self.job.detach();
    }
}

/// A panic leaves nothing half-done: all shared state is behind locks in which no foreign code
/// runs.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("is_finished", &self.is_finished()).finish_non_exhaustive()
    }
}
