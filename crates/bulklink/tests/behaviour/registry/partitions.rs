//! Partitions in a registry, beside bulkheads.

use std::any::type_name;
use std::hash;

use bulklink::partitions::{self, RandomState};
use bulklink::testing::FakeClock;
use bulklink::{
    CollectiveError, EventFilter, EventKind, FailureCause, Limits, Partitions, Reason, ReconfigureError, RegisterError,
    Registry,
};

use super::{builder, create};
use crate::panicking_clock::PanickingClock;
use crate::{chain, executor, ms, recorder, taken};

type Tenants = Partitions<String, FakeClock>;

fn tenants_builder(label: &str) -> partitions::Builder<String, FakeClock> {
    let builder = Partitions::builder_on(FakeClock::new(), label).parallelism(1).max_partitions(3);
    builder.idle_timeout(ms(0))
}

fn tenants(registry: &Registry, label: &str) -> Tenants {
    registry.create_partitions(tenants_builder(label)).expect("a new name")
}

fn labels(registry: &Registry) -> Vec<String> {
    registry.partition_handles().iter().map(|handle| handle.label().to_owned()).collect()
}

#[test]
fn labels_are_shared_with_bulkheads() {
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let known = tenants(&registry, " tenants ");
    let hosts: Partitions<u32, _> = Partitions::builder_on(PanickingClock::default(), "hosts")
        .parallelism(1)
        .max_partitions(1)
        .build()
        .expect("valid");
    registry.add_partitions(&hosts).expect("a new name");
    let taken = |label: &str| Some(RegisterError::Taken { label: label.into() });
    assert_eq!(registry.create(builder("tenants")).err(), taken("tenants"));
    assert_eq!(registry.get_or_create("tenants", &builder("any")).err(), taken("tenants"));
    assert_eq!(registry.create_partitions(tenants_builder("payments")).err(), taken("payments"));
    assert_eq!(registry.add_partitions(&known).err(), taken("tenants"));
    let invalid = registry.create_partitions(tenants_builder("few").max_partitions(0)).expect_err("none");
    assert_eq!(chain(&invalid), "nothing was registered: partitions few: max_partitions must be at least 1, got 0");
    assert_eq!(
        (registry.len(), super::labels(&registry), labels(&registry)),
        (3, vec!["payments".to_string()], vec!["tenants".to_string(), "hosts".to_string()])
    );
    assert_eq!(registry.statuses().len(), 1, "of bulkheads");
    assert!(registry.get("tenants").is_none() && registry.get_partitions("payments").is_none());
    assert_eq!(registry.get_partitions(" tenants").expect("registered").label(), "tenants");
    let text = format!("{registry:?}");
    assert!(["payments", "tenants", "hosts"].iter().all(|label| text.contains(label)), "{text}");
    drop(payments);
}

#[test]
fn partitions_are_found_with_their_types() {
    let registry = Registry::new();
    create(&registry, "payments");
    drop(tenants(&registry, "tenants"));
    let found = registry.partitions::<String, FakeClock, RandomState>(" tenants").expect("its types");
    drop(found.key("ann").try_slot().expect("free"));
    let wrong = registry.partitions::<u32, FakeClock, RandomState>("tenants").expect_err("other keys");
    assert_eq!(wrong.field(), "type");
    let of_keys =
        |key: &str| format!("Partitions<{key}, {}, {}>", type_name::<FakeClock>(), type_name::<RandomState>());
    let (present, wanted) = (of_keys("alloc::string::String"), of_keys("u32"));
    assert_eq!(wrong.to_string(), format!("partitions tenants: type must be {present}, got {wanted}"));
    let hasher = registry.partitions::<String, FakeClock, hash::RandomState>("tenants").expect_err("another hasher");
    assert!(hasher.to_string().contains("hasher::RandomState>, got "), "{hasher}");
    assert!(hasher.to_string().ends_with(&format!("{}>", type_name::<hash::RandomState>())), "{hasher}");
    let unknown = |label: &str| {
        let found = registry.partitions::<String, FakeClock, RandomState>(label);
        found.expect_err("no such name").to_string()
    };
    assert_eq!(unknown("tenant"), r#"label must be that of partitions in the registry, got "tenant""#);
    assert_eq!(unknown("payments"), r#"label must be that of partitions, and is that of a bulkhead, got "payments""#);
    let bulkhead = registry.bulkhead::<FakeClock>("tenants").expect_err("partitions").to_string();
    assert_eq!(bulkhead, r#"label must be that of a bulkhead, and is that of partitions, got "tenants""#);
}

#[test]
fn a_handle_does_what_partitions_do_without_their_types() {
    let mut executor = executor();
    let registry = Registry::new();
    let tenants = tenants(&registry, "tenants");
    let handle = registry.get_partitions("tenants").expect("registered");
    let (log, handler) = recorder(|event| event.kind);
    let id = handle.add_event_handler(EventFilter::ALL, handler);
    let mut events = handle.subscribe(EventFilter::ALL, 10).expect("a capacity");
    drop(tenants.key("ann").try_slot().expect("free"));
    assert_eq!(taken(&log), [EventKind::Admitted, EventKind::Released]);
    assert_eq!(events.try_recv().expect("an event").kind, EventKind::Admitted);
    assert!(handle.remove_event_handler(id) && !handle.remove_event_handler(id));
    assert_eq!(
        (handle.status().partitions, handle.sums(), handle.status().handler_panics),
        (1, tenants.handle().sums(), 0)
    );
    assert!(handle.capacity_report(None).findings.is_empty());
    assert!(handle.pause() && handle.status().is_paused && tenants.status().is_paused && handle.resume());
    assert_eq!(handle.reconfigure(Limits::new(2)).expect("valid").previous, Limits::new(1));
    assert_eq!(tenants.status().each, Limits::new(2));
    assert_eq!((handle.cleanup_idle(), tenants.status().partitions), (1, 0));
    drop(tenants.key("ann").try_slot().expect("free"));
    assert!(!format!("{handle:?}").contains("ann"), "no key is shown");
    let inside = handle.clone();
    executor.block_on(async move { inside.close_and_wait().await });
    assert!(handle.status().is_closed && !handle.close());
    assert_eq!((tenants.status().is_drained(), tenants.status().partitions), (true, 0));
}

#[test]
fn closing_a_registry_closes_and_drains_partitions_too() {
    let mut executor = executor();
    let registry = Registry::new();
    let (payments, tenants) = (create(&registry, "payments"), tenants(&registry, "tenants"));
    let slots = [payments.owned().try_slot().expect("free"), tenants.key("ann").try_slot().expect("free")];
    let inside = registry.clone();
    let closing = executor.spawn(async move { inside.close_and_wait().await });
    executor.run_until_idle();
    assert!(payments.is_closed() && tenants.status().is_closed);
    assert_eq!(registry.create_partitions(tenants_builder("late")).err(), Some(RegisterError::Closed));
    for slot in slots {
        assert!(!closing.is_finished(), "something still runs");
        drop(slot);
        executor.run_until_idle();
    }
    assert!(closing.is_finished());
}

#[test]
fn removed_partitions_drain_and_then_their_label_is_free() {
    let mut executor = executor();
    let registry = Registry::new();
    let old = tenants(&registry, "tenants");
    let slots = ["ann", "bob"].map(|key| old.key(key).try_slot().expect("free"));
    let inside = registry.clone();
    let removal = executor.spawn(async move { inside.remove_partitions(" tenants").await });
    executor.run_until_idle();
    assert_eq!(old.key("ann").try_slot().expect_err("closed").reason(), Reason::Closed);
    for slot in slots {
        assert!(!removal.is_finished() && labels(&registry) == ["tenants"]);
        drop(slot);
        executor.run_until_idle();
    }
    let removed = removal.output().expect("they have drained").expect("they were there");
    assert_eq!((removed.label(), removed.status().partitions, labels(&registry)), ("tenants", 0, vec![]));
    let new = tenants(&registry, "tenants");
    drop(removed);
    assert!(!new.status().is_closed);
    drop(registry.remove_partitions("tenants"));
    assert!(registry.is_empty(), "they remove themselves without a task");
}

#[test]
fn a_removal_takes_the_kind_that_it_names_only() {
    let mut executor = executor();
    let registry = Registry::new();
    let (payments, tenants) = (create(&registry, "payments"), tenants(&registry, "tenants"));
    let inside = registry.clone();
    let refused = executor.block_on(async move {
        (inside.remove("tenants").await.is_err(), inside.remove_partitions("payments").await.is_err())
    });
    assert_eq!(refused, (true, true));
    assert!(!payments.is_closed() && !tenants.status().is_closed && registry.len() == 2);
}

#[test]
fn reconfigure_all_tries_both_kinds_and_returns_all_failures() {
    let registry = Registry::new();
    let (payments, reports) = (create(&registry, "payments"), create(&registry, "reports"));
    let (ours, closed) = (tenants(&registry, "tenants"), tenants(&registry, "closed"));
    closed.close();
    let done = registry.reconfigure_all([(" payments ", Limits::new(2)), ("tenants", Limits::new(3))]);
    assert_eq!(done.expect("valid").iter().map(|done| done.limits.capacity).collect::<Vec<_>>(), [2, 3]);
    let wanted = ["unknown", "closed", "reports", "tenants"].map(|label| (label, Limits::new(0)));
    let wanted = wanted.into_iter().chain([("payments", Limits::new(4))]);
    let CollectiveError { tried, failures, .. } = registry.reconfigure_all(wanted.clone()).expect_err("some fail");
    let causes: Vec<_> = failures.iter().map(|failure| (&*failure.label, failure.cause.clone())).collect();
    let refused = |error: Result<_, ReconfigureError>| FailureCause::Reconfigure(error.expect_err("refused"));
    let expected = [
        ("unknown", FailureCause::Unknown),
        ("closed", refused(closed.reconfigure(Limits::new(0)))),
        ("reports", refused(reports.reconfigure(Limits::new(0)))),
        ("tenants", refused(ours.reconfigure(Limits::new(0)))),
    ];
    assert_eq!((tried, causes), (5, expected.into()));
    assert_eq!((payments.limits(), ours.status().each), (Limits::new(4), Limits::new(3)));
    let text = registry.reconfigure_all(wanted).expect_err("some fail").to_string();
    assert_eq!(
        text,
        "4 of 5 failed: bulkhead unknown: not in the registry; bulkhead closed: closed, and cannot be reconfigured; \
         bulkhead reports: parallelism must be at least 1, got 0; \
         partitions tenants: parallelism must be at least 1, got 0"
    );
    let text = registry.resize_all([("tenants", 5)]).expect_err("partitions").to_string();
    assert_eq!(text, "1 of 1 failed: partitions tenants: cannot be resized");
}
