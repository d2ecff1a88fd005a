//! All bulkheads of the service, by the settings.

use bulklink_tokio::{Bulkhead, InvalidArgument, Partitions, Registry};

#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) orders: Bulkhead,
    pub(crate) digest: Bulkhead,
    pub(crate) export: Bulkhead,
    pub(crate) tenants: Partitions<String>,
}

impl Admission {
    pub(crate) fn new(registry: &Registry) -> Result<Self, InvalidArgument> {
        Ok(Admission {
            orders: registry.bulkhead("orders")?,
            digest: registry.bulkhead("digest")?,
            export: registry.bulkhead("export")?,
            tenants: registry.partitions("tenants")?,
        })
    }
}
