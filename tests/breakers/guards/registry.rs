//! Guards by key in a registry.

use std::collections::BTreeMap;
use std::future::pending;

use bulklink::partitions::RandomState;
use bulklink::testing::FakeRuntime;
use bulklink_breaker::{
    Breaker, BreakerConfig, BreakerRegistry, ErrorsFail, GuardError, Guards, Health, Settings, State,
};

use super::{call, executor, guards, is_open, ms, partitions, trip};

#[test]
fn a_registry_has_the_sum_of_all_keys_under_one_label() {
    let executor = executor();
    let (registry, guards) = (BreakerRegistry::new(), guards(&executor, 10));
    registry.add_guards(&guards).expect("a new label");
    assert_eq!(
        registry.add_guards(&guards).expect_err("taken").to_string(),
        "hosts: the registry has a member of this label"
    );
    trip(&guards, 1);
    call(&guards, &2, Ok(())).expect("a closed circuit");
    for status in [registry.breaker_status(), registry.status().into_iter().map(|status| status.breaker).collect()] {
        assert_eq!((status.len(), &*status[0].label, status[0].circuit.state), (1, "hosts", State::Open));
        assert_eq!((status[0].totals.failures, status[0].totals.successes), (2, 1));
        assert_eq!(status[0].keys.as_ref().map(|keys| (keys.kept, keys.open)), Some((2, 1)));
    }
    assert!(registry.breaker("hosts").is_none() && registry.health() == Health::Isolated);
    let found = registry.guards::<u32, FakeRuntime, ErrorsFail, RandomState>("hosts").expect("added");
    assert!(is_open(&found, 1));
    assert!(registry.guards::<u64, FakeRuntime, ErrorsFail, RandomState>("hosts").is_none());
    registry.reset_all();
    assert!(registry.health().is_healthy() && !is_open(&guards, 1));
    let breaker = Breaker::builder_on(executor.clock(), "hosts").build().expect("valid settings");
    assert!(registry.add_breaker(&breaker).is_err());
    assert!(registry.remove("hosts") && registry.is_empty());
}

#[test]
fn a_section_of_a_configuration_changes_the_settings_of_all_keys() {
    let executor = executor();
    let (registry, guards) = (BreakerRegistry::new(), guards(&executor, 10));
    registry.add_guards(&guards).expect("a new label");
    let mut config = BreakerConfig::default();
    (config.failures, config.cool_down) = (Some(1), Some(ms(50)));
    let mut sections = [("hosts".to_owned(), config)].into();
    let applied = registry.apply(&sections, &executor.clock()).expect("valid");
    let changed = "breaker hosts: of_last 2 -> 1, failures 2 -> 1, cool_down 10ms -> 50ms";
    assert_eq!(applied, changed);
    assert_eq!(guards.settings(), Settings::consecutive(1).cool_down(ms(50)));
    assert!(call(&guards, &1, Err("down")).is_err() && is_open(&guards, 1));
    assert!(registry.apply(&sections, &executor.clock()).expect("valid").is_empty());
    config.count_cancelled = Some(true);
    sections.insert("hosts".to_owned(), config);
    let refused = registry.apply(&sections, &executor.clock()).expect_err("it cannot change");
    assert_eq!(refused.to_string(), "breakers.hosts.count_cancelled must stay false while this exists, got true");
    sections.clear();
    assert!(registry.apply(&sections, &executor.clock()).expect("valid").is_empty());
    assert_eq!(registry.len(), 1);
}

#[test]
fn guards_are_built_as_the_section_of_their_label_and_change_with_it() {
    let mut executor = executor();
    let registry = BreakerRegistry::new();
    let mut config = BreakerConfig::default();
    (config.failures, config.count_cancelled, config.run_limit) = (Some(3), Some(true), Some(ms(100)));
    let mut sections: BTreeMap<_, _> = [("hosts".to_owned(), config)].into();
    registry.apply(&sections, &executor.clock()).expect("valid");
    let builder = || Guards::builder(&partitions::<u32, _>(executor.runtime(), 100));
    let refused =
        |builder: super::Builder<u32, FakeRuntime>| builder.build_in(&registry).expect_err("refused").to_string();
    let text = "breakers.hosts has no guards: settings must not be set beside build_in, got both";
    assert_eq!(refused(builder().settings(Settings::default())), text);
    let text = "breakers.hosts has no guards: count_cancelled must not be set beside build_in, got both";
    assert_eq!(refused(builder().count_cancelled(true)), text);
    let breaker = registry.breaker("hosts").expect("it has a section");
    assert_eq!(refused(builder()), "breakers.hosts must be used by nothing else, to be that of guards by key");
    drop(breaker);
    let guards = builder().build_in(&registry).expect("it has a section");
    assert_eq!((guards.settings(), guards.run_limit()), (Settings::consecutive(3), Some(ms(100))));
    assert_eq!(refused(builder()), "breakers.hosts must not be used by another guard");
    assert_eq!((registry.len(), registry.breaker_status()[0].keys.is_some()), (1, true));
    // It was bound before the change, and begins after it.
    let (own, executor) = (guards.clone(), &mut executor);
    let slots = [guards.partitions().key(&1).try_slot(), guards.partitions().key(&1).try_slot()];
    let slow = executor.spawn(async move { own.key(&1).execute(pending::<Result<(), ()>>()).await });
    executor.run_until_idle();
    config.run_limit = Some(ms(5));
    sections.insert("hosts".to_owned(), config);
    let changed = registry.apply(&sections, &executor.clock()).expect("valid");
    assert_eq!(changed, "breaker hosts: run_limit 100ms -> 5ms");
    drop(slots);
    executor.run_until_idle();
    executor.advance(ms(5));
    let Some(Err(GuardError::TimedOut(timed_out))) = slow.output() else { panic!("it did not time out") };
    assert_eq!(timed_out.limit, ms(5));
    sections.clear();
    assert!(registry.apply(&sections, &executor.clock()).expect("valid").is_empty());
    assert_eq!((registry.len(), guards.run_limit()), (1, Some(ms(5))), "the guards are the program's");
}
