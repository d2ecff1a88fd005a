//! All bulkheads of the service: created from the settings, changed with them, and entered.

use bulklink_tokio::{Bulkhead, OwnedSlot, Partitions, RegisterError, Registry, Rejection};
use tracing::debug;

use crate::Error;
use crate::caller::Caller;
use crate::config::{AllLimits, Config};

/// The label of the partitions, by which a rejection of a tenant is told from one of a bulkhead.
pub(crate) const TENANTS: &str = "tenants";

#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) registry: Registry,
    pub(crate) orders: Bulkhead,
    pub(crate) digest: Bulkhead,
    pub(crate) export: Bulkhead,
    tenants: Partitions<String>,
}

/// The slots of one call. They move to where its work is: a task, a thread or a response's body.
///
/// The fields are dropped in order, so the tenant's next call finds the bulkhead's slot free.
#[derive(Debug)]
pub(crate) struct Admitted {
    _bulkhead: OwnedSlot,
    _tenant: OwnedSlot,
}

impl Admission {
    pub(crate) fn new(config: &Config) -> Result<Self, RegisterError> {
        let registry = Registry::new();
        let AllLimits { orders, digest, export, tenants } = &config.limits;
        let each_tenant = Partitions::builder(TENANTS).max_partitions(config.max_tenants);
        Ok(Admission {
            orders: registry.create(Bulkhead::builder("orders").limits(orders.limits()))?,
            digest: registry.create(Bulkhead::builder("digest").limits(digest.limits()))?,
            export: registry.create(Bulkhead::builder("export").limits(export.limits()))?,
            tenants: registry.create_partitions(each_tenant.limits(tenants.limits()))?,
            registry,
        })
    }

    /// Admits a call: to the tenant's own share first, so that a tenant that has used up its share
    /// does not wait in the bulkhead's slots.
    pub(crate) async fn admit(&self, bulkhead: &Bulkhead, caller: &Caller) -> Result<Admitted, Rejection> {
        let tenant = self.tenants.slot_with(&caller.tenant, caller.request()).await?;
        let slot = bulkhead.slot_owned_with(caller.request()).await?;
        debug!(bulkhead = bulkhead.label(), waited = ?slot.waited(), waited_as_tenant = ?tenant.waited(), "admitted");
        Ok(Admitted { _bulkhead: slot, _tenant: tenant })
    }

    /// Changes all limits while calls run, or none of them. The error has all reasons.
    pub(crate) fn reconfigure(&self, old: &Config, new: &AllLimits) -> Result<(), Error> {
        // Each change of `reconfigure_all` is separate. A rehearsal, on bulkheads without calls,
        // finds what is wrong before the first limit has changed.
        Admission::new(old)?.registry.reconfigure_all(new.by_label())?;
        self.registry.reconfigure_all(new.by_label())?;
        Ok(())
    }
}
