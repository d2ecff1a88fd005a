//! Bulkheads are found by their labels and listed in their order.

use std::sync::Barrier;
use std::thread;

use bulklink::testing::FakeClock;
use bulklink::{FindingCode, RegisterError, Registry};

use super::foreign::create_panicking;
use super::{builder, create, labels};
use crate::panicking_clock::PanickingClock;
use crate::{chain, executor};

#[test]
fn bulkheads_are_listed_in_the_order_of_insertion() {
    let registry = Registry::new();
    assert!(registry.is_empty());
    let made: Vec<_> = ["payments", "reports", "audit"].map(|label| create(&registry, label)).into();
    let unregistered = builder("zoo").build().expect("valid");
    registry.add(&unregistered).expect("a new name");
    let _running = made[1].try_slot().expect("free");
    assert_eq!(labels(&registry), ["payments", "reports", "audit", "zoo"]);
    assert_eq!((registry.len(), registry.is_empty()), (4, false));
    let statuses: Vec<_> =
        registry.statuses().iter().map(|status| (status.label.to_string(), status.in_flight)).collect();
    let running = [0, 1, 0, 0].into_iter();
    assert_eq!(statuses, labels(&registry).into_iter().zip(running).collect::<Vec<_>>());
    let reports = registry.capacity_reports();
    assert_eq!(reports.iter().map(|report| report.label.to_string()).collect::<Vec<_>>(), labels(&registry));
    assert_eq!(reports[1].findings[0].code, FindingCode::ExecutionFull);
    assert!(reports[0].findings.is_empty());
}

#[test]
fn clones_share_one_registry() {
    let registry = Registry::new();
    create(&registry.clone(), "payments");
    assert_eq!(labels(&registry), ["payments"]);
    registry.clone().close_all();
    assert!(registry.is_closed());
}

#[test]
fn a_bulkhead_is_found_by_its_trimmed_label() {
    let registry = Registry::new();
    let payments = create(&registry, "  payments ");
    create_panicking(&registry, "reports");
    let found = registry.get(" payments\t").expect("the bulkhead is in the registry");
    let _running = registry.bulkhead::<FakeClock>("payments").expect("its runtime").owned().try_slot().expect("free");
    assert_eq!((found.label(), found.status().in_flight, payments.status().in_flight), ("payments", 1, 1));
    assert!(registry.bulkhead::<PanickingClock>("reports").is_ok());
    assert!(registry.get("payment").is_none() && registry.get("").is_none());
}

#[test]
fn errors_name_an_unknown_label_and_a_wrong_runtime() {
    let registry = Registry::new();
    create(&registry, "payments");
    let refused = registry.bulkhead::<PanickingClock>("payments").expect_err("another runtime");
    assert_eq!(refused.field(), "runtime");
    let text = refused.to_string();
    assert!(text.starts_with("bulkhead payments: runtime must be bulklink::testing::"), "{text}");
    assert!(text.ends_with("::PanickingClock"), "{text}");
    let refused = registry.bulkhead::<FakeClock>("payment").expect_err("no such name");
    assert_eq!(refused.to_string(), r#"label must be that of a bulkhead in the registry, got "payment""#);
}

/// Such a label was never validated, and may come from outside.
#[test]
fn an_unknown_label_is_escaped_in_errors() {
    let mut executor = executor();
    let registry = Registry::new();
    let name = "x\nok: all well\u{1b}[2K \u{202e}\u{2028}\u{200b}Zu\u{308}rich \"\\'";
    let shown = r"x\nok: all well\u{1b}[2K \u{202e}\u{2028}\u{200b}".to_owned() + "Zu\u{308}rich \"\\'";
    let error = registry.resize_all([(name, 1)]).expect_err("no such name");
    assert_eq!(error.to_string(), format!("1 of 1 failed: bulkhead {shown}: not in the registry"));
    assert_eq!(&*error.failures[0].label, name, "the field has the label as given");
    let unknown = format!("label must be that of a bulkhead in the registry, got \"{shown}\"");
    assert_eq!(registry.bulkhead::<FakeClock>(name).expect_err("no such name").to_string(), unknown);
    let removed = executor.block_on(async move { registry.remove(name).await });
    assert_eq!(removed.expect_err("no such name").to_string(), unknown);
    let taken = RegisterError::Taken { label: name.into() };
    assert_eq!(
        taken.to_string(),
        format!("label must be new, but the registry has it or has not finished removing it, got \"{shown}\"")
    );
}

#[test]
fn labels_are_unique_and_an_error_changes_nothing() {
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let taken = RegisterError::Taken { label: "payments".into() };
    assert_eq!(registry.create(builder(" payments ")).expect_err("taken"), taken);
    assert_eq!(registry.add(&payments), Err(taken.clone()), "even if it is the same bulkhead");
    assert_eq!(
        taken.to_string(),
        r#"label must be new, but the registry has it or has not finished removing it, got "payments""#
    );
    let refused = registry.create(builder("  ")).expect_err("blank");
    assert!(matches!(&refused, RegisterError::Invalid(invalid) if invalid.field() == "label"), "{refused}");
    let refused = registry.create(builder("reports").parallelism(0)).expect_err("zero");
    assert_eq!(chain(&refused), "nothing was registered: bulkhead reports: parallelism must be at least 1, got 0");
    assert_eq!(labels(&registry), ["payments"]);
    assert!(
        registry.get("payments").expect("the bulkhead is in the registry").status().instance
            == payments.status().instance
    );
}

#[test]
fn a_registry_keeps_its_bulkheads_alive() {
    let registry = Registry::new();
    drop(create(&registry, "payments"));
    assert!(registry.bulkhead::<FakeClock>("payments").expect("the bulkhead is in the registry").try_slot().is_ok());
}

#[test]
fn one_of_thousands_of_bulkheads_is_found_and_removed() {
    let mut executor = executor();
    let registry = Registry::new();
    for number in 0..5000 {
        create(&registry, &format!("tenant {number}"));
    }
    let inside = registry.clone();
    executor.block_on(async move {
        for number in (0..5000).filter(|number| number % 2 == 0) {
            inside.remove(&format!("tenant {number}")).await.expect("the bulkhead was in the registry");
        }
    });
    let left: Vec<_> = (0..5000).filter(|number| number % 2 == 1).map(|number| format!("tenant {number}")).collect();
    assert_eq!(labels(&registry), left);
    assert!(registry.get("tenant 4999").is_some() && registry.get("tenant 4998").is_none());
}

#[test]
fn one_of_many_threads_creates_the_bulkhead() {
    let registry = Registry::new();
    let made = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| registry.create(builder("payments")).is_ok())).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|made| *made).count()
    });
    assert_eq!((made, registry.len()), (1, 1));
}

#[test]
fn a_bulkhead_is_created_from_a_shared_configuration_when_it_is_first_needed() {
    let registry = Registry::new();
    let upstream = builder("upstream").parallelism(3);
    let payments = registry.get_or_create(" payments ", &upstream).expect("a new name");
    let _running = payments.try_slot().expect("free");
    let again = registry.get_or_create("payments", &upstream.clone().parallelism(0)).expect("the builder is not used");
    assert_eq!((again.status().in_flight, again.status().limits.capacity), (1, 3));
    assert!(registry.get_or_create("reports", &upstream).is_ok());
    assert_eq!(labels(&registry), ["payments", "reports"]);
    registry.close_all();
    assert!(registry.get_or_create("payments", &upstream).expect("it is kept").is_closed());
}

#[test]
fn a_bulkhead_that_cannot_be_got_or_created_is_an_error() {
    let registry = Registry::new();
    let upstream = builder("upstream");
    let (shaky, _) = create_panicking(&registry, "shaky");
    let refused = registry.get_or_create("shaky", &upstream).expect_err("another runtime");
    assert!(matches!(&refused, RegisterError::Invalid(invalid) if invalid.field() == "runtime"), "{refused}");
    let refused = registry.get_or_create(" ", &upstream).expect_err("blank");
    assert_eq!(chain(&refused), r#"nothing was registered: label must not be blank, got " ""#);
    let refused = registry.get_or_create("reports", &upstream.clone().parallelism(0)).expect_err("zero");
    assert_eq!(chain(&refused), "nothing was registered: bulkhead reports: parallelism must be at least 1, got 0");
    let payments = registry.get_or_create("payments", &upstream).expect("a new name");
    let running = payments.try_slot().expect("free");
    drop(registry.remove("payments"));
    let taken = RegisterError::Taken { label: "payments".into() };
    assert_eq!(registry.get_or_create("payments", &upstream).expect_err("it is being removed"), taken);
    drop(running);
    assert!(!registry.get_or_create("payments", &upstream).expect("free again").is_closed());
    registry.close_all();
    assert_eq!(registry.get_or_create("audit", &upstream).expect_err("closed"), RegisterError::Closed);
    assert_eq!(labels(&registry), ["shaky", "payments"]);
    drop(shaky);
}

#[test]
fn many_threads_get_the_bulkhead_that_one_creates() {
    let registry = Registry::new();
    let upstream = builder("upstream").parallelism(8);
    let barrier = Barrier::new(8);
    let made = thread::scope(|scope| {
        let get = || {
            barrier.wait();
            registry.get_or_create("payments", &upstream).expect("created once")
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    let _slots: Vec<_> = made.iter().map(|bulkhead| bulkhead.try_slot().expect("free")).collect();
    assert_eq!((registry.len(), made[0].status().in_flight), (1, 8));
}
