//! The failures of upstreams that a service passes on: answers that are errors of the server, and
//! bodies that break off.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use http::{Extensions, StatusCode};

use super::hold::Held;
use crate::log;

/// Marks an answer that is logged.
#[derive(Clone, Copy)]
struct Logged;

/// The failure of an upstream.
#[derive(Debug)]
pub(crate) struct Failed {
    upstream: Upstream,
    how: How,
}

#[derive(Debug)]
enum How {
    Answered(StatusCode),
    #[cfg(feature = "reqwest")]
    BrokenOff(reqwest::Error),
}

/// An upstream, as the innermost layer knows it.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    /// The label of its bulkhead or breaker. `None` for a request that holds neither.
    pub(super) label: Option<Arc<str>>,
    /// `None` if its response does not say.
    pub(super) host: Option<Box<str>>,
}

/// Logs an answer that is an error of the server, unless a layer inside has logged it.
pub(super) fn answered(host: Option<&str>, status: StatusCode, extensions: &mut Extensions, held: Option<&Held>) {
    if cfg!(feature = "tracing") && extensions.insert(Logged).is_none() {
        let upstream = Upstream { label: held.and_then(Held::label), host: host.map(Box::from) };
        log::failed(Some(status), &Failed { upstream, how: How::Answered(status) });
    }
}

/// Logs the error of a body, and names the upstream in it, unless a layer inside has done that.
#[cfg(feature = "reqwest")]
#[cold]
pub(super) fn broken_off(upstream: &Upstream, error: reqwest::Error) -> crate::BoxError {
    if crate::rejection::find::<Failed>(&error).is_some() {
        return error.into();
    }
    let failed = Failed { upstream: upstream.clone(), how: How::BrokenOff(error) };
    log::failed(None, &failed);
    failed.into()
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Upstream { label, host } = &self.upstream;
        if let Some(label) = label {
            write!(f, "{label}: ")?;
        }
        let host = host.as_deref().unwrap_or("the upstream");
        match &self.how {
            How::Answered(status) => write!(f, "{host} has answered {status}"),
            #[cfg(feature = "reqwest")]
            How::BrokenOff(_) => write!(f, "the response of {host} has broken off"),
        }
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.how {
            How::Answered(_) => None,
            #[cfg(feature = "reqwest")]
            How::BrokenOff(error) => Some(error),
        }
    }
}
