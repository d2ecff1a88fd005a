//! A share from a configuration.

use std::time::Duration;

#[cfg(feature = "serde")]
use bulklink::plumbing::config::duration;
#[cfg(feature = "schema")]
use bulklink::plumbing::config::{duration_schema, positive_duration_schema, unbroken};

#[cfg(feature = "schema")]
use super::join::MAX_NUMBER;
use super::{Outage, ShareBuilder};

/// The section of a share in a configuration, for
/// [`ShareBuilder::configured`]. A field that is `None` has the default of the builder.
///
/// With the feature `serde` it is read from TOML, JSON or anything else that serde reads, with
/// durations as in [the sections of bulkheads](bulklink::config#durations); with the feature
/// `schema` it has a JSON schema.
///
/// ```toml
/// [shares.payments]
/// limit = 100
/// weight = 2
/// on_outage = "share"
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = unbroken))]
#[cfg_attr(feature = "schema", schemars(description = "A share of a fleet's limit. What is left out has its default."))]
#[non_exhaustive]
pub struct ShareConfig {
    /// The limit of the whole fleet, in units. It must be set, here or in the builder.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "usize", range(min = 1, max = u32::MAX)))]
    pub limit: Option<usize>,
    /// The part of this process among those that wait for units, relative to others; by default 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1)))]
    pub weight: Option<u32>,
    /// The number of the configuration that limit, lease and claim are from; by default 1. A higher
    /// number replaces those of the processes with lower ones.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64", range(min = 1, max = MAX_NUMBER)))]
    pub config: Option<u64>,
    /// How long units can be used after the last word of the store; by default 10 s. The same in
    /// all processes.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub lease: Option<Duration>,
    /// How long a process without units keeps its place; by default 3 s. The same in all processes.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub claim: Option<Duration>,
    /// The answer to calls while the store is out of reach and the lease has ended: `reject`, the
    /// default, `share` or `admit`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "Outage"))]
    pub on_outage: Option<Outage>,
    /// How long a call that finds no unit of the share waits for more where it would be rejected;
    /// by default 10 ms.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "duration_schema"))]
    pub fetch: Option<Duration>,
}

impl<R> ShareBuilder<R> {
    /// Sets all that a section of a configuration has; the rest stays as it is.
    ///
    /// ```
    /// use bulklink::runtime::{Runtime, Spawn};
    /// use bulklink::Registry;
    /// use bulklink_fleet::{Fleet, FleetShare, ShareConfig};
    /// use std::collections::BTreeMap;
    /// use std::error::Error;
    ///
    /// /// Shares the limits of all bulkheads that have a section, at the start.
    /// async fn share_all<R: Runtime<Sleep: Send> + Spawn>(
    ///     fleet: &Fleet<R>,
    ///     bulkheads: &Registry,
    ///     sections: &BTreeMap<String, ShareConfig>,
    /// ) -> Result<Vec<FleetShare<R>>, Box<dyn Error>> {
    ///     let mut shares = Vec::new();
    ///     for (label, section) in sections {
    ///         let unknown = || format!("shares.{label}: no bulkhead has this label");
    ///         let bulkhead = bulkheads.get(label).ok_or_else(unknown)?;
    ///         shares.push(fleet.share(&bulkhead).configured(section).connect().await?);
    ///     }
    ///     Ok(shares)
    /// }
    /// ```
    pub fn configured(mut self, section: &ShareConfig) -> Self {
        let ShareConfig { limit, weight, config, lease, claim, on_outage, fetch } = *section;
        self.limit = limit.or(self.limit);
        self.weight = weight.unwrap_or(self.weight);
        self.config = config.unwrap_or(self.config);
        self.terms.lease = lease.unwrap_or(self.terms.lease);
        self.terms.claim = claim.unwrap_or(self.terms.claim);
        self.outage = on_outage.unwrap_or(self.outage);
        self.fetch = fetch.unwrap_or(self.fetch);
        self
    }
}
