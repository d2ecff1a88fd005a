//! Tests that every example runs and prints the expected text.

use std::fs;

mod program;

use program::{prints, succeeds};

/// The example has tests, which run here too.
#[path = "../fake_clock.rs"]
#[allow(dead_code, reason = "`main` is run as a program")]
mod fake_clock_example;

#[test]
fn every_example_is_run() {
    let here = include_str!("examples.rs");
    for file in fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("a folder").map(|file| file.expect("a file").path()) {
        if file.extension().is_some_and(|extension| extension == "rs") {
            let name = file.file_stem().expect("a name").to_string_lossy();
            let is_run = ["prints", "succeeds"].map(|how| here.contains(&format!("    {how}(\"{name}\", ")));
            assert!(is_run.contains(&true), "{name} is run by no test");
        }
    }
}

#[test]
fn quick_start_tokio() {
    prints("quick_start_tokio", &["sent order 1", "sent order 2", "1 in flight", "2 finished, 0 in flight"]);
}

#[test]
fn quick_start_threads() {
    let expected = ["sent order 1", "sent order 2", "1 in flight", "10 finished, at most 2 at a time"];
    prints("quick_start_threads", &expected);
}

#[test]
fn shared_limit() {
    prints("shared_limit", &["450 rows by 100 queries, at most 4 at a time"]);
}

#[test]
fn deadlines() {
    let expected = [
        "waiting as long as the bulkhead says: expired",
        "waiting for 20 ms: expired",
        "waiting until an instant: expired",
        "waiting until an instant that is past: expired",
        "waiting not at all: saturated",
        "waiting for a free slot: admitted",
        "admitted immediately, then ran for 30 ms",
    ];
    prints("deadlines", &expected);
}

#[test]
fn futurelock() {
    succeeds("futurelock", &[]);
}

#[test]
fn goodput() {
    succeeds("goodput", &["1"]);
}

#[test]
fn weights() {
    let expected = [
        "2 operations use 52 of 64 MiB",
        "2 wait for 41 MiB",
        "large and small have run",
        "bulkhead image memory: cost must be from 1 to the capacity, 64, got 65",
    ];
    prints("weights", &expected);
}

#[test]
fn graceful_shutdown() {
    let expected = ["job 1 is done", "job 2 is done", "rejected", "rejected", "rejected", "drained: true"];
    prints("graceful_shutdown", &expected);
}

#[test]
fn resize_under_load() {
    let expected = [
        "1 running, 19 waiting",
        "from 1 to 8: 7 more are admitted",
        "down to 2: 8 still run, 6 too many",
        "20 finished, at most 8 at a time",
    ];
    prints("resize_under_load", &expected);
}

#[test]
fn registry() {
    let expected = [
        "payments: 0 of 10 in flight",
        "reports: 1 of 1 in flight",
        "bulkhead payments: notice: up to 20 may wait, for any length of time",
        "bulkhead reports: warning: 1 of 1 in use",
        "1 of 2 failed: bulkhead report: not in the registry",
        "payments: 20",
        "drained: true",
    ];
    prints("registry", &expected);
}

#[test]
fn partitions() {
    let expected = [
        "ann: expired",
        "bob: report",
        "bulkhead tenants: partition limit (2 of 2 partitions, 2 active, 2 operations)",
        "eve: report",
        "2 kept, 3 made, 1 evicted",
    ];
    prints("partitions", &expected);
}

#[test]
fn event_handler() {
    let expected = ["bulkhead payments: saturated (1 of 1 in use, 0 of 0 waiting)", "1 admitted, 1 rejected"];
    prints("event_handler", &expected);
}

#[test]
fn event_channel() {
    let expected = [
        "bulkhead payments: saturated (1 of 1 in use, 1 of 1 waiting)",
        "1 Admitted: 1 in flight, 0 waiting",
        "2 Queued: 1 in flight, 1 waiting",
        "3 Saturated: 1 in flight, 1 waiting",
        "4 Released: 0 in flight, 1 waiting",
        "5 Admitted: 1 in flight, 0 waiting",
        "6 Released: 0 in flight, 0 waiting",
        "7 Closed: 0 in flight, 0 waiting",
        "8 Drained: 0 in flight, 0 waiting",
        "0 events missed",
    ];
    prints("event_channel", &expected);
}

#[test]
fn blocking_threads() {
    prints("blocking_threads", &["4500 bytes; 20 finished, at most 2 at a time"]);
}

#[test]
fn submit() {
    let expected = [
        "no more: bulkhead reports: saturated (1 of 1 in use, 2 of 2 waiting)",
        "12 pages, 499999500000, 1 page",
        "3 finished, 1 cancelled, 1 rejected",
    ];
    prints("submit", &expected);
}

#[test]
fn fake_clock() {
    prints("fake_clock", &["sunny"]);
}
