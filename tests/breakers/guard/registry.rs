//! Guards and breakers by name.

use bulklink::testing::FakeRuntime;
use bulklink_breaker::{Breaker, BreakerRegistry, ErrorsFail, Guard, Health, Settings};

use super::{builder, executor, limits, ms, trip};

fn named(executor: &bulklink::testing::Executor, label: &str) -> Guard<FakeRuntime> {
    let bulkhead = limits(bulklink::Bulkhead::builder_on(executor.runtime(), label), 2, 0);
    builder(&bulkhead).build().expect("valid settings")
}

#[test]
fn labels_are_unique_and_in_order() {
    let executor = executor();
    let registry = BreakerRegistry::new();
    assert!(registry.is_empty() && registry.health().is_healthy());
    for label in ["one", "two", "three"] {
        registry.add(&named(&executor, label)).expect("a new label");
    }
    let taken = registry.add(&named(&executor, "two")).expect_err("taken");
    assert_eq!(taken.to_string(), "two: the registry has a member of this label");
    let breaker = Breaker::builder_on(executor.clock(), "one").build().expect("valid settings");
    assert_eq!(&*registry.add_breaker(&breaker).expect_err("taken").label, "one");
    assert!(registry.remove("one") && !registry.remove("one"));
    registry.add_breaker(&breaker).expect("a new label");
    let labels: Vec<_> = registry.status().into_iter().map(|status| status.label.to_string()).collect();
    assert_eq!((labels, registry.len()), (["two", "three", "one"].map(String::from).to_vec(), 3));
    assert_eq!(format!("{registry:?}"), r#"BreakerRegistry { labels: ["two", "three", "one"], .. }"#);
}

#[test]
fn it_has_the_health_and_the_counters_of_all() {
    let mut executor = executor();
    let registry = BreakerRegistry::new();
    let [one, two] = ["one", "two"].map(|label| named(&executor, label));
    let alone = Breaker::builder_on(executor.clock(), "alone").settings(Settings::consecutive(1)).build();
    let alone = alone.expect("valid settings");
    registry.add(&one).and(registry.add(&two)).and(registry.add_breaker(&alone)).expect("new labels");
    trip(&two);
    let _slot = one.bulkhead().try_slot().expect("free");
    let healths =
        |registry: &BreakerRegistry| registry.status().into_iter().map(|status| status.health()).collect::<Vec<_>>();
    assert_eq!(healths(&registry), [Health::Healthy, Health::Isolated, Health::Healthy]);
    assert_eq!(registry.health(), Health::Isolated);
    let status = registry.status();
    let counted: Vec<_> = status.iter().map(|status| (status.active(), status.breaker.totals.failures)).collect();
    assert_eq!(counted, [(1, 0), (0, 2), (0, 0)]);
    assert!(status[2].bulkhead.is_none());
    executor.advance(ms(10));
    assert_eq!(registry.health(), Health::Degraded);
    registry.reset_all();
    assert_eq!(healths(&registry), [Health::Healthy; 3]);
}

#[test]
fn a_guard_is_found_by_its_types() {
    let executor = executor();
    let registry = BreakerRegistry::new();
    registry.add(&named(&executor, "one")).expect("a new label");
    let found = registry.guard::<FakeRuntime, ErrorsFail>("one").expect("added");
    found.breaker().force_open();
    assert_eq!(registry.breaker("one").expect("added").health(), Health::Isolated);
    assert!(registry.guard::<bulklink_tokio::Tokio, ErrorsFail>("one").is_none());
    assert!(registry.guard::<FakeRuntime, ErrorsFail>("two").is_none());
}
