//! What a runtime lends to a bulkhead: a clock, timers, and ways to run tasks and closures.

#[cfg(feature = "std")]
use alloc::boxed::Box;
use core::fmt;
use core::future::Future;
#[cfg(feature = "std")]
use core::pin::Pin;
use core::task::{Context, Poll};

use bulklink_core::Instant;

use crate::DriverHome;

/// A monotonic clock.
///
/// A bulkhead reads it only where time matters: in calls that wait, in those with a deadline, in calls and releases while
/// somebody waits whose wait is measured or limited, in resize and close, and for events. It must neither panic nor call back into a bulkhead.
pub trait Clock {
    /// How users of this clock write a point in time, as in [`Request::before`](crate::Request::before).
    type Instant: Copy;

    /// The present, in nanoseconds since an epoch of the clock's choice.
    ///
    /// Leave room below: users may name instants before the first that the clock ever shows.
    fn now(&self) -> Instant;

    /// The same point in time, as [`now`](Clock::now) counts.
    fn instant(&self, at: Self::Instant) -> Instant;

    /// Polls a call or a receiver as a part of the runtime's cooperative scheduling: `poll` may complete each
    /// time, many times in a row. A runtime that bounds what a task does in one go counts what completes, as
    /// so many `operations`; where the bound is reached, it does not poll, and returns `Pending` with the task
    /// woken. Just polls unless overridden, and never counts what is pending.
    fn cooperate<T>(
        &self,
        context: &mut Context<'_>,
        operations: u32,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let _ = operations;
        poll(context)
    }

    /// A timer for a thread that is [blocked](crate#threads) until `deadline`, on a clock that does not pass by itself. `None`
    /// unless overridden: where the clock passes as the machine's does, the thread wakes itself.
    #[cfg(feature = "std")]
    fn blocking_sleep_until(&self, deadline: Instant) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let _ = deadline;
        None
    }
}

/// What a bulkhead keeps of its runtime, whatever that is.
pub(crate) trait DynClock: Send + Sync {
    fn now(&self) -> Instant;

    /// As [`Clock::cooperate`], of one operation.
    fn cooperate(&self, context: &mut Context<'_>, poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) -> Poll<()>;
}

impl<C: Clock + Send + Sync> DynClock for C {
    fn now(&self) -> Instant {
        Clock::now(self)
    }

    fn cooperate(&self, context: &mut Context<'_>, poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) -> Poll<()> {
        Clock::cooperate(self, context, 1, poll)
    }
}

/// A source of timers on a clock.
pub trait Timer: Clock {
    /// Completes when its time has come, or later.
    type Sleep: Future<Output = ()>;

    /// A timer that completes once [`now`](Clock::now) has reached `deadline`. Called when a wait begins, from the task that
    /// waits.
    ///
    /// One that completes early is armed anew: the clock decides who is late, not the timer. At most one lives for each call
    /// that waits with a deadline, or for each [`home`](Timer::home) of theirs; then later ones are made by the driver there.
    fn sleep_until(&self, deadline: Instant) -> Self::Sleep;

    /// The runtime that the call runs on, if it can run tasks in the background. A bulkhead then has one
    /// [`Driver`](crate::Driver) there, with one timer, instead of a timer for each call that waits with a
    /// limit. `None` unless overridden.
    ///
    /// It must be the runtime whose timers [`sleep_until`](Timer::sleep_until) gives out on this thread. It is
    /// asked for, outside of all locks, when a call with a limit may have to wait, and when that is polled and
    /// still waits; so it should be cheap, and must not panic. A runtime that drops a driver before its end, as
    /// one that shuts down does, need not tell: the calls that relied on it are woken. One that keeps a driver
    /// must run it soon after it is woken, whatever the task that woke it does next.
    ///
    /// # Errors
    ///
    /// If `sleep_until` would panic on this thread. The call then fails before it waits: a future panics with
    /// this error, and a submitted operation is refused with it.
    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError>
    where
        Self: Runtime,
    {
        Ok(None)
    }
}

/// Everything that [`Bulkhead`](crate::Bulkhead) asks of its runtime. Implemented for whatever can lend it.
///
/// It is cloned into every call that waits, so it should be small: best a type without fields that finds its runtime by itself.
pub trait Runtime: Timer + Clone + Send + Sync + 'static {}

impl<R: Timer + Clone + Send + Sync + 'static> Runtime for R {}

/// A way to run tasks in the background, as [`Bulkhead::submit`](crate::Bulkhead::submit) does. What bulkheads run there of their
/// own accord is a [`Driver`](crate::Driver), through [`Timer::home`].
pub trait Spawn {
    /// Runs the future to its end, detached.
    ///
    /// # Errors
    ///
    /// If the runtime refuses. The future is dropped then. A runtime that drops it later, before its end, need not tell.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError>;
}

/// A way to run closures on threads that may block, as [`Bulkhead::submit_blocking`](crate::Bulkhead::submit_blocking) does.
pub trait SpawnBlocking {
    /// Runs the closure on such a thread, detached. If there is none to be had now, it waits for one; the caller does not.
    ///
    /// # Errors
    ///
    /// If the runtime refuses. The closure is dropped then. A runtime that drops it later, unrun, need not tell.
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError>;
}

/// A call with a limit on its wait found no timer on its thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerError {
    why: &'static str,
}

impl TimerError {
    /// An error that ends, after a colon, with these words.
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

/// A runtime has refused to run something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnError {
    why: &'static str,
}

impl SpawnError {
    /// An error that goes on, after a colon, with these words.
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
