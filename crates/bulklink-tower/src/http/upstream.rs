//! The failures of upstreams that a service passes on: answers that are errors of the server, and
//! bodies that break off.

use std::error::Error;
use std::fmt;

use http::{Extensions, StatusCode};

use super::hold::Held;
use crate::rejection::find;
use crate::{BoxError, log};

/// Marks an answer that is logged.
#[derive(Clone, Copy)]
struct Logged;

/// The failure of an upstream.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The bulkhead or the breaker of the innermost layer that has seen it.
    name: Option<String>,
    how: How,
}

#[derive(Debug)]
enum How {
    Answered { host: String, status: StatusCode },
    BrokenOff(BoxError),
}

/// Logs an answer that is an error of the server, unless a layer inside has logged it. `host` names
/// the upstream.
pub(super) fn answered(host: &str, status: StatusCode, extensions: &mut Extensions, held: Option<&Held>) {
    if cfg!(feature = "tracing") && extensions.insert(Logged).is_none() {
        let how = How::Answered { host: host.to_owned(), status };
        log::failed(Some(status), &Failed { name: held.and_then(Held::name), how });
    }
}

/// Logs the error of a body, and names the bulkhead in it, unless a layer inside has done that.
#[cold]
pub(super) fn broken_off(error: BoxError, held: Option<&Held>) -> BoxError {
    if find::<Failed>(&*error).is_some() {
        return error;
    }
    let failed = Failed { name: held.and_then(Held::name), how: How::BrokenOff(error) };
    log::failed(None, &failed);
    failed.into()
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}: ")?;
        }
        match &self.how {
            How::Answered { host, status } => write!(f, "{host} has answered {status}"),
            How::BrokenOff(_) => f.write_str("the response has broken off"),
        }
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.how {
            How::Answered { .. } => None,
            How::BrokenOff(error) => Some(&**error),
        }
    }
}
