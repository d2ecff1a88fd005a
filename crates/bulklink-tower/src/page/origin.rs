//! The first line of a page: when it was made, and by which process.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, process};

use bulklink::Registry;
use bulklink::config::FileStatus;
use tokio::time::Instant;

/// The process that serves the page.
pub(super) struct Origin {
    host: Option<String>,
    since: Instant,
}

/// The page of one moment.
pub(super) struct Head<'a> {
    /// In UTC, by RFC 3339.
    pub(super) time: String,
    pub(super) process: u32,
    pub(super) host: Option<&'a str>,
    /// Since the router was made.
    pub(super) up: Duration,
    /// The file of settings that the registry follows.
    pub(super) file: Option<Arc<FileStatus>>,
}

impl Origin {
    pub(super) fn new() -> Self {
        let named = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| env::var("HOSTNAME").ok());
        let host = named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        Origin { host, since: Instant::now() }
    }

    pub(super) fn head(&self, registry: &Registry) -> Head<'_> {
        let (time, up) = (utc(SystemTime::now()), self.since.elapsed());
        Head { time, process: process::id(), host: self.host.as_deref(), up, file: registry.file_status() }
    }
}

/// The calendar is counted from the first of March, so that the leap day is the last of a year.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", year + 400 * era)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
