//! All bulkheads of the service: created from the settings, and changed with them.

use bulklink_tokio::{Bulkhead, Partitions, RegisterError, Registry};

use crate::Error;
use crate::config::{AllLimits, Config};

#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) registry: Registry,
    pub(crate) orders: Bulkhead,
    pub(crate) digest: Bulkhead,
    pub(crate) export: Bulkhead,
    pub(crate) tenants: Partitions<String>,
}

impl Admission {
    pub(crate) fn new(config: &Config) -> Result<Self, RegisterError> {
        let registry = Registry::new();
        let AllLimits { orders, digest, export, tenants } = &config.limits;
        let each_tenant = Partitions::builder("tenants").max_partitions(config.max_tenants);
        Ok(Admission {
            orders: registry.create(Bulkhead::builder("orders").limits(orders.limits()))?,
            digest: registry.create(Bulkhead::builder("digest").limits(digest.limits()))?,
            export: registry.create(Bulkhead::builder("export").limits(export.limits()))?,
            tenants: registry.create_partitions(each_tenant.limits(tenants.limits()))?,
            registry,
        })
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
