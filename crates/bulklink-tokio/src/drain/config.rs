//! A drain from a configuration.

use std::time::Duration;

use bulklink::InvalidArgument;
#[cfg(feature = "serde")]
use bulklink::plumbing::config::duration;
#[cfg(feature = "schema")]
use bulklink::plumbing::config::{duration_schema, positive_duration_schema, unbroken};

use super::Drain;

/// The section of a drain in a configuration, for [`Drain::configured`]. A field that is `None`
/// stays as the drain has it.
///
/// With the feature `serde` it is read from TOML, JSON or anything else that serde reads, with
/// durations as in [the sections of bulkheads](bulklink::config#durations); with the feature
/// `schema` it has a JSON schema.
///
/// ```toml
/// [drain]
/// notice = "5s"
/// limit = "20s"
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = unbroken))]
#[cfg_attr(
    feature = "schema",
    schemars(description = "The end of a service on a signal. What is left out has its default.")
)]
#[non_exhaustive]
pub struct DrainConfig {
    /// The time between the signal and the closing, in which everything is still served; by default
    /// none.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "duration_schema"))]
    pub notice: Option<Duration>,
    /// How long operations, and then the server, have from the closing on; by default 20 s.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub limit: Option<Duration>,
}

impl Drain {
    /// Sets all that a section of a configuration has; the rest stays as it is.
    ///
    /// # Errors
    ///
    /// If a limit of zero is set.
    pub fn configured(self, section: &DrainConfig) -> Result<Self, InvalidArgument> {
        let DrainConfig { notice, limit } = *section;
        let notice = notice.unwrap_or(self.steps.notice);
        let limit = limit.unwrap_or(self.steps.limit);
        self.notice(notice).limit(limit)
    }
}
