//! Configurations from TOML, JSON and environment variables.
#![allow(clippy::result_large_err, reason = "the error of figment")]

use std::collections::BTreeMap;
use std::time::Duration;

use bulklink::Reserve;
use bulklink::config::Config;
use bulklink_breaker::BreakerConfig;
use bulklink_fleet::ShareConfig;
use figment::providers::{Env, Format, Json, Serialized, Toml};
use figment::{Figment, Jail};
use proptest::prelude::*;
use serde_json::json;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const TOML: &str = r#"
[bulkheads.payments]
parallelism = 10
waiting_room = 50
wait_limit = "250ms"
reserve = "none"

[bulkheads."db.eu"]
capacity = 8
waiting_room = 1
waiting_room_units = 9
measure_waits = true
measure_holds = true
collect_limit = "1.5s"
reserve = "50ms"

[partitions.tenants]
parallelism = 2
max_partitions = 1000
idle_timeout = "2m 30s"

[partitions.tenants.keys.ann]
parallelism = 20

[partitions.models]
shared_capacity = 40
shared_waiting_room = 500
weight = 2
floor = 1
ceiling = 30
headroom_normal = 1
headroom_sheddable = 2
headroom_background = 8
class_relief = 20
max_partitions = 1000

[partitions.models.keys.ann]
weight = 4
floor = 8
keep_floor = true
ceiling = 20
paused = true
"#;

fn toml(text: &str) -> Result<Config, figment::Error> {
    Figment::from(Toml::string(text)).extract()
}

fn error(text: &str) -> String {
    toml(text).expect_err("invalid").to_string()
}

#[test]
fn a_file_of_toml_has_every_setting() {
    let config = toml(TOML).expect("valid");
    config.check().expect("in range");
    let payments = &config.bulkheads["payments"];
    assert_eq!((payments.parallelism, payments.waiting_room, payments.capacity), (Some(10), Some(50), None));
    assert_eq!((payments.wait_limit, payments.reserve), (Some(ms(250)), Some(Reserve::None)));
    let db = &config.bulkheads["db.eu"];
    assert_eq!((db.capacity, db.waiting_room_units), (Some(8), Some(9)));
    assert_eq!((db.measure_waits, db.measure_holds, db.collect_limit), (Some(true), Some(true), Some(ms(1500))));
    assert_eq!(db.reserve, Some(Reserve::Fixed(ms(50))));
    let tenants = &config.partitions["tenants"];
    assert_eq!((tenants.max_partitions, tenants.idle_timeout), (Some(1000), Some(Duration::from_secs(150))));
    assert_eq!(tenants.keys["ann"].parallelism, Some(20));
    let models = &config.partitions["models"];
    assert_eq!((models.shared_capacity, models.shared_waiting_room), (Some(40), Some(500)));
    assert_eq!((models.weight, models.floor, models.ceiling), (Some(2), Some(1), Some(30)));
    let headrooms = (models.headroom_normal, models.headroom_sheddable, models.headroom_background);
    assert_eq!((headrooms, models.class_relief), ((Some(1), Some(2), Some(8)), Some(20)));
    let ann = models.keys["ann"];
    assert_eq!((ann.weight, ann.floor, ann.ceiling), (Some(4), Some(8), Some(20)));
    assert_eq!((ann.keep_floor, ann.paused), (Some(true), Some(true)));
}

#[test]
fn json_is_the_same_and_a_written_configuration_can_be_read() {
    let config = toml(TOML).expect("valid");
    let json = serde_json::to_string(&config).expect("it can be written");
    assert_eq!(serde_json::from_str::<Config>(&json).expect("valid"), config);
    assert_eq!(Figment::from(Json::string(&json)).extract::<Config>().expect("valid"), config);
    assert_eq!(Figment::from(Serialized::defaults(&config)).extract::<Config>().expect("valid"), config);
    assert_eq!(serde_json::from_str::<Config>("{}").expect("valid"), Config::default());
    let null = r#"{ "bulkheads": { "a": { "parallelism": 1, "wait_limit": null } } }"#;
    assert_eq!(serde_json::from_str::<Config>(null).expect("valid").bulkheads["a"].wait_limit, None);
}

#[test]
fn an_unknown_field_is_refused_with_its_path() {
    for (text, found, place) in [
        ("[bulkhead.a]\nparallelism = 1", "bulkhead", "default"),
        ("[bulkheads.a]\nparalelism = 1", "paralelism", "default.bulkheads.a"),
        ("[partitions.a]\nwait_limits = \"1s\"", "wait_limits", "default.partitions.a"),
        ("[partitions.a.keys.k]\nmax_partitions = 1", "max_partitions", "default.partitions.a.keys.k"),
    ] {
        let error = error(text);
        assert!(error.starts_with(&format!("unknown field: found `{found}`, expected ")), "{error}");
        assert!(error.contains(&format!("for key \"{place}")), "{error}");
    }
}

#[test]
fn a_value_that_is_none_is_refused_with_its_path_and_what_is_accepted() {
    let duration = "a duration with its unit, such as \"250ms\", \"1.5s\" or \"2m 30s\"";
    for (text, wanted) in [
        ("parallelism = \"ten\"", "invalid value string \"ten\", expected a whole number from 1 to 2147483647"),
        ("parallelism = -1", "invalid value signed int `-1`, expected a whole number from 1 to 2147483647"),
        ("waiting_room = -1", "invalid value signed int `-1`, expected a whole number from 0 to 2147483647"),
        ("parallelism = 1.5", "invalid type: found float `1.5`, expected a whole number from 1 to 2147483647"),
        ("wait_limit = 250", &format!("invalid value unsigned int `250`, expected {duration}")),
        ("wait_limit = \"250\"", &format!("invalid value string \"250\", expected {duration}")),
        ("collect_limit = \"5 parsecs\"", &format!("invalid value string \"5 parsecs\", expected {duration}")),
        ("reserve = \"some\"", "invalid value string \"some\", expected \"learnt\", \"none\" or a duration"),
        ("measure_waits = 1", "invalid type: found signed int `1`, expected a boolean"),
    ] {
        let error = error(&format!("[bulkheads.payments]\n{text}"));
        let field = text.split(' ').next().expect("a field");
        assert!(error.starts_with(wanted), "{error}");
        assert!(error.contains(&format!("for key \"default.bulkheads.payments.{field}\"")), "{error}");
    }
}

#[test]
fn json_alone_gets_paths_from_serde_path_to_error() {
    let json = r#"{ "bulkheads": { "payments": { "wait_limit": "soon" } } }"#;
    let error = serde_path_to_error::deserialize::<_, Config>(&mut serde_json::Deserializer::from_str(json))
        .expect_err("no duration");
    assert_eq!(error.path().to_string(), "bulkheads.payments.wait_limit");
    assert!(error.to_string().contains("expected a duration with its unit"), "{error}");
}

#[test]
fn a_section_that_is_there_twice_is_refused() {
    for json in [
        r#"{ "bulkheads": { "a": { "parallelism": 1 }, "b": {}, "a": { "parallelism": 2 } } }"#,
        r#"{ "partitions": { "a": {}, "a": {} } }"#,
        r#"{ "partitions": { "t": { "keys": { "a": {}, "a": {} } } } }"#,
    ] {
        let error = serde_json::from_str::<Config>(json).expect_err("twice").to_string();
        assert!(error.starts_with("section \"a\" is there twice at line 1"), "{error}");
    }
}

fn in_jail(test: impl FnOnce(&mut Jail) -> Result<(), figment::Error>) {
    Jail::expect_with(|jail| {
        jail.clear_env();
        test(jail)
    });
}

fn from_environment(env: Env) -> Result<Config, figment::Error> {
    Figment::from(Toml::string(TOML)).merge(env).extract()
}

#[test]
fn environment_variables_override_a_file() {
    in_jail(|jail| {
        jail.set_env("BULKLINK_BULKHEADS__PAYMENTS__PARALLELISM", 20);
        jail.set_env("BULKLINK_BULKHEADS__PAYMENTS__WAIT_LIMIT", "1.5s");
        jail.set_env("BULKLINK_BULKHEADS__PAYMENTS__MEASURE_HOLDS", true);
        jail.set_env("BULKLINK_BULKHEADS__PAYMENTS__RESERVE", "learnt");
        jail.set_env("BULKLINK_BULKHEADS__42__CAPACITY", "7");
        jail.set_env("BULKLINK_PARTITIONS__TENANTS__IDLE_TIMEOUT", "1h");
        jail.set_env("BULKLINK_PARTITIONS__TENANTS__KEYS__ANN__PARALLELISM", "30");
        jail.set_env("BULKLINK_PARTITIONS__MODELS__KEYS__ANN__WEIGHT", "7");
        jail.set_env("BULKLINK_PARTITIONS__MODELS__KEYS__ANN__PAUSED", "false");
        let config = from_environment(Env::prefixed("BULKLINK_").split("__"))?;
        let payments = &config.bulkheads["payments"];
        assert_eq!((payments.parallelism, payments.waiting_room), (Some(20), Some(50)));
        assert_eq!((payments.wait_limit, payments.measure_holds), (Some(ms(1500)), Some(true)));
        assert_eq!(payments.reserve, Some(Reserve::Learnt));
        assert_eq!(config.bulkheads["42"].capacity, Some(7));
        assert_eq!(config.partitions["tenants"].idle_timeout, Some(Duration::from_hours(1)));
        assert_eq!(config.partitions["tenants"].keys["ann"].parallelism, Some(30));
        let ann = config.partitions["models"].keys["ann"];
        assert_eq!((ann.weight, ann.paused, ann.floor), (Some(7), Some(false), Some(8)));
        Ok(())
    });
}

#[test]
fn labels_that_no_variable_can_name_are_in_the_value_of_one() {
    in_jail(|jail| {
        jail.set_env("BULKLINK_BULKHEADS", r#"{"db.eu" = {capacity = 9}, "Größe" = {parallelism = 3}}"#);
        jail.set_env("BULKLINK_BULKHEADS__PAYMENTS__PARALLELISM", 20);
        let config = from_environment(Env::prefixed("BULKLINK_").split("__"))?;
        assert_eq!((config.bulkheads["db.eu"].capacity, config.bulkheads["db.eu"].waiting_room), (Some(9), Some(1)));
        assert_eq!(config.bulkheads["Größe"].parallelism, Some(3));
        assert_eq!(config.bulkheads["payments"].parallelism, Some(20));
        Ok(())
    });
}

#[test]
fn a_variable_with_a_bad_value_is_refused_with_its_path() {
    in_jail(|jail| {
        jail.set_env("BULKLINK_BULKHEADS__PAYMENTS__WAIT_LIMIT", "250");
        let error = from_environment(Env::prefixed("BULKLINK_").split("__")).expect_err("no unit").to_string();
        assert!(error.contains("expected a duration with its unit"), "{error}");
        assert!(error.to_lowercase().contains("bulkheads.payments.wait_limit"), "{error}");
        Ok(())
    });
}

fn seconds() -> impl Strategy<Value = Option<Duration>> {
    prop::option::of((0..=u64::MAX, 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)))
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        label in "\\PC{0,9}",
        number in prop::option::of(0..=isize::MAX.unsigned_abs()),
        limit in seconds(),
        waits in prop::option::of(any::<bool>()),
        kept in prop::option::of(prop_oneof![
            Just(Reserve::None),
            Just(Reserve::Learnt),
            any::<u32>().prop_map(|nanos| Reserve::Fixed(Duration::from_nanos(nanos.into()))),
        ]),
    ) {
        let mut config = Config::default();
        let section = config.bulkheads.entry(label.clone()).or_default();
        (section.parallelism, section.waiting_room_units, section.wait_limit) = (number, number, limit);
        (section.measure_waits, section.reserve) = (waits, kept);
        let section = config.partitions.entry(label.clone()).or_default();
        (section.max_partitions, section.idle_timeout) = (number, limit);
        (section.shared_capacity, section.shared_waiting_room) = (number, number);
        (section.weight, section.floor, section.ceiling) = (number, number, number);
        (section.headroom_normal, section.headroom_sheddable, section.headroom_background) = (number, number, number);
        section.class_relief = number;
        let key = section.keys.entry(label).or_default();
        (key.capacity, key.weight, key.floor, key.ceiling) = (number, number, number, number);
        (key.keep_floor, key.paused) = (waits, waits);
        let json = serde_json::to_string(&config).expect("it can be written");
        prop_assert_eq!(serde_json::from_str::<Config>(&json).expect("valid"), config);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,40}", value in "\\PC{0,12}") {
        let _ = toml(&text);
        let _ = toml(&format!("[bulkheads.a]\nwait_limit = {value:?}\nreserve = {value:?}"));
    }
}

/// The sections of breakers and shares are fields of the program's own settings.
#[test]
fn breakers_and_shares_are_read_beside_bulkheads() {
    const SHARE: &str = "limit = 100\nlease = \"20s\"\nfetch = \"5ms\"\non_outage = \"share\"";
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        limits: Config,
        breakers: BTreeMap<String, BreakerConfig>,
        shares: BTreeMap<String, ShareConfig>,
    }
    let read = |breaker: &str| {
        let text = format!(
            "[limits.bulkheads.payments]\nparallelism = 10\n[shares.payments]\n{SHARE}\n[breakers.payments]\n{breaker}"
        );
        Figment::from(Toml::string(&text)).extract::<Settings>()
    };
    let settings =
        read("over = \"10s\"\nfailure_rate = 50\ncool_down = \"1m\"\ncount_cancelled = true\nrun_limit = \"5s\"")
            .expect("valid");
    assert_eq!(settings.limits.bulkheads["payments"].parallelism, Some(10));
    let share = settings.shares["payments"];
    assert_eq!((share.limit, share.lease, share.fetch), (Some(100), Some(ms(20_000)), Some(ms(5))));
    let written = serde_json::to_value(share).expect("it can be written");
    assert_eq!(written, json!({ "limit": 100, "lease": "20s", "fetch": "5ms", "on_outage": "share" }));
    assert_eq!(serde_json::from_value::<ShareConfig>(written).expect("as it was written"), share);
    let payments = settings.breakers["payments"];
    assert_eq!(
        (payments.over, payments.failure_rate, payments.count_cancelled),
        (Some(ms(10_000)), Some(50), Some(true))
    );
    assert_eq!((payments.cool_down, payments.run_limit), (Some(ms(60_000)), Some(ms(5_000))));
    let written = serde_json::to_value(payments).expect("it can be written");
    let json =
        json!({ "over": "10s", "failure_rate": 50, "cool_down": "60s", "count_cancelled": true, "run_limit": "5s" });
    assert_eq!(written, json);
    assert_eq!(serde_json::from_value::<BreakerConfig>(written).expect("as it was written"), payments);
    for (wrong, text) in [("over = 10", "a duration with its unit"), ("failure = 1", "unknown field: found `failure`")]
    {
        let error = read(wrong).err().expect("invalid").to_string();
        assert!(error.contains(text) && error.contains("breakers.payments"), "{error}");
    }
}
