//! The traits that a runtime implements for a bulkhead: a clock, timers, and ways to run tasks and
//! closures.

#[cfg(feature = "std")]
use alloc::boxed::Box;
#[cfg(feature = "std")]
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::num::NonZeroU64;
#[cfg(feature = "std")]
use core::pin::Pin;
use core::task::{Context, Poll};

use bulklink_core::Instant;

use crate::time::driver::Driver;

/// A monotonic clock.
///
/// A bulkhead reads it only where time matters: in calls that wait, in calls with a deadline, in
/// calls and releases while a call with a measured or limited wait is in the queue, in changes of
/// limits, at the end of a pause, in close and status, and for events; and in every call where
/// holds are measured, or a slot may have to be taken back. It must not panic, and must not call
/// back into a bulkhead.
pub trait Clock {
    /// The type in which users of this clock write a point in time, as in
    /// [`Request::before`](crate::Request::before).
    type Instant: Copy + Send + Sync + 'static;

    /// Returns the present time, in nanoseconds since an epoch that the clock chooses.
    ///
    /// The epoch should lie well before the clock's first reading, because users may pass earlier
    /// instants.
    fn now(&self) -> Instant;

    /// Converts a point in time to the time that [`now`](Clock::now) counts.
    fn instant(&self, at: Self::Instant) -> Instant;

    /// Polls a call or a receiver under the runtime's cooperative scheduling.
    ///
    /// `poll` may complete many times in a row without waiting. A runtime with a budget per task,
    /// such as tokio, subtracts `operations` for a poll that completes, and nothing for a poll that
    /// is pending. If the budget is used up, it does not poll: it wakes the task and returns
    /// `Pending`. The default only polls.
    fn cooperate<T>(
        &self,
        context: &mut Context<'_>,
        operations: u32,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let _ = operations;
        poll(context)
    }

    /// Returns a timer for a thread that is [blocked](crate#threads) until `deadline`, if this
    /// clock does not advance by itself.
    ///
    /// The default returns `None`: on a clock that advances as the machine's does, the thread wakes
    /// itself.
    #[cfg(feature = "std")]
    fn blocking_sleep_until(&self, deadline: Instant) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let _ = deadline;
        None
    }
}

/// The part of a runtime that a bulkhead keeps, as a trait object.
pub(crate) trait DynClock: Send + Sync {
    fn now(&self) -> Instant;

    #[cfg(feature = "std")]
    fn blocking_sleep_until(&self, deadline: Instant) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>>;

    /// Polls as [`Clock::cooperate`] does, for one operation.
    fn cooperate(&self, context: &mut Context<'_>, poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) -> Poll<()>;
}

impl<C: Clock + Send + Sync> DynClock for C {
    fn now(&self) -> Instant {
        Clock::now(self)
    }

    #[cfg(feature = "std")]
    fn blocking_sleep_until(&self, deadline: Instant) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        Clock::blocking_sleep_until(self, deadline)
    }

    fn cooperate(&self, context: &mut Context<'_>, poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) -> Poll<()> {
        Clock::cooperate(self, context, 1, poll)
    }
}

/// The clock that a bulkhead keeps, for threads that wait for its end.
#[cfg(feature = "std")]
pub(crate) struct OwnClock(pub(crate) Arc<dyn DynClock>);

#[cfg(feature = "std")]
impl Clock for OwnClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }

    fn blocking_sleep_until(&self, deadline: Instant) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        self.0.blocking_sleep_until(deadline)
    }
}

/// A source of timers on a clock.
pub trait Timer: Clock {
    /// A future that completes when its deadline is reached, or later.
    type Sleep: Future<Output = ()>;

    /// Returns a timer that completes once [`now`](Clock::now) has reached `deadline`.
    ///
    /// Called when a wait begins, from the task that waits. The clock decides whether a call has
    /// expired, not the timer: if a timer completes early, another is made. At most one timer
    /// exists for each call that waits with a deadline, or one for each [`home`](Timer::home) of
    /// such calls; the driver there makes the later ones.
    fn sleep_until(&self, deadline: Instant) -> Self::Sleep;

    /// Returns the runtime that the present thread runs on, if it can run background tasks.
    ///
    /// A bulkhead then has one [`Driver`](crate::runtime::Driver) there, with one timer, instead of
    /// a timer for each call that waits with a limit. The default returns `None`.
    ///
    /// It must be the runtime that provides the timers of [`sleep_until`](Timer::sleep_until) on
    /// this thread. It is called outside all locks, when a call with a limit may have to wait, and
    /// when such a call is polled and still waits; and with
    /// [`collect_limit`](crate::Builder::collect_limit), for every call that takes the lock. So
    /// it should be cheap, and must not panic. A runtime may drop a driver before its end, as at
    /// shutdown, without a notice: the calls that relied on it are woken. A runtime that keeps a
    /// driver must run it soon after it is woken, whatever the task that woke it does next.
    ///
    /// # Errors
    ///
    /// If `sleep_until` would panic on this thread. The call then fails before it waits: a future
    /// panics with this error, and a submitted operation is rejected with it.
    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError>
    where
        Self: Runtime,
    {
        Ok(None)
    }
}

/// A runtime that can run a [`Driver`](crate::runtime::Driver), as [`Timer::home`] names it.
pub struct DriverHome<R: Timer> {
    pub(super) id: NonZeroU64,
    pub(super) spawn: fn(&R, Driver<R>),
}

impl<R: Timer> DriverHome<R> {
    /// Names a runtime by `id`, a number that no other runtime has at the same time, with a
    /// function that spawns a driver on it.
    ///
    /// The function must run the driver detached. If the runtime refuses the driver, it must drop
    /// it.
    pub fn new(id: NonZeroU64, spawn: fn(&R, Driver<R>)) -> Self {
        DriverHome { id, spawn }
    }

    pub(crate) fn id(&self) -> NonZeroU64 {
        self.id
    }
}

impl<R: Timer> fmt::Debug for DriverHome<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverHome").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The runtime of a [`Bulkhead`](crate::Bulkhead): implemented for every [`Timer`] that is
/// `Clone + Send + Sync + 'static`.
///
/// It is cloned into every call that waits, so it should be small: ideally a type without fields
/// that finds its runtime by itself.
pub trait Runtime: Timer + Clone + Send + Sync + 'static {}

impl<R: Timer + Clone + Send + Sync + 'static> Runtime for R {}

/// A runtime that runs background tasks, as [`Bulkhead::submit`](crate::Bulkhead::submit) needs.
///
/// A bulkhead's [`Driver`](crate::runtime::Driver) is not spawned through this trait, but through
/// [`Timer::home`].
pub trait Spawn {
    /// Runs the future to its end, detached.
    ///
    /// # Errors
    ///
    /// If the runtime refuses the future, which must be dropped then. A runtime that drops it
    /// later, before its end, need not report that.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError>;
}

/// A runtime that runs closures on threads that may block, as
/// [`Bulkhead::submit_blocking`](crate::Bulkhead::submit_blocking) needs.
pub trait SpawnBlocking {
    /// Runs the closure on such a thread, detached. If no thread is free, the closure waits for
    /// one, and the caller does not.
    ///
    /// # Errors
    ///
    /// If the runtime refuses the closure, which must be dropped then. A runtime that drops it
    /// later without running it need not report that.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError>;
}

/// The error of a call with a limit on its wait on a thread that has no timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerError {
    why: &'static str,
}

impl TimerError {
    /// Makes an error with a message that ends, after a colon, with `why`.
    #[must_use]
    pub const fn new(why: &'static str) -> Self {
        TimerError { why }
    }
}

impl fmt::Display for TimerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a call with a limit on its wait needs a timer: {}", self.why)
    }
}

impl core::error::Error for TimerError {}

/// The error of a runtime that refuses to run a future or a closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnError {
    why: &'static str,
}

impl SpawnError {
    /// Makes an error with a message that ends, after a colon, with `why`.
    #[must_use]
    pub const fn new(why: &'static str) -> Self {
        SpawnError { why }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the runtime refused to run it: {}", self.why)
    }
}

impl core::error::Error for SpawnError {}
