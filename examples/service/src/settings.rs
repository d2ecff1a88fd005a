//! The settings.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;

use bulklink_tokio::config::Config;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) upstream: String,
    pub(crate) drain_limit_ms: u64,
    /// The service is not ready once requests have waited for its processor in most of this time.
    pub(crate) grace_ms: u64,
    /// The settings that a reload may change.
    pub(crate) limits: Config,
}

/// Every reason against a file of settings.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Vec<String>);

impl Settings {
    /// Reads the settings. An error names the line, the path of the value and the accepted values.
    pub(crate) fn parse(text: &str) -> Result<Self, Refused> {
        let refused = |path: &str, error: &toml::de::Error| {
            let line = text[..error.span().map_or(0, |span| span.start)].matches('\n').count() + 1;
            Refused(vec![format!("line {line}: {path}{}", error.message())])
        };
        let file = toml::Deserializer::parse(text).map_err(|error| refused("", &error))?;
        serde_path_to_error::deserialize(file).map_err(|error| match error.path().to_string() {
            path if path == "." => refused("", error.inner()),
            path => refused(&format!("{path}: "), error.inner()),
        })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl Error for Refused {}
