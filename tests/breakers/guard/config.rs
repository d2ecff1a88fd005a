//! Breakers from a configuration.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use bulklink::testing::FakeClock;
use bulklink_breaker::{Breaker, BreakerConfig, BreakerRegistry, Settings, State};

use super::{builder, executor, limits, ms};

type Sections = BTreeMap<String, BreakerConfig>;

/// A section as a function sets it.
fn section(set: impl FnOnce(&mut BreakerConfig)) -> BreakerConfig {
    let mut section = BreakerConfig::default();
    set(&mut section);
    section
}

fn sections<const N: usize>(sections: [(&str, BreakerConfig); N]) -> Sections {
    sections.map(|(label, section)| (label.to_owned(), section)).into()
}

fn in_a_row(failures: u32) -> BreakerConfig {
    section(|section| section.failures = Some(failures))
}

/// Applies the sections, and returns the text of what has changed.
fn applied(registry: &BreakerRegistry, sections: &Sections) -> String {
    registry.apply(sections, &FakeClock::new()).expect("valid")
}

fn refused(registry: &BreakerRegistry, sections: &Sections) -> String {
    registry.apply(sections, &FakeClock::new()).expect_err("refused").to_string()
}

#[test]
fn a_section_has_all_settings_of_a_circuit() {
    for (config, settings) in [
        (BreakerConfig::default(), Settings::default()),
        (in_a_row(3), Settings::consecutive(3)),
        (
            section(|section| (section.of_last, section.failures, section.min_calls) = (Some(20), Some(10), Some(12))),
            Settings::of_last(20).failures(10).min_calls(12),
        ),
        (
            section(|section| {
                (section.over, section.failure_rate) = (Some(ms(10_000)), Some(50));
                (section.slow_after, section.slow_rate) = (Some(ms(2_000)), Some(80));
                (section.cool_down, section.longest_cool_down) = (Some(ms(7)), Some(ms(70)));
                (section.probes, section.close_after, section.reopen_after) = (Some(3), Some(4), Some(5));
                section.probe_lease = Some(ms(9));
            }),
            Settings::over(ms(10_000))
                .failure_rate(50)
                .slow_rate(ms(2_000), 80)
                .cool_down(ms(7))
                .longest_cool_down(ms(70))
                .probes(3)
                .close_after(4)
                .reopen_after(5)
                .probe_lease(ms(9)),
        ),
        (
            section(|section| {
                (section.of_last, section.slow_after, section.slow_calls) = (Some(9), Some(ms(1)), Some(3));
            }),
            Settings::of_last(9).slow_calls(ms(1), 3),
        ),
    ] {
        assert_eq!(config.settings(), Ok(settings));
    }
}

#[test]
fn every_reason_is_reported_with_its_path_and_nothing_changes() {
    let registry = BreakerRegistry::new();
    applied(&registry, &sections([("kept", in_a_row(5))]));
    for (section, reason) in [
        (section(|section| section.of_last = Some(0)), "a.of_last must be from 1 to 10000, got 0"),
        (section(|section| section.over = Some(ms(1))), "a.over must be from 10ms to 100 years, got 1ms"),
        (section(|section| section.failures = Some(0)), "a.failures must be from 1 to 10000, got 0"),
        (
            section(|section| section.of_last = Some(3)),
            "a.failures or slow_calls must be set, or the circuit would never open, got neither",
        ),
        (
            section(|section| section.failure_rate = Some(50)),
            "a.of_last or over must be set for a rate and for slow calls, got neither",
        ),
        (
            section(|section| (section.of_last, section.over) = (Some(3), Some(ms(10)))),
            "a.of_last must not be set beside over, got both",
        ),
        (
            section(|section| (section.of_last, section.slow_after) = (Some(3), Some(ms(10)))),
            "a.slow_after must not be set without slow_calls or slow_rate, got 10ms",
        ),
        (
            section(|section| (section.of_last, section.slow_rate) = (Some(3), Some(10))),
            "a.slow_rate must not be set without slow_after, got 10",
        ),
        (section(|section| section.cool_down = Some(ms(0))), "a.cool_down must be from 1ns to 100 years, got 0ns"),
        (section(|section| section.run_limit = Some(ms(0))), "a.run_limit must be from 1ns to 100 years, got 0ns"),
    ] {
        let sections = sections([("a", section), ("kept", in_a_row(0)), ("new", in_a_row(1))]);
        let kept = "breakers.kept.failures must be from 1 to 10000, got 0";
        assert_eq!(refused(&registry, &sections), format!("breakers.{reason}; {kept}"));
        assert_eq!(
            (registry.len(), registry.breaker("kept").expect("there").settings()),
            (1, Settings::consecutive(5))
        );
    }
}

#[test]
fn labels_are_checked_as_those_of_bulkheads() {
    let registry = BreakerRegistry::new();
    assert_eq!(
        refused(&registry, &sections([(" a", in_a_row(1)), ("a", in_a_row(1)), (" ", in_a_row(1))])),
        "breakers.\" \" has no valid label: label must not be blank, got \" \"; \
         breakers.a must have another label, as breakers.\" a\" has this one"
    );
    let added = "breaker a: added, of_last 1, failures 1";
    assert_eq!(applied(&registry, &sections([(" a ", in_a_row(1))])), added);
}

#[test]
fn a_change_keeps_the_state_and_a_section_that_is_gone_removes_its_breaker_once_that_is_out_of_use() {
    let registry = BreakerRegistry::new();
    let added = ["a", "b"].map(|label| format!("breaker {label}: added, of_last 2, failures 2"));
    assert_eq!(applied(&registry, &sections([("b", in_a_row(2)), ("a", in_a_row(2))])), added.join("\n"));
    let [a, b] = ["a", "b"].map(|label| registry.breaker(label).expect("it has a section"));
    a.admit().expect("closed").fail();
    assert_eq!(applied(&registry, &sections([("b", in_a_row(2)), ("a", in_a_row(2))])), "", "the same again");
    let kept = "breaker b: without a section, and kept because it is in use";
    let without = sections([("a", in_a_row(1)), ("c", in_a_row(3))]);
    let (added, changed) = ("breaker c: added, of_last 3, failures 3", "breaker a: of_last 2 -> 1, failures 2 -> 1");
    assert_eq!(applied(&registry, &without), format!("{added}\n{changed}\n{kept}"));
    a.admit().expect("closed").fail();
    assert_eq!((a.status().circuit.state, registry.len()), (State::Open, 3));
    assert_eq!(applied(&registry, &without), kept);
    let with = sections([("a", in_a_row(1)), ("b", in_a_row(5)), ("c", in_a_row(3))]);
    let changed = "breaker b: of_last 2 -> 5, failures 2 -> 5";
    assert_eq!(applied(&registry, &with), changed, "its users have the new settings");
    assert_eq!(b.settings(), Settings::consecutive(5));
    drop(b);
    assert_eq!(applied(&registry, &without), "breaker b: removed");
    assert!(registry.breaker("b").is_none());
}

#[test]
fn a_breaker_of_the_program_gets_its_settings_and_is_never_removed() {
    let registry = BreakerRegistry::new();
    let own = Breaker::builder_on(FakeClock::new(), "own").count_cancelled(true).build().expect("valid");
    registry.add_breaker(&own).expect("a new label");
    assert_eq!(
        refused(&registry, &sections([("own", in_a_row(9))])),
        "breakers.own.count_cancelled must stay true while this exists, got false"
    );
    let mut section = in_a_row(9);
    section.count_cancelled = Some(true);
    let changed = "breaker own: of_last 5 -> 9, failures 5 -> 9";
    assert_eq!(applied(&registry, &sections([("own", section)])), changed);
    assert_eq!(own.settings(), Settings::consecutive(9));
    assert_eq!(applied(&registry, &sections([])), "");
    assert_eq!(registry.len(), 1);
}

#[test]
fn configurations_are_applied_one_after_the_other() {
    let registry = BreakerRegistry::new();
    let barrier = Barrier::new(2);
    let apply = |label| {
        for _ in 0..3_000 {
            barrier.wait();
            registry.apply(&sections([(label, in_a_row(1))]), &FakeClock::new()).expect("valid");
            barrier.wait();
            assert_eq!(registry.len(), 1, "that of one of them");
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| apply("a"));
        apply("b");
    });
}

/// As a guard is built around the breaker that its section has made.
#[test]
fn a_guard_takes_the_place_of_its_own_breaker() {
    let executor = executor();
    let registry = BreakerRegistry::new();
    applied(&registry, &sections([("payments", in_a_row(2))]));
    let bulkhead = limits(bulklink::Bulkhead::builder_on(executor.runtime(), "payments"), 2, 0);
    registry.add(&builder(&bulkhead).build().expect("valid")).expect_err("another breaker has the label");
    let breaker = registry.breaker("payments").expect("it has a section");
    let guard = bulklink_breaker::Guard::builder(&bulkhead).breaker(&breaker).build().expect("valid");
    registry.add(&guard).expect("its own breaker");
    registry.add(&guard).expect_err("it is there");
    assert!(registry.len() == 1 && registry.status()[0].bulkhead.is_some());
    let changed = "breaker payments: of_last 2 -> 7, failures 2 -> 7";
    assert_eq!(applied(&registry, &sections([("payments", in_a_row(7))])), changed);
    assert_eq!(guard.breaker().settings(), Settings::consecutive(7));
    assert_eq!(applied(&registry, &sections([])), "", "the guard is the program's");
    assert_eq!(registry.len(), 1);
}

#[test]
fn a_change_names_each_setting_that_is_new() {
    let registry = BreakerRegistry::new();
    let by_time = section(|section| {
        (section.over, section.failure_rate, section.min_calls) = (Some(ms(10_000)), Some(50), Some(12));
        (section.slow_after, section.slow_calls) = (Some(ms(2_000)), Some(80));
        (section.cool_down, section.longest_cool_down) = (Some(ms(7)), Some(ms(70)));
        (section.probes, section.close_after, section.reopen_after) = (Some(3), Some(4), Some(5));
        section.probe_lease = Some(ms(9));
    });
    assert_eq!(
        applied(&registry, &sections([("a", by_time)])),
        "breaker a: added, over 10s, failure_rate 50, slow_after 2s, slow_calls 80, min_calls 12, cool_down 7ms, \
         longest_cool_down 70ms, probes 3, close_after 4, reopen_after 5, probe_lease 9ms"
    );
    let by_count = section(|section| {
        (section.of_last, section.failures) = (Some(20), Some(10));
        (section.slow_after, section.slow_rate) = (Some(ms(2_000)), Some(80));
        section.cool_down = Some(ms(1_500));
    });
    assert_eq!(
        applied(&registry, &sections([("a", by_count)])),
        "breaker a: of_last none -> 20, over 10s -> none, failures none -> 10, failure_rate 50 -> none, \
         slow_calls 80 -> none, slow_rate none -> 80, min_calls 12 -> none, cool_down 7ms -> 1.5s, \
         longest_cool_down 70ms -> none, probes 3 -> 1, close_after 4 -> 1, reopen_after 5 -> 1, \
         probe_lease 9ms -> 30s"
    );
}

#[test]
fn a_check_has_the_reasons_of_an_apply_and_changes_nothing() {
    let registry = BreakerRegistry::new();
    applied(&registry, &sections([("kept", in_a_row(5)), ("gone", in_a_row(5))]));
    for sections in [
        sections([("kept", in_a_row(0)), ("new", in_a_row(1))]),
        sections([("kept", section(|section| section.count_cancelled = Some(true)))]),
        sections([(" ", in_a_row(1))]),
    ] {
        let checked = registry.check(&sections, &FakeClock::new()).expect_err("refused");
        assert_eq!(checked.to_string(), refused(&registry, &sections));
    }
    let valid = sections([("kept", in_a_row(9)), ("new", in_a_row(1))]);
    registry.check(&valid, &FakeClock::new()).expect("valid");
    assert_eq!((registry.len(), registry.breaker("new").is_none()), (2, true));
    assert_eq!(registry.breaker("kept").expect("there").settings(), Settings::consecutive(5));
}
