//! The commands on circuits, the same on both stores.

use bulklink_breaker::{Mark, Outcomes, Settings};
use bulklink_fleet::circuits::{CircuitStore, Report};
use bulklink_postgres::PostgresStore;
use bulklink_redis::RedisStore;
use bulklink_servers::{Postgres, Server, require};
use serde_json::json;

use crate::world::{Run, block_on, circuit, name, set_up};

const CALLS: [bool; 3] = [false, true, true];

/// Makes the circuit `payments` of a process, with calls that failed or did not.
async fn use_it(store: &impl CircuitStore, calls: &[bool]) {
    let (name, settings) = (name("payments"), Settings::consecutive(5));
    let generation = store.load(&name, &settings).await.unwrap().generation;
    let mut outcomes = Outcomes::default();
    for failed in calls {
        outcomes.push(&settings, Mark { failed: *failed, slow: false });
    }
    let report = Report::Closed { generation, outcomes };
    assert!(store.report(&name, &settings, &report).await.unwrap().counted);
}

/// Everything but setting up, against a server that is set up.
fn a_circuit_is_shown_and_forced(url: &str, fill: impl Fn()) {
    let ctl = |words: &[&str]| circuit(url, words);
    assert!(ctl(&["check"]).text().ends_with(": complete\n"));
    assert_eq!(ctl(&["check", "--json"]).json()["result"], "complete");
    assert_eq!(ctl(&["show"]).text(), "no circuits\n");
    let missing = "no circuit \"payments\" in the namespace test".to_owned();
    assert_eq!(ctl(&["show", "payments"]).failure(), (3, missing));

    fill();
    let shown = ctl(&["show", "payments", "--json"]).json();
    for (key, value) in [
        ("namespace", json!("test")),
        ("label", json!("payments")),
        ("state", json!("closed")),
        ("forced", json!(false)),
        ("retry_after_ms", json!(null)),
        ("calls", json!(3)),
        ("failures", json!(2)),
        ("slow", json!(0)),
        ("probes", json!(0)),
    ] {
        assert_eq!(shown[key], value, "{key}: {shown}");
    }
    let generation = shown["generation"].as_u64().unwrap();
    let text = ctl(&["show", "payments"]).text();
    assert!(text.starts_with("payments in test\n\nstate       closed\ngeneration  "), "{text}");
    assert!(text.contains("window      3 calls: 2 failed, 0 slow\n"), "{text}");

    // The generation is the right one once.
    let (first, second) = (generation.to_string(), generation + 1);
    let forced = ctl(&["force", "open", "payments", "--expect", &first]).text();
    assert_eq!(forced, format!("payments: open by hand; generation {second}\n"));
    let stale = format!("the circuit has generation {second}, not {first}: it is open now, and was not changed");
    for state in ["open", "closed"] {
        let again = ctl(&["force", state, "payments", "--expect", &first]).failure();
        assert_eq!(again, (4, stale.clone()));
    }
    let list = ctl(&["show", "--json"]).json();
    assert_eq!(list["circuits"].as_array().unwrap().len(), 1);
    let row = &list["circuits"][0];
    assert_eq!((&row["state"], &row["forced"], &row["generation"]), (&json!("open"), &json!(true), &json!(second)));
    let text = ctl(&["show"]).text();
    assert!(text.lines().next().unwrap().starts_with("NAME      STATE  "), "{text}");
    assert!(text.lines().nth(1).unwrap().ends_with("  by hand"), "{text}");
    assert!(ctl(&["show", "--namespace", "other"]).text() == "no circuits\n");

    let closed = ctl(&["force", "closed", "payments", "--json"]).json();
    assert_eq!((&closed["state"], &closed["calls"]), (&json!("closed"), &json!(0)));
    // One that no process has used yet.
    assert!(ctl(&["force", "open", "new"]).text().starts_with("new: open by hand; generation "));
}

#[test]
fn circuits_on_redis_are_shown_and_forced() {
    let server = require!(Server::start());
    let circuits = RedisStore::new(&server.url()).unwrap();
    a_circuit_is_shown_and_forced(&server.url(), || block_on(async { use_it(&circuits.circuits(), &CALLS).await }));
}

#[test]
fn circuits_on_postgresql_are_shown_and_forced() {
    let server = require!(Postgres::start());
    set_up(&server);
    let fill = || block_on(async { use_it(&PostgresStore::new(&server.url()).unwrap().circuits(), &CALLS).await });
    a_circuit_is_shown_and_forced(&server.url(), fill);
}

/// Two processes use the circuit, the second with other settings, and it is shown.
fn different_settings_are_shown(url: &str, store: &impl CircuitStore) {
    let load = |settings| block_on(async { store.load(&name("payments"), &settings).await.unwrap() });
    let show = |words: &[&str]| circuit(url, &[&["show"], words].concat());
    load(Settings::consecutive(5));
    load(Settings::consecutive(5));
    assert_eq!(show(&["payments", "--json"]).json()["settings_differ"], false);
    assert!(!show(&["payments"]).text().contains("settings") && !show(&[]).text().contains("settings"));
    load(Settings::consecutive(6));
    // Not only the next operation sees it.
    load(Settings::consecutive(6));
    for _ in 0..2 {
        assert_eq!(show(&["payments", "--json"]).json()["settings_differ"], true);
        assert_eq!(show(&["--json"]).json()["circuits"][0]["settings_differ"], true);
        let text = show(&["payments"]).text();
        assert!(text.ends_with("\nsettings    differ between processes\n"), "{text}");
        let text = show(&[]).text();
        assert!(text.lines().nth(1).unwrap().ends_with("  settings differ"), "{text}");
    }
    let forced = circuit(url, &["force", "open", "payments", "--json"]).json();
    assert_eq!(forced.get("settings_differ"), None);
    assert!(show(&[]).text().lines().nth(1).unwrap().ends_with("  by hand, settings differ"));
}

#[test]
fn different_settings_are_shown_on_redis() {
    let server = require!(Server::start());
    different_settings_are_shown(&server.url(), &RedisStore::new(&server.url()).unwrap().circuits());
}

#[test]
fn different_settings_are_shown_on_postgresql() {
    let server = require!(Postgres::start());
    set_up(&server);
    different_settings_are_shown(&server.url(), &PostgresStore::new(&server.url()).unwrap().circuits());
}

#[test]
fn an_open_circuit_says_when_it_may_be_asked_again() {
    let server = require!(Postgres::start());
    set_up(&server);
    let store = PostgresStore::new(&server.url()).unwrap().circuits();
    block_on(use_it(&store, &[true; 5]));
    let end = "((extract(epoch FROM clock_timestamp()) + 3650) * 1000000)::bigint";
    server.sql(&format!("UPDATE bulklink.circuit SET data = regexp_replace(data, E'\\nu [^\\n]*', E'\\nu ' || {end})"));
    let shown = circuit(&server.url(), &["show", "payments", "--json"]).json();
    let rest = shown["retry_after_ms"].as_u64().unwrap();
    assert!((3_590_000..3_700_000).contains(&rest) && shown["state"] == "open", "{shown}");
    let text = circuit(&server.url(), &["show", "payments"]).text();
    assert!(text.contains("state       open, half-open in "), "{text}");
}

#[test]
fn check_tells_four_states_by_its_exit_code() {
    let server = require!(Postgres::start());
    let check = |url: &str| {
        let Run { code, out, err } = circuit(url, &["check"]);
        assert_eq!(err, "");
        (code, out)
    };
    let incomplete = check(&server.url());
    assert!(incomplete.1.contains(": incomplete\nmissing: the table bulklink.circuit\n"), "{incomplete:?}");
    assert_eq!(incomplete.0, 3);
    set_up(&server);
    set_up(&server);
    assert_eq!(check(&server.url()).0, 0);
    server.sql("UPDATE bulklink.part SET version = 7");
    let unusable = check(&server.url());
    assert!(unusable.0 == 1 && unusable.1.contains(": unusable: the tables have version 7,"), "{unusable:?}");
    for url in ["postgresql://127.0.0.1:1/db", "redis://127.0.0.1:1"] {
        let undetermined = (2, "127.0.0.1:1: undetermined: the store is unreachable\n".to_owned());
        assert_eq!(check(url), undetermined, "{url}");
    }
}

#[test]
fn a_standby_shows_circuits_and_changes_none() {
    let server = require!(Postgres::start());
    set_up(&server);
    circuit(&server.url(), &["force", "open", "payments"]).text();
    let standby = require!(Postgres::builder().standby_of(&server).start());
    assert!(circuit(&standby.url(), &["show", "payments"]).text().contains("state       open by hand\n"));
    let (code, error) = circuit(&standby.url(), &["force", "closed", "payments"]).failure();
    assert_eq!(code, 5);
    assert!(error.ends_with("25006, the server is a standby, which cannot be written to"), "{error}");
    assert_eq!(circuit(&standby.url(), &["check"]).code, 1);
}
