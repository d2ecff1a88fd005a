//! Partitions in a registry.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;

use bulklink_core::InvalidArgument;

use super::members::{Kind, Member};
use super::{RegisterError, Registry, unknown};
use crate::{Clock, Partitions, partitions};

/// Partitions, under labels that differ from those of the bulkheads too.
impl Registry {
    /// Builds partitions and registers them.
    ///
    /// # Errors
    ///
    /// As [`create`](Registry::create).
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Partitions, Registry};
    ///
    /// let registry = Registry::new();
    /// registry.create(Bulkhead::builder("payments").parallelism(10))?;
    /// let tenants = Partitions::<String>::builder("tenants").parallelism(1);
    /// let tenants = registry.create_partitions(tenants.max_partitions(100))?;
    /// let _running = tenants.key("ann").try_slot()?;
    /// for partitions in registry.partition_handles() {
    ///     println!("{}: {:?}", partitions.label(), partitions.sums().totals);
    /// }
    /// registry.close_all();
    /// assert!(tenants.status().is_closed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_partitions<K, R, S>(
        &self,
        builder: partitions::Builder<K, R, S>,
    ) -> Result<Partitions<K, R, S>, RegisterError>
    where
        K: Send + 'static,
        R: Clock + Clone + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        let partitions = builder.build()?;
        self.add_partitions(&partitions)?;
        Ok(partitions)
    }

    /// Registers partitions that were built elsewhere, as [`add`](Registry::add) does with a
    /// bulkhead.
    ///
    /// # Errors
    ///
    /// As [`add`](Registry::add).
    pub fn add_partitions<K, R, S>(&self, partitions: &Partitions<K, R, S>) -> Result<(), RegisterError>
    where
        K: Send + 'static,
        R: Clock + Clone + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        let member = Member::of_partitions(partitions.clone());
        self.members.with(|members| members.add(&member))
    }

    /// Returns the partitions with this label (trimmed) and their types, to make calls.
    ///
    /// # Errors
    ///
    /// If there are none, or if their types are not these; the error names both.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Partitions, Registry, Tokio, partitions::RandomState};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let registry = Registry::new();
    /// let tenants = Partitions::<String>::builder("tenants").parallelism(1);
    /// registry.create_partitions(tenants.max_partitions(100))?;
    /// let tenants = registry.partitions::<String, Tokio, RandomState>("tenants")?;
    /// let slot = tenants.key("ann").slot().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn partitions<K, R, S>(&self, label: &str) -> Result<Partitions<K, R, S>, InvalidArgument>
    where
        K: Send + 'static,
        R: Clock + Clone + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        let (_, member) = self.find(label).ok_or_else(|| unknown("partitions", label))?;
        member.partitions()
    }

    /// Returns the handle of the partitions with this label (trimmed). Partitions that are being
    /// removed are found until they have drained.
    #[must_use]
    pub fn get_partitions(&self, label: &str) -> Option<partitions::Handle> {
        self.find(label).and_then(|(_, member)| member.kind.partitions().cloned())
    }

    /// Returns the handles of all partitions, in the order in which they were registered.
    #[must_use]
    pub fn partition_handles(&self) -> Vec<partitions::Handle> {
        self.members().iter().filter_map(|member| member.kind.partitions().cloned()).collect()
    }

    /// Closes the partitions with this label (trimmed) immediately. Completes with their handle
    /// when every call has left its partition, all partitions have been dropped with their keys,
    /// and the registry has dropped them; the label is taken until then.
    ///
    /// In all else it is as [`remove`](Registry::remove).
    ///
    /// # Errors
    ///
    /// If there are no partitions with this label. Nothing is closed then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future neither opens the partitions again nor keeps them in the registry: they
    /// are removed as soon as they have drained, even if no task waits for that.
    pub fn remove_partitions(
        &self,
        label: &str,
    ) -> impl Future<Output = Result<partitions::Handle, InvalidArgument>> + Send + use<'_> {
        let found = self.find(label).filter(|(_, member)| matches!(member.kind, Kind::Partitions(_)));
        let leaving = found.ok_or_else(|| unknown("partitions", label)).map(|found| self.begin_removal(found));
        async move {
            let (number, member) = leaving?;
            let Kind::Partitions(partitions) = &member.kind else { unreachable!("they are partitions") };
            partitions.close_and_wait().await;
            self.end_removal(number);
            Ok(partitions::Handle { inner: Arc::clone(&partitions.inner) })
        }
    }
}
