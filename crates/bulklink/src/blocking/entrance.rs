//! The gate and a clock, and nothing that waits: what an async bulkhead and a blocking one have in common.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

use bulklink_core::Request;

use super::Threads;
use crate::acquire::slot::Hold;
use crate::{Handle, OwnedSlot, Rejection, Slot};

/// Admission control for threads: at most so many operations at once, so many waiting, so long. Every call that waits blocks its
/// thread.
///
/// Clones are cheap and share everything. What never waits (status, resize, events) lives on the [`Handle`] to which it
/// dereferences. `R` is the clock: [`Threads`], or whatever the async bulkhead runs on that this one was
/// [lent](crate::Bulkhead::blocking) by.
#[derive(Clone)]
#[doc(alias = "semaphore")]
pub struct Bulkhead<R = Threads> {
    pub(crate) handle: Handle,
    pub(crate) runtime: R,
}

impl<R> Bulkhead<R> {
    #[inline]
    pub(crate) fn try_borrow(&self, request: &Request) -> Result<Slot<'_>, Rejection> {
        let shared = &*self.handle.shared;
        shared.try_enter(request, |grant| Slot::new(Hold::new(shared, grant)))
    }

    #[inline]
    pub(crate) fn try_own(&self, request: &Request) -> Result<OwnedSlot, Rejection> {
        let shared = &self.handle.shared;
        shared.try_enter(request, |grant| OwnedSlot::new(Hold::new(Arc::clone(shared), grant)))
    }
}

impl<R> Deref for Bulkhead<R> {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl<R> fmt::Debug for Bulkhead<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
