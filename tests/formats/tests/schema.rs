//! The JSON schema of configurations.

use std::path::Path;
use std::{env, fs};

use boon::{Compiler, Schemas};
use bulklink::config::Config;
use bulklink_breaker::BreakerConfig;
use bulklink_fleet::ShareConfig;
use bulklink_tokio::DrainConfig;
use schemars::Schema;
use serde_json::Value;

const RENEW: &str = "BULKLINK_RENEW_SCHEMA=1 cargo test -p bulklink-formats --test schema";

#[test]
fn the_schema_in_the_repository_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/bulklink/config.schema.json");
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Config)).expect("it can be written") + "\n";
    if env::var_os("BULKLINK_RENEW_SCHEMA").is_some() {
        fs::write(&path, &schema).expect("it can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, schema, "config.schema.json is stale; renew it by\n    {RENEW}\n");
}

#[test]
fn the_schema_accepts_what_the_code_does() {
    let is_accepted = validator(schemars::schema_for!(Config));
    let section = |text: &str| serde_json::from_str(&format!(r#"{{ "bulkheads": {{ "a": {{ {text} }} }} }}"#));
    for (text, is_valid) in [
        (r#""parallelism": 1"#, true),
        (r#""capacity": 2147483647, "waiting_room": 0"#, true),
        (r#""parallelism": 1, "waiting_room": 1, "wait_limit": "2m 30s", "reserve": "none""#, true),
        (r#""parallelism": 1, "collect_limit": "1.5s", "reserve": "50ms""#, true),
        (r#""parallelism": 0"#, false),
        (r#""parallelism": 2147483648"#, false),
        (r#""parallelism": 1, "capacity": 1"#, false),
        (r#""waiting_room": 1"#, false),
        (r#""parallelism": 1, "waiting_room": 1, "wait_limit": 250"#, false),
        (r#""parallelism": 1, "waiting_room": 1, "wait_limit": "30s 2m""#, false),
        (r#""parallelism": 1, "waiting_room": 1, "wait_limit": " ""#, false),
        (r#""parallelism": 1, "reserve": "some""#, false),
        (r#""paralelism": 1"#, false),
    ] {
        let value: Value = section(text).expect("JSON");
        assert_eq!(is_accepted(&value), is_valid, "{text}");
        let read = serde_json::from_value::<Config>(value).is_ok_and(|config| config.check().is_ok());
        assert_eq!(read, is_valid, "{text}");
    }
}

#[test]
fn the_schema_of_partitions_accepts_what_the_code_does() {
    let is_accepted = validator(schemars::schema_for!(Config));
    for (text, is_valid) in [
        (r#""parallelism": 1"#, true),
        (r#""shared_capacity": 1"#, true),
        (r#""shared_capacity": 2147483647, "capacity": 2, "shared_waiting_room": 0"#, true),
        (r#""shared_capacity": 9, "weight": 2, "floor": 0, "ceiling": 1, "keys": { "a": { "weight": 3 } }"#, true),
        (r#""shared_capacity": 9, "keys": { "a": { "floor": 3, "keep_floor": true, "paused": false } }"#, true),
        (r#""shared_capacity": 9, "headroom_normal": 0, "headroom_background": 8, "class_relief": 1"#, true),
        ("", false),
        (r#""shared_capacity": 9, "class_relief": 0"#, false),
        (r#""parallelism": 9, "class_relief": 1"#, false),
        (r#""parallelism": 9, "headroom_sheddable": 1"#, false),
        (r#""shared_capacity": 0"#, false),
        (r#""shared_capacity": 1, "parallelism": 1, "capacity": 1"#, false),
        (r#""parallelism": 1, "shared_waiting_room": 1"#, false),
        (r#""parallelism": 1, "weight": 1"#, false),
        (r#""parallelism": 1, "floor": 1"#, false),
        (r#""parallelism": 1, "ceiling": 1"#, false),
        (r#""shared_capacity": 1, "weight": 0"#, false),
        (r#""shared_capacity": 1, "ceiling": 0"#, false),
        (r#""shared_capacity": 1, "keep_floor": true"#, false),
        (r#""shared_capacity": 1, "keys": { "a": { "weight": 0 } }"#, false),
        (r#""shared_capacity": 1, "keys": { "a": { "keep_floor": 1 } }"#, false),
        (r#""shared_capacity": 1, "keys": { "a": { "ceiling": 2147483648 } }"#, false),
    ] {
        let section = format!(r#"{{ "partitions": {{ "a": {{ "max_partitions": 9, {text} }} }} }}"#);
        let section = section.replace(",  }", " }");
        let value: Value = serde_json::from_str(&section).expect("JSON");
        assert_eq!(is_accepted(&value), is_valid, "{text}");
        let read = serde_json::from_value::<Config>(value).is_ok_and(|config| config.check().is_ok());
        assert_eq!(read, is_valid, "{text}");
    }
}

#[test]
fn the_schema_of_a_breaker_accepts_what_the_code_does() {
    let is_accepted = validator(schemars::schema_for!(BreakerConfig));
    for (text, is_valid) in [
        ("", true),
        (r#""of_last": 20, "failures": 10, "cool_down": "30s", "count_cancelled": true"#, true),
        (r#""over": "10s", "slow_after": "1.5s", "slow_rate": 50"#, true),
        (r#""failures": 3, "probes": 2, "close_after": 2, "reopen_after": 1"#, true),
        (r#""over": "10s", "failure_rate": 100, "min_calls": 1, "longest_cool_down": "5m""#, true),
        (r#""over": 10"#, false),
        (r#""failures": -1"#, false),
        (r#""failure": 1"#, false),
        (r#""of_last": 0, "failures": 1"#, false),
        (r#""of_last": 10001, "failures": 1"#, false),
        (r#""of_last": 10, "over": "10s", "failures": 1"#, false),
        (r#""of_last": 10"#, false),
        (r#""over": "10s""#, false),
        (r#""over": "0s", "failures": 1"#, false),
        (r#""failures": 0"#, false),
        (r#""failure_rate": 50"#, false),
        (r#""of_last": 10, "failure_rate": 101"#, false),
        (r#""of_last": 10, "failures": 5, "failure_rate": 50"#, false),
        (r#""of_last": 10, "slow_after": "1s""#, false),
        (r#""of_last": 10, "slow_rate": 50"#, false),
        (r#""slow_after": "1s", "slow_calls": 1"#, false),
        (r#""of_last": 10, "slow_after": "0 s", "slow_calls": 1"#, false),
        (r#""of_last": 10, "slow_after": "1s", "slow_calls": 1, "slow_rate": 10"#, false),
        (r#""min_calls": 0"#, false),
        (r#""cool_down": "0s""#, false),
        (r#""probes": 101"#, false),
        (r#""close_after": 0"#, false),
        (r#""reopen_after": 10001"#, false),
        (r#""probe_lease": "0ms""#, false),
        (r#""run_limit": "5s""#, true),
        (r#""run_limit": "0s""#, false),
        (r#""run_limit": 5"#, false),
    ] {
        let value: serde_json::Value = serde_json::from_str(&format!("{{ {text} }}")).expect("JSON");
        assert_eq!(is_accepted(&value), is_valid, "{text}");
        let read = serde_json::from_value::<BreakerConfig>(value).is_ok_and(|config| config.settings().is_ok());
        assert_eq!(read, is_valid, "{text}");
    }
}

#[test]
fn the_schema_of_a_share_has_its_ranges() {
    let is_accepted = validator(schemars::schema_for!(ShareConfig));
    for (text, is_valid) in [
        (r#""limit": 100, "weight": 2, "config": 7, "lease": "10s", "claim": "3s", "on_outage": "share""#, true),
        (r#""limit": 4294967295, "fetch": "0s""#, true),
        (r#""limit": 0"#, false),
        (r#""limit": 4294967296"#, false),
        (r#""weight": 0"#, false),
        (r#""config": 0"#, false),
        (r#""config": 1099511627777"#, false),
        (r#""lease": "0s""#, false),
        (r#""claim": "0s""#, false),
        (r#""on_outage": "wait""#, false),
    ] {
        let value: serde_json::Value = serde_json::from_str(&format!("{{ {text} }}")).expect("JSON");
        assert_eq!(is_accepted(&value), is_valid, "{text}");
    }
}

#[test]
fn the_schema_of_a_drain_has_its_durations() {
    let is_accepted = validator(schemars::schema_for!(DrainConfig));
    for (text, is_valid) in [
        (r#""notice": "5s", "limit": "20s""#, true),
        (r#""notice": "0s""#, true),
        (r#""limit": "0s""#, false),
        (r#""limit": 20"#, false),
        (r#""grace": "5s""#, false),
    ] {
        let value: Value = serde_json::from_str(&format!("{{ {text} }}")).expect("JSON");
        assert_eq!(is_accepted(&value), is_valid, "{text}");
    }
}

/// Returns what decides whether a schema accepts a value.
fn validator(schema: Schema) -> impl Fn(&Value) -> bool {
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.add_resource("schema.json", schema.to_value()).expect("it is JSON");
    let schema = compiler.compile("schema.json", &mut schemas).expect("it is a schema");
    move |value| schemas.validate(value, schema).is_ok()
}
