//! The removal of a bulkhead from a registry: it is closed, it drains, and the registry drops it.

use alloc::sync::Arc;
use core::future::Future;

use bulklink_core::InvalidArgument;

use super::members::{Kind, Member, Members};
use super::{Registry, unknown};
use crate::Handle;
use crate::gate::lock::Lock;
use crate::waker_fn::waker_fn;

impl Registry {
    /// Closes the bulkhead with this label (trimmed) immediately. Completes with its handle when
    /// the last operation has ended and the registry has dropped the bulkhead; the label is taken
    /// until then.
    ///
    /// A future that has been granted a slot must be polled or dropped for that.
    ///
    /// Two removals of one bulkhead both complete when it is removed. Neither affects a later
    /// bulkhead with the same label.
    ///
    /// # Errors
    ///
    /// If there is no bulkhead with this label. Nothing is closed then. Partitions are removed by
    /// [`remove_partitions`](Registry::remove_partitions).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future neither opens the bulkhead again nor keeps it in the registry: it is
    /// removed as soon as it has drained, even if no task waits for that.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Registry};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let registry = Registry::new();
    /// registry.create(Bulkhead::builder("payments").parallelism(10))?;
    /// let payments = registry.remove("payments").await?;
    /// assert!(payments.status().is_drained());
    /// assert!(registry.get("payments").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove(&self, label: &str) -> impl Future<Output = Result<Handle, InvalidArgument>> + Send + use<'_> {
        let found = self.find(label).filter(|(_, member)| member.kind.bulkhead().is_some());
        let leaving = found.ok_or_else(|| unknown("a bulkhead", label)).map(|found| self.begin_removal(found));
        async move {
            let (number, member) = leaving?;
            let Kind::Bulkhead(bulkhead) = &member.kind else { unreachable!("it is a bulkhead") };
            bulkhead.closed().await;
            self.end_removal(number);
            Ok(bulkhead.clone())
        }
    }

    /// Closes the member, and lets it remove itself when it has drained, so that no task has to
    /// poll for that.
    pub(super) fn begin_removal(&self, (number, member): (u64, Arc<Member>)) -> (u64, Arc<Member>) {
        member.kind.close();
        if member.leave() {
            let members = Arc::downgrade(&self.members);
            member.kind.when_drained(waker_fn(move || {
                if let Some(members) = members.upgrade() {
                    forget(&members, number);
                }
            }));
        }
        (number, member)
    }

    /// Removes a member that has drained: the waker that does so may still be on its way, on
    /// another thread.
    pub(super) fn end_removal(&self, number: u64) {
        forget(&self.members, number);
    }
}

/// Removes a member from the registry, and drops it outside the lock.
fn forget(members: &Lock<Members>, number: u64) {
    let _member = members.with(|members| members.forget(number));
}
