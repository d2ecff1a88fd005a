//! The checks of values: every reason, each with its path and what would be accepted.

use std::time::Duration;

use bulklink::Limits;
use bulklink::config::{Config, KeyConfig};

use super::World;
use crate::ms;

fn reasons(config: &Config) -> Vec<String> {
    let error = config.check().expect_err("invalid");
    let reasons: Vec<_> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(error.to_string(), reasons.join("; "));
    reasons
}

fn reasons_of_bulkhead(set: impl FnOnce(&mut bulklink::config::BulkheadConfig)) -> Vec<String> {
    let mut config = Config::default();
    let section = config.bulkheads.entry("a".to_owned()).or_default();
    section.parallelism = Some(1);
    set(section);
    if config.check().is_ok() { vec![] } else { reasons(&config) }
}

#[test]
fn a_number_out_of_its_range_is_refused_with_its_path_and_the_range() {
    for value in [0, Limits::MAX + 1, usize::MAX] {
        let text = |field, least| format!("bulkheads.a.{field} must be from {least} to 2147483647, got {value}");
        assert_eq!(reasons_of_bulkhead(|a| a.parallelism = Some(value)), [text("parallelism", 1)]);
        let capacity = reasons_of_bulkhead(|a| (a.parallelism, a.capacity) = (None, Some(value)));
        assert_eq!(capacity, [text("capacity", 1)]);
        let units = reasons_of_bulkhead(|a| (a.waiting_room, a.waiting_room_units) = (Some(1), Some(value)));
        assert_eq!(units, [text("waiting_room_units", 1)]);
        let room = reasons_of_bulkhead(|a| a.waiting_room = Some(value));
        assert_eq!(room, if value == 0 { vec![] } else { vec![text("waiting_room", 0)] });
    }
    for value in [1, Limits::MAX] {
        assert!(reasons_of_bulkhead(|a| (a.parallelism, a.waiting_room) = (Some(value), Some(value))).is_empty());
    }
}

#[test]
fn values_that_do_not_fit_each_other_are_refused() {
    for (found, text) in [
        (reasons_of_bulkhead(|a| a.parallelism = None), "parallelism or capacity must be set"),
        (reasons_of_bulkhead(|a| a.capacity = Some(7)), "capacity must not be set beside a parallelism of 1, got 7"),
        (
            reasons_of_bulkhead(|a| a.waiting_room_units = Some(5)),
            "waiting_room_units must not be set without a waiting room, got 5",
        ),
        (
            reasons_of_bulkhead(|a| a.wait_limit = Some(ms(1500))),
            "wait_limit must not be set without a waiting room, got 1.5s",
        ),
        (
            reasons_of_bulkhead(|a| (a.waiting_room, a.wait_limit) = (Some(1), Some(Duration::ZERO))),
            "wait_limit must be longer than zero, got 0s",
        ),
        (
            reasons_of_bulkhead(|a| a.collect_limit = Some(Duration::ZERO)),
            "collect_limit must be longer than zero, got 0s",
        ),
        (
            reasons_of_bulkhead(|a| (a.measure_waits, a.measure_holds) = (Some(false), Some(true))),
            "measure_waits must be true for measure_holds, got false",
        ),
        (
            reasons_of_bulkhead(|a| (a.measure_waits, a.collect_limit) = (Some(false), Some(ms(1)))),
            "measure_waits must be true for collect_limit, got false",
        ),
    ] {
        assert_eq!(found, [format!("bulkheads.a.{text}")]);
    }
}

#[test]
fn all_reasons_are_reported_and_nothing_is_applied() {
    let mut world = World::new();
    world.section("good").parallelism = Some(1);
    let bad = world.section("bad");
    (bad.parallelism, bad.waiting_room_units) = (Some(0), Some(0));
    world.section("none");
    let tenants = world.partitions_section("tenants");
    tenants.parallelism = Some(0);
    let mut ann = KeyConfig::default();
    (ann.parallelism, ann.waiting_room) = (Some(0), Some(usize::MAX));
    tenants.keys.insert("a.n".to_owned(), ann);
    let wanted = [
        "bulkheads.bad.parallelism must be from 1 to 2147483647, got 0",
        "bulkheads.bad.waiting_room_units must be from 1 to 2147483647, got 0",
        "bulkheads.bad.waiting_room_units must not be set without a waiting room, got 0",
        "bulkheads.none.parallelism or capacity must be set",
        "partitions.tenants.max_partitions must be set",
        "partitions.tenants.parallelism must be from 1 to 2147483647, got 0",
        "partitions.tenants.keys.\"a.n\".parallelism must be from 1 to 2147483647, got 0",
        &format!("partitions.tenants.keys.\"a.n\".waiting_room must be from 0 to 2147483647, got {}", usize::MAX),
    ];
    assert_eq!(reasons(&world.config), wanted);
    assert_eq!(world.refused(), wanted.join("; "));
    assert!(world.registry.is_empty());
}

#[test]
fn an_invalid_label_is_refused_and_shown_without_control_characters() {
    let mut world = World::new();
    for label in ["", "line\nfeed", "quote\"", "\u{1b}[31m"] {
        world.section(label).parallelism = Some(1);
    }
    let reasons = reasons(&world.config);
    assert_eq!(reasons.len(), 3, "a quote is valid: {reasons:?}");
    assert_eq!(reasons[0], "bulkheads.\"\" has no valid label: label must not be blank, got \"\"");
    assert!(reasons.iter().all(|reason| reason.chars().all(|character| !character.is_control())));
    assert_eq!(
        reasons[2],
        "bulkheads.\"line\\nfeed\" has no valid label: label must not hold control or invisible characters, got \
         \"line\\nfeed\""
    );
}

#[test]
fn a_label_is_that_of_one_section() {
    let mut world = World::new();
    for label in ["a", " a", "b"] {
        world.section(label).parallelism = Some(1);
    }
    let section = world.partitions_section("b");
    (section.parallelism, section.max_partitions) = (Some(1), Some(1));
    assert_eq!(
        reasons(&world.config),
        [
            "bulkheads.a must have another label, as bulkheads.\" a\" has this one",
            "partitions.b must have another label, as bulkheads.b has this one"
        ]
    );
}

#[test]
fn limits_of_a_key_must_fit_those_of_the_partitions() {
    let mut world = World::new();
    let tenants = world.partitions_section("tenants");
    (tenants.parallelism, tenants.max_partitions) = (Some(1), Some(1));
    let mut own = KeyConfig::default();
    own.wait_limit = Some(ms(250));
    tenants.keys.insert("ann".to_owned(), own);
    assert_eq!(
        reasons(&world.config),
        ["partitions.tenants.keys.ann.wait_limit must not be set without a waiting room, got 250ms"]
    );
    let tenants = world.partitions_section("tenants");
    (tenants.waiting_room, tenants.wait_limit) = (Some(1), Some(ms(100)));
    world.config.check().expect("the waiting room of all");
    let mut none = KeyConfig::default();
    none.waiting_room = Some(0);
    world.partitions_section("tenants").keys.insert("bob".to_owned(), none);
    world.config.check().expect("without a waiting room, the limit of all is none of the key");
}

#[test]
fn a_path_is_one_of_toml_whatever_the_names_are() {
    let mut world = World::new();
    world.section(r#"a" must be free; bulkheads."b\"#).parallelism = Some(0);
    let refused = world.refused();
    let expected = r#"bulkheads."a\" must be free; bulkheads.\"b\\".parallelism must be from 1 to 2147483647, got 0"#;
    assert_eq!(refused, expected);
}
