//! A thread that blocks on a future: it sleeps until it is woken, or until its deadline.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::future::{self, Future};
use core::mem;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{OnceLock, PoisonError};

use bulklink_core::Instant;
#[cfg(bulklink_loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(bulklink_loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::{Clock, Timer};

/// The shortest sleep while the clock lags behind the machine's.
const MIN_SLEEP: Duration = Duration::from_millis(1);

/// A thread that is blocked in one call. In an `Arc`, it is its own waker, and the runtime of the
/// call: the clock of the bulkhead, with the thread as the timer.
///
/// It has its own lock and condition variable: the token of `thread::park` belongs to all code that
/// knows the thread, so this must neither take a token nor leave one behind.
pub(crate) struct Thread<C> {
    clock: C,
    /// The deadline of the call, if the thread wakes itself for it. A call has only one.
    deadline: OnceLock<Instant>,
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl<C: Clock + Send + Sync + 'static> Thread<C> {
    /// Returns the calling thread as a runtime on this clock.
    pub(crate) fn on(clock: C) -> Arc<Self> {
        Arc::new(Thread { clock, deadline: OnceLock::new(), is_woken: Mutex::new(false), woken: Condvar::new() })
    }

    /// Polls the future until it is ready, and sleeps in between.
    pub(crate) fn block_on<F: Future>(self: Arc<Self>, future: F) -> F::Output {
        let mut future = pin!(future);
        let waker = Waker::from(Arc::clone(&self));
        let mut context = Context::from_waker(&waker);
        let mut least = Duration::ZERO;
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending if self.sleep(least) => least = Duration::ZERO,
                // The machine's time has passed. If the bulkhead's clock has not reached it, it
                // lags behind or stands still.
                Poll::Pending => least = MIN_SLEEP,
            }
        }
    }

    /// Sleeps until it is woken, or until the deadline but at least for `least`. May return early
    /// for no reason. Returns whether it was woken.
    fn sleep(&self, least: Duration) -> bool {
        let time = self.deadline.get().map(|at| at.saturating_since(self.clock.now()).max(least));
        let mut is_woken = self.lock();
        if !*is_woken {
            is_woken = self.wait(is_woken, time);
        }
        mem::take(&mut *is_woken)
    }
}

impl<C> Thread<C> {
    fn wait<'a>(&self, is_woken: MutexGuard<'a, bool>, time: Option<Duration>) -> MutexGuard<'a, bool> {
        match time {
            Some(time) => self.woken.wait_timeout(is_woken, time).unwrap_or_else(PoisonError::into_inner).0,
            None => self.woken.wait(is_woken).unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Wake for Thread<C> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.lock() = true;
        self.woken.notify_one();
    }
}

#[doc(hidden)]
impl<C: Clock> Clock for Arc<Thread<C>> {
    type Instant = C::Instant;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn instant(&self, at: C::Instant) -> Instant {
        self.clock.instant(at)
    }
}

#[doc(hidden)]
impl<C: Clock> Timer for Arc<Thread<C>> {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Returns a timer of the clock, or one that never completes if the thread wakes itself: it
    /// reads the clock then.
    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        self.clock.blocking_sleep_until(deadline).unwrap_or_else(|| {
            self.deadline.get_or_init(|| deadline);
            Box::pin(future::pending())
        })
    }
}
