//! All bulkheads of the service, by the settings.

use bulklink_tokio::config::{Applied, ApplyError, Config, Problem};
use bulklink_tokio::{Bulkhead, Partitions, Registry, Tokio};

use crate::Error;
use crate::settings::Refused;

/// The sections that the routes need.
const BULKHEADS: [&str; 3] = ["orders", "digest", "export"];
const PARTITIONS: [&str; 1] = ["tenants"];

#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) registry: Registry,
    pub(crate) orders: Bulkhead,
    pub(crate) digest: Bulkhead,
    pub(crate) export: Bulkhead,
    pub(crate) tenants: Partitions<String>,
}

impl Admission {
    pub(crate) fn new(limits: &Config) -> Result<Self, Error> {
        let registry = Registry::new();
        apply(&registry, limits)?;
        Ok(Admission {
            orders: registry.bulkhead("orders")?,
            digest: registry.bulkhead("digest")?,
            export: registry.bulkhead("export")?,
            tenants: registry.partitions("tenants")?,
            registry,
        })
    }

    /// Changes all that is different while calls run, or nothing. The error has all reasons.
    pub(crate) fn apply(&self, limits: &Config) -> Result<Applied, Refused> {
        apply(&self.registry, limits)
    }
}

fn apply(registry: &Registry, limits: &Config) -> Result<Applied, Refused> {
    let mut reasons: Vec<_> =
        limits.require(&BULKHEADS, &PARTITIONS).err().iter().flat_map(|error| in_file(error.problems())).collect();
    if reasons.is_empty() {
        return registry.apply(limits, &Tokio).map_err(|error| match error {
            ApplyError::Refused(reason) => Refused(in_file(reason.problems())),
            other => Refused([vec![other.to_string()], in_file(other.problems())].concat()),
        });
    }
    reasons.extend(limits.check().err().iter().flat_map(|error| in_file(error.problems())));
    Err(Refused(reasons))
}

/// The reasons, with paths as they are in the file.
fn in_file(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|problem| format!("limits.{problem}")).collect()
}
