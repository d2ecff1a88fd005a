//! The output and the effect of each command on shares: the same on both stores.

use std::thread;
use std::time::Duration;

use bulklink_fleet::LeaseStore;
use bulklink_postgres::PostgresStore;
use bulklink_redis::{Fleet, RedisStore};
use bulklink_servers::{Postgres, Server, require};
use serde_json::{Value, json};

use crate::world::{Process, name, name_in, pair, set_up, share};

fn redis(server: &Server) -> RedisStore {
    RedisStore::new(&server.url()).unwrap()
}

/// Takes a number out of an object.
fn take(object: &mut Value, key: &str) -> u64 {
    let number = object.as_object_mut().unwrap().remove(key).unwrap();
    number.as_u64().unwrap_or_else(|| panic!("{key}: {number}"))
}

fn list_has_a_row_for_each_share(url: &str, store: &impl LeaseStore) {
    let processes = pair(store);
    processes[0].state(&name_in("other", "payments"), 7, 0, 1);
    assert_eq!(
        share(url, &["list"]).text(),
        "NAME      LIMIT  GRANTED  PROCESSES  LEVEL  NOTE\n\
         payments     10       10          2      6\n\
         search      100        3          1      -\n"
    );
    assert_eq!(
        share(url, &["list", "--all-namespaces"]).text(),
        "NAME            LIMIT  GRANTED  PROCESSES  LEVEL  NOTE\n\
         other:payments      7        1          1      -\n\
         test:payments      10       10          2      6\n\
         test:search       100        3          1      -\n"
    );
    let list = share(url, &["list", "--json", "--namespace", "other"]).json();
    assert!(list["at_ms"].as_u64().unwrap() > 1_700_000_000_000, "{list}");
    let row = json!({
        "namespace": "other", "label": "payments", "name": "other:payments", "limit": 7, "version": 1, "granted": 1,
        "processes": 1, "level": null, "quarantine_ms": null
    });
    assert_eq!(list["shares"], json!([row]));
    assert_eq!(share(url, &["list", "--namespace", "none"]).text(), "no shares\n");
}

fn show_has_the_declaration_and_the_processes(url: &str, store: &impl LeaseStore) {
    let [first, second] = pair(store);
    let (one, two) = (first.id(), second.id());
    let mut show = share(url, &["show", "payments", "--json"]).json();
    assert!(take(&mut show, "at_ms").abs_diff(take(&mut show, "epoch") / 1000) < 60_000);
    take(&mut show, "last_token");
    // Without units, it is a claim.
    for (row, whole) in show["rows"].as_array_mut().unwrap().iter_mut().zip([3_600_000, 1_800_000]) {
        let (silent, rest) = (take(row, "silent_ms"), take(row, "lease_left_ms"));
        assert!(silent < 60_000 && (whole - 1..=whole).contains(&(silent + rest)), "{silent} {rest}");
    }
    let ticket = take(&mut show["rows"][1], "ticket");
    assert!(ticket > 0);
    assert_eq!(
        show,
        json!({
            "namespace": "test", "label": "payments", "name": "test:payments", "limit": 10, "version": 1,
            "granted": 10, "processes": 2, "level": 6, "quarantine_ms": null, "declared_limit": 10, "config": 4,
            "lease_ms": 3_600_000, "claim_ms": 1_800_000, "calm_ms": 600_000, "recovers": false, "declarer": one,
            "run": null,
            "rows": [
                { "process": one, "granted": 10, "need": 10, "weight": 1, "ticket": null, "served": true },
                { "process": two, "granted": 0, "need": 4, "weight": 1, "served": true },
            ],
        })
    );

    let text = share(url, &["show", "payments"]).text();
    let varies = |line: &&str| line.starts_with("epoch ") || line.starts_with("token ");
    let lines: Vec<_> = text.lines().filter(|line| !varies(line)).collect();
    assert_eq!(
        lines[..10],
        [
            "payments in test",
            "",
            "limit      10, version 1",
            &format!("declared   10, configuration 4, by {one}"),
            "terms      lease 1h, claim 30m, calm 10m, does not recover",
            "granted    10",
            "processes  2",
            "level      6 units for each weight",
            "run        -",
            "",
        ]
    );
    assert!(lines[10].starts_with("PROCESS                 GRANTED  NEED  WEIGHT  TICKET  "), "{text}");
    let begins = [format!("{one}       10    10       1       -"), format!("{two}        0     4       1")];
    for (line, begin) in lines[11..].iter().zip(begins) {
        assert!(line.starts_with(&begin) && line.contains("9m ") && line.ends_with("  yes"), "{text}");
    }
}

fn resize_changes_the_limit_and_counts_its_version(url: &str, store: &impl LeaseStore) {
    let _processes = pair(store);
    assert_eq!(share(url, &["resize", "payments", "2"]).text(), "payments: limit 2, was 10; version 2\n");
    assert_eq!(
        share(url, &["resize", "payments", "6", "--expect", "2", "--json"]).json(),
        json!({
            "namespace": "test", "label": "payments", "name": "test:payments", "limit": 6, "previous_limit": 2,
            "version": 3
        })
    );
    let show = share(url, &["show", "payments"]).text();
    assert!(show.contains("limit      6, version 3\ndeclared   10, configuration 4, by "), "{show}");
    let conflict = "the limit has version 3, not 2: it is 6 now, and was not changed".to_owned();
    assert_eq!(share(url, &["resize", "payments", "9", "--expect", "2"]).failure(), (4, conflict));
    let row = &share(url, &["list", "--json"]).json()["shares"][0];
    assert_eq!((&row["limit"], &row["granted"]), (&json!(6), &json!(10)));
    for words in [&["show", "none"][..], &["resize", "none", "3"], &["watch", "none"]] {
        let missing = "no share \"none\" in the namespace test".to_owned();
        assert_eq!(share(url, words).failure(), (3, missing), "{words:?}");
    }
}

/// Declares a test for each store.
macro_rules! on_both {
    ($($name:ident)+) => {$(
        mod $name {
            use super::*;

            #[test]
            fn on_redis() {
                let server = require!(Server::start());
                super::$name(&server.url(), &redis(&server));
            }

            #[test]
            fn on_postgresql() {
                let server = require!(Postgres::start());
                set_up(&server);
                super::$name(&server.url(), &PostgresStore::new(&server.url()).unwrap());
            }
        }
    )+};
}

on_both! {
    list_has_a_row_for_each_share
    show_has_the_declaration_and_the_processes
    resize_changes_the_limit_and_counts_its_version
}

#[test]
fn of_changes_that_expect_one_version_one_succeeds() {
    let server = require!(Server::start());
    let _processes = pair(&redis(&server));
    let race = |expect: &[&str]| {
        let url = &server.url();
        let resize = |limit: u64| {
            let limit = limit.to_string();
            share(url, &[&["resize", "payments", &limit], expect].concat()).code
        };
        let codes: Vec<_> = thread::scope(|scope| {
            let runs: Vec<_> = (1..=8).map(|limit| scope.spawn(move || resize(limit))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert!(codes.iter().all(|code| matches!(code, 0 | 4)), "{codes:?}");
        codes.iter().filter(|code| **code == 0).count() as u64
    };
    assert_eq!(race(&["--expect", "1"]), 1);
    let succeeded = race(&[]);
    assert!(succeeded >= 1);
    assert_eq!(share(&server.url(), &["show", "payments", "--json"]).json()["version"], 2 + succeeded);
}

#[test]
fn a_quarantine_is_shown_with_its_rest() {
    let server = require!(Server::start());
    let _processes = pair(&redis(&server));
    let show = |words: &[&str]| share(&server.url(), &[&["show", "search"], words].concat());
    let until = |time: &str| server.call(&["HSET", "bl:{test:search}:S", "quarantine", time]);
    until(&(u64::MAX >> 12).to_string());
    let list = share(&server.url(), &["list"]).text();
    assert!(list.lines().nth(2).unwrap().starts_with("search      100        3          1      -  recovering for "));
    let text = show(&[]).text();
    assert!(text.contains("quarantine  for ") && text.contains(": nothing is granted\n"), "{text}");
    assert!(show(&["--json"]).json()["quarantine_ms"].as_u64().unwrap() > 3_600_000);
    until("1");
    assert_eq!(show(&["--json"]).json()["quarantine_ms"], Value::Null);
}

#[test]
fn a_silent_process_cannot_be_served() {
    let server = require!(Server::start());
    let process = Process::on(&redis(&server), 1).claiming(Duration::from_millis(1));
    process.state(&name("payments"), 10, 0, 10);
    thread::sleep(Duration::from_millis(5));
    let show = share(&server.url(), &["show", "payments", "--json"]).json();
    assert_eq!((&show["rows"][0]["served"], &show["rows"][0]["granted"]), (&json!(false), &json!(10)));
    assert!(share(&server.url(), &["show", "payments"]).text().ends_with("  no\n"));
}

#[test]
fn nothing_is_written_for_a_share_that_is_only_read() {
    let server = require!(Server::start());
    let _processes = pair(&redis(&server));
    let keys = || {
        let keys = server.call(&["KEYS", "*"]).list();
        let mut keys: Vec<_> = keys.into_iter().map(|key| (server.call(&["DUMP", &key.text()]), key.text())).collect();
        keys.sort_by(|(_, a), (_, b)| a.cmp(b));
        keys
    };
    let before = keys();
    assert!(!before.is_empty());
    for words in [&["list"][..], &["show", "payments"], &["list", "--all-namespaces"]] {
        share(&server.url(), words).text();
    }
    for words in [&["show", "none"][..], &["resize", "none", "3"], &["resize", "search", "3", "--expect", "9"]] {
        share(&server.url(), words).failure();
    }
    assert_eq!(keys(), before);
}

#[test]
fn a_fleet_of_the_public_interface_is_shown_and_resized() {
    let server = require!(Server::start());
    let url = server.url();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    let bulkhead = bulklink_tokio::Bulkhead::builder("card payments").parallelism(2).waiting_room(1).build().unwrap();
    let fleet = Fleet::builder(redis(&server), bulklink_tokio::Tokio).namespace("test").build().unwrap();
    // A server that has just started begins with a quarantine otherwise.
    let joined = fleet.share(&bulkhead).limit(2).without_quarantine().connect();
    let joined = runtime.block_on(joined).unwrap();
    let slot = runtime.block_on(async { bulkhead.slot().await.unwrap() });
    let show = share(&url, &["show", " card payments ", "--json"]).json();
    assert_eq!((&show["limit"], &show["processes"], &show["recovers"]), (&json!(2), &json!(1), &json!(false)));
    let id = json!(fleet.id().to_string());
    assert_eq!((&show["rows"][0]["process"], &show["declarer"]), (&id, &id));
    assert!(show["run"].as_str().is_some_and(|run| run.len() == 16), "{show}");
    share(&url, &["resize", "card payments", "1"]).text();
    assert_eq!(runtime.block_on(joined.look()).unwrap().unwrap().limit, 1);
    drop(slot);
    runtime.block_on(fleet.close());
    assert_eq!(share(&url, &["show", "card payments", "--json"]).json()["processes"], 0);
}
