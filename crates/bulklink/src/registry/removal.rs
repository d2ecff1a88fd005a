//! Leaving a registry: a bulkhead is closed, drains, and is forgotten.

use alloc::sync::{Arc, Weak};
use alloc::task::Wake;
use core::future::Future;
use core::task::Waker;

use bulklink_core::InvalidArgument;

use super::{Inner, Registry, unknown};
use crate::Handle;

/// Forgets a member when it is woken, which happens when the member has drained. So nobody has to poll for that.
struct Forget {
    registry: Weak<Inner>,
    number: u64,
}

impl Wake for Forget {
    fn wake(self: Arc<Self>) {
        if let Some(registry) = self.registry.upgrade() {
            registry.forget(self.number);
        }
    }
}

impl Registry {
    /// Closes the bulkhead with this label (trimmed) immediately, and completes with its handle
    /// when the last operation has ended and the registry has forgotten it. The label is taken
    /// until then. A future that has been granted a slot has to be polled or dropped for that.
    ///
    /// Two removals of one bulkhead both complete when it is gone; neither touches another that has come to have its label.
    ///
    /// # Errors
    ///
    /// If there is no bulkhead of this label; then nothing is closed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future does not open the bulkhead again, nor keep it in the registry: it is forgotten as soon as it has drained,
    /// whether or not anybody waits for that.
    ///
    /// # Panics
    ///
    /// If the bulkhead's clock does. It is then neither closed nor removed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::{Bulkhead, Registry};
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let clock = executor.clock();
    /// let registry = Registry::new();
    /// registry.create(Bulkhead::builder_on(clock, "payments").parallelism(10))?;
    /// # executor.block_on(async move {
    /// let payments = registry.remove("payments").await?;
    /// assert!(payments.status().is_drained());
    /// assert!(registry.get("payments").is_none());
    /// # Ok::<(), bulklink::InvalidArgument>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, label: &str) -> impl Future<Output = Result<Handle, InvalidArgument>> + Send + use<'_> {
        let leaving = self.find(label).ok_or_else(|| unknown(label));
        if let Ok((number, member)) = &leaving {
            member.handle.close();
            if member.leave() {
                let forget = Forget { registry: Arc::downgrade(&self.0), number: *number };
                member.handle.shared.when_drained(Waker::from(Arc::new(forget)));
            }
        }
        async move {
            let (number, member) = leaving?;
            member.handle.closed().await;
            // Its waker may be on its way, on another thread.
            self.0.forget(number);
            Ok(member.handle.clone())
        }
    }
}

impl Inner {
    fn forget(&self, number: u64) {
        let _member = self.members.with(|members| members.forget(number));
    }
}
