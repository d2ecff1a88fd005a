//! The settings.

use std::net::SocketAddr;

use bulklink_tokio::config::Config;
use serde::Deserialize;

use crate::Error;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) upstream: String,
    /// The service is not ready for this time before it rejects requests.
    pub(crate) notice_ms: u64,
    pub(crate) drain_limit_ms: u64,
    /// The service is not ready once requests have waited for its processor in most of this time.
    pub(crate) grace_ms: u64,
    /// The settings that a reload may change.
    pub(crate) limits: Config,
}

impl Settings {
    /// Reads the settings. An error names the line, the path of the value and the accepted values.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let refused = |path: &str, error: &toml::de::Error| {
            let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
            format!("line {line}: {path}{}", error.message())
        };
        let file = toml::Deserializer::parse(text).map_err(|error| refused("", &error))?;
        Ok(serde_path_to_error::deserialize(file).map_err(|error| match error.path() {
            path if path.iter().next().is_none() => refused("", error.inner()),
            path => refused(&format!("{path}: "), error.inner()),
        })?)
    }
}
