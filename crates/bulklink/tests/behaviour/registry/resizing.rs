//! Resizing several bulkheads in one call.

use bulklink::{CollectiveError, FailureCause, Registry, ResizeError, Resized};

use super::create;

#[test]
fn resize_all_tries_every_bulkhead_and_returns_all_failures() {
    let registry = Registry::new();
    let made = ["payments", "reports", "closed", "audit"].map(|label| create(&registry, label));
    made[2].close();
    let wanted = [(" payments ", 2), ("unknown ", 2), ("reports", 0), ("closed", 2), ("audit", 3)];
    let CollectiveError { tried, failures, .. } = registry.resize_all(wanted).expect_err("some fail");
    let failed: Vec<_> = failures.iter().map(|failure| (&*failure.label, failure.cause.clone())).collect();
    let zero = made[1].resize(0).expect_err("zero");
    let expected = [
        ("unknown", FailureCause::Unknown),
        ("reports", FailureCause::Resize(zero)),
        ("closed", FailureCause::Resize(ResizeError::Closed { label: "closed".into() })),
    ];
    assert_eq!((tried, failed), (5, expected.into()));
    let text = "3 of 5 failed: bulkhead unknown: not in the registry; \
                bulkhead reports: parallelism must be at least 1, got 0; \
                bulkhead closed: closed, and cannot be resized";
    assert_eq!(registry.resize_all(wanted).expect_err("some fail").to_string(), text);
    assert_eq!(made.map(|bulkhead| bulkhead.status().limits.capacity), [2, 1, 1, 3]);
}

#[test]
fn resize_all_returns_what_changed() {
    let registry = Registry::new();
    for label in ["payments", "reports"] {
        create(&registry, label);
    }
    let resized = registry.resize_all([("reports", 5), ("reports", 7), ("payments", 1)]).expect("all valid");
    assert_eq!(resized.iter().map(|Resized { previous, .. }| *previous).collect::<Vec<_>>(), [1, 5, 1]);
    assert_eq!(registry.resize_all::<&str>([]).expect("nothing to fail").len(), 0);
}
