//! Removal: a bulkhead is closed, drains and leaves its registry.

use bulklink::{Handle, InvalidArgument, RegisterError, Registry};

use super::foreign::create_panicking;
use super::{builder, create, labels};
use crate::executor;

#[test]
fn a_removed_bulkhead_drains_and_then_its_label_is_free() {
    let mut executor = executor();
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    create(&registry, "reports");
    let running = payments.owned().try_slot().expect("free");
    let inside = registry.clone();
    let removal = executor.spawn(async move { inside.remove(" payments ").await });
    executor.run_until_idle();
    assert!(payments.is_closed() && !removal.is_finished());
    assert_eq!(labels(&registry), ["payments", "reports"], "the label is taken until the bulkhead is drained");
    assert!(matches!(registry.create(builder("payments")), Err(RegisterError::Taken { .. })));
    drop(running);
    executor.run_until_idle();
    let removed = removal.output().expect("the bulkhead is drained").expect("it was there");
    assert_eq!(removed.status().instance, payments.status().instance);
    assert!(removed.status().is_drained());
    create(&registry, "payments");
    assert_eq!(labels(&registry), ["reports", "payments"], "a new bulkhead is listed last");
}

#[test]
fn an_idle_bulkhead_is_removed_immediately() {
    let registry = Registry::new();
    create(&registry, "payments");
    drop(registry.remove("payments"));
    assert!(registry.is_empty());
    create(&registry, "payments");
}

#[test]
fn a_removal_goes_on_after_its_future_is_dropped() {
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let running = payments.try_slot().expect("free");
    for _ in 0..3 {
        drop(registry.remove("payments"));
    }
    assert!(payments.is_closed());
    assert_eq!(labels(&registry), ["payments"]);
    drop(running);
    assert!(registry.is_empty());
}

#[test]
fn removing_an_unknown_label_is_an_error_and_closes_nothing() {
    let mut executor = executor();
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let inside = registry.clone();
    let refused: Result<Handle, InvalidArgument> = executor.block_on(async move { inside.remove("payment").await });
    let text = r#"label must be that of a bulkhead in the registry, got "payment""#;
    assert_eq!(refused.expect_err("no such name").to_string(), text);
    assert!(!payments.is_closed());
}

#[test]
fn two_removals_of_one_bulkhead_both_end() {
    let mut executor = executor();
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let running = payments.owned().try_slot().expect("free");
    let [first, second] = [(); 2].map(|()| {
        let inside = registry.clone();
        executor.spawn(async move { inside.remove("payments").await })
    });
    executor.run_until_idle();
    drop(running);
    let new_bulkhead = create(&registry, "payments");
    executor.run_until_idle();
    for removal in [first, second] {
        let removed = removal.output().expect("the bulkhead is drained").expect("it was there");
        assert_eq!(removed.status().instance, payments.status().instance);
    }
    assert_eq!(labels(&registry), ["payments"]);
    assert!(!new_bulkhead.is_closed());
}

#[test]
fn a_removal_goes_on_while_the_registry_closes() {
    let mut executor = executor();
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let running = payments.owned().try_slot().expect("free");
    drop(registry.remove("payments"));
    let inside = registry.clone();
    let closing = executor.spawn(async move { inside.close_and_wait().await });
    executor.run_until_idle();
    assert!(!closing.is_finished(), "the last operation still runs");
    drop(running);
    executor.run_until_idle();
    assert!(closing.is_finished());
    assert!(registry.is_empty());
}

#[test]
fn a_bulkhead_whose_clock_panics_is_removed_nevertheless() {
    let registry = Registry::new();
    let (payments, runtime) = create_panicking(&registry, "payments");
    runtime.panic(true);
    drop(registry.remove("payments"));
    assert!(payments.is_closed() && registry.is_empty());
}

/// The registry may be dropped while a bulkhead that it removes lives on.
#[test]
fn a_bulkhead_outlives_its_registry() {
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let running = payments.try_slot().expect("free");
    drop(registry.remove("payments"));
    drop(registry);
    drop(running);
    assert!(payments.status().is_drained());
}
