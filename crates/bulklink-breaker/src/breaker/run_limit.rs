//! The limit on the run of operations: a guard's own, and that of a configuration.

use std::num::NonZeroU64;
// Not loom's: a number is all there is to it.
use std::sync::atomic::AtomicU64 as Number;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bulklink::InvalidArgument;

use crate::Instant;
use crate::circuit::duration;

/// A limit in nanoseconds, so that a call looks at one number.
#[derive(Clone, Copy)]
pub(crate) struct RunLimit(NonZeroU64);

impl RunLimit {
    /// Checks a limit.
    pub(crate) fn checked(limit: Option<Duration>) -> Result<Option<Self>, InvalidArgument> {
        limit.map_or(Ok(()), |limit| duration("run_limit", limit, Duration::from_nanos(1)))?;
        // 100 years are less than fit.
        Ok(limit.and_then(|limit| NonZeroU64::new(limit.as_nanos().try_into().ok()?)).map(RunLimit))
    }

    #[inline]
    pub(crate) fn duration(self) -> Duration {
        Duration::from_nanos(self.0.get())
    }

    /// Returns the end of a run that begins now.
    #[inline]
    pub(crate) fn after(self, now: Instant) -> Instant {
        Instant::from_nanos(now.as_nanos().saturating_add(self.0.get()))
    }
}

/// The limit of a configuration, for the operations that begin from now on. Without one, each guard
/// has its own.
#[derive(Default)]
pub(crate) struct LiveLimit {
    /// Nanoseconds; zero without a limit.
    nanos: Number,
}

impl LiveLimit {
    pub(crate) fn get(&self) -> Option<RunLimit> {
        self.or(None)
    }

    /// Returns the limit, or else that of a guard.
    #[inline]
    pub(crate) fn or(&self, own: Option<RunLimit>) -> Option<RunLimit> {
        NonZeroU64::new(self.nanos.load(Ordering::Relaxed)).map(RunLimit).or(own)
    }

    /// Changes the limit, and returns that before.
    pub(crate) fn set(&self, limit: Option<RunLimit>) -> Option<RunLimit> {
        let nanos = limit.map_or(0, |limit| limit.0.get());
        NonZeroU64::new(self.nanos.swap(nanos, Ordering::Relaxed)).map(RunLimit)
    }
}
