//! What reports of both nouns have: names, and times in milliseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulklink_fleet::Name;
use serde::Serialize;

/// What a share or a circuit is called.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Names {
    pub(crate) namespace: String,
    pub(crate) label: String,
    /// Both, as they are on the server.
    pub(crate) name: String,
}

impl Names {
    pub(crate) fn of(name: &Name) -> Self {
        Names { namespace: name.namespace().to_owned(), label: name.label(), name: name.as_str().to_owned() }
    }
}

pub(crate) fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The time of this machine, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole_millis)
}
