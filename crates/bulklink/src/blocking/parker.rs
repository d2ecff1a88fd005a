//! A thread that blocks on a future: asleep until somebody wakes it, or until its time has come.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::future::Future;
use core::mem;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::PoisonError;

use bulklink_core::Instant;
#[cfg(bulklink_loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(bulklink_loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::Clock;

/// How often at most a thread looks at a clock that lags behind the machine's.
const LEAST: Duration = Duration::from_millis(1);

/// Where one thread sleeps, once. A lock and a condition variable of its own, as the token of `thread::park` belongs to all who
/// know the thread: what they leave there is not to be taken away, nor anything left for them.
pub(crate) struct Parker {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Default)]
struct State {
    is_woken: bool,
    /// When it wakes itself.
    alarm: Option<Instant>,
}

impl Parker {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Parker { state: Mutex::new(State::default()), woken: Condvar::new() })
    }

    /// From now on it wakes itself at this instant of the clock that it blocks by.
    pub(crate) fn set_alarm(&self, at: Instant) {
        self.lock().alarm = Some(at);
    }

    /// Polls the future until it is done, and sleeps in between.
    pub(crate) fn block_on<F: Future>(self: Arc<Self>, clock: &impl Clock, future: F) -> F::Output {
        let mut future = pin!(future);
        let waker = Waker::from(Arc::clone(&self));
        let mut context = Context::from_waker(&waker);
        let mut least = Duration::ZERO;
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending if self.sleep(clock, least) => least = Duration::ZERO,
                // By the machine it is time. If the clock does not think so, it lags behind, or stands still.
                Poll::Pending => least = LEAST,
            }
        }
    }

    /// Sleeps until somebody wakes it, or until its time has come and no shorter than `least`; sometimes it wakes for no reason.
    /// Returns whether somebody woke it.
    fn sleep(&self, clock: &impl Clock, least: Duration) -> bool {
        let alarm = self.lock().alarm;
        let time = alarm.map(|at| at.saturating_since(clock.now()).max(least));
        let mut state = self.lock();
        if !state.is_woken {
            state = self.wait(state, time);
        }
        mem::take(&mut state.is_woken)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, time: Option<Duration>) -> MutexGuard<'a, State> {
        match time {
            Some(time) => self.woken.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0,
            None => self.woken.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.lock().is_woken = true;
        self.woken.notify_one();
    }
}
