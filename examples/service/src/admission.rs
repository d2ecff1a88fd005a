//! All bulkheads of the service, by the settings.

use bulklink_tokio::config::Applied;
use bulklink_tokio::{Bulkhead, InvalidArgument, Partitions, Registry, Tokio};
use tracing::warn;

use crate::Error;
use crate::settings::Settings;

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

/// Returns what applies the text of the settings, at the start and whenever it has changed: all of
/// its limits, or nothing.
pub(crate) fn apply(registry: Registry, started_with: Settings) -> impl FnMut(&str) -> Result<Applied, Error> {
    move |text| {
        let settings = Settings::parse(text)?;
        settings.limits.require(&["orders", "digest", "export"], &["tenants"])?;
        let applied = registry.apply(&settings.limits, &Tokio)?;
        if (Settings { limits: started_with.limits.clone(), ..settings }) != started_with {
            warn!("what is not a limit changes at the next restart");
        }
        Ok(applied)
    }
}
