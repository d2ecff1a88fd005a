//! Reports: JSON by their fields, and text.

use std::time::Duration;

use bulklink_fleet::Name;
use jiff::Timestamp;
use serde::Serialize;

/// A report. Its fields are the keys of its JSON.
pub(crate) trait Report: Serialize {
    /// Its text in colours. It ends with the end of a line.
    fn text(&self) -> String;
}

/// A report that is drawn again and again.
pub(crate) trait View: Report {
    /// Its essence on one line, without its end.
    fn line(&self) -> String;
}

/// A report with the time of this machine.
#[derive(Serialize)]
pub(crate) struct Dated<T> {
    /// In milliseconds since 1970.
    pub(crate) at_ms: i64,
    #[serde(flatten)]
    pub(crate) report: T,
}

impl<T> Dated<T> {
    pub(crate) fn now(report: T) -> Self {
        Dated { at_ms: Timestamp::now().as_millisecond(), report }
    }
}

impl<T: Report> Report for Dated<T> {
    fn text(&self) -> String {
        self.report.text()
    }
}

/// The names of a share or a circuit.
#[derive(Serialize)]
pub(crate) struct Names {
    pub(crate) namespace: String,
    pub(crate) label: String,
    /// Both, as on the server.
    name: String,
}

impl Names {
    pub(crate) fn of(name: &Name) -> Self {
        Names { namespace: name.namespace().to_owned(), label: name.label(), name: name.as_str().to_owned() }
    }
}

pub(crate) fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
