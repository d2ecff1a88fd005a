//! The settings.

use std::net::SocketAddr;
use std::time::Duration;

use bulklink_tokio::Limits;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) upstream: String,
    pub(crate) drain_limit_ms: u64,
    /// The service is not ready once requests have waited for its processor in most of this time.
    pub(crate) grace_ms: u64,
    pub(crate) max_tenants: usize,
    pub(crate) limits: AllLimits,
}

/// The limits of each bulkhead, and of each tenant: what a reload may change.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllLimits {
    pub(crate) orders: Settings,
    pub(crate) digest: Settings,
    pub(crate) export: Settings,
    pub(crate) tenants: Settings,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    capacity: usize,
    #[serde(default)]
    waiting_room: usize,
    wait_limit_ms: Option<u64>,
}

impl AllLimits {
    pub(crate) fn by_label(&self) -> [(&'static str, Limits); 4] {
        let AllLimits { orders, digest, export, tenants } = self;
        [("orders", orders), ("digest", digest), ("export", export), ("tenants", tenants)]
            .map(|(label, settings)| (label, settings.limits()))
    }
}

impl Settings {
    pub(crate) fn limits(&self) -> Limits {
        Limits::new(self.capacity)
            .with_waiting_room(self.waiting_room)
            .with_wait_limit(self.wait_limit_ms.map(Duration::from_millis))
    }
}
