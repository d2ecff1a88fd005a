//! What each command prints, and what it does.

use std::thread;

use bulklink_redis::Fleet;
use bulklink_servers::{Server, require};
use bulklink_tokio::Tokio;
use serde_json::{Value, json};

use crate::world::{LONG, Process, ctl, name, name_in};

/// Two processes that share `payments`, and one that has `search`.
fn fleet(server: &Server) -> [Process; 2] {
    let url = &server.url();
    let [first, second] = [Process::new(url, 1), Process::new(url, 2)];
    let payments = name("payments");
    let epoch = first.open(&payments, 5);
    second.open(&payments, 5);
    assert!(first.acquire(&payments, epoch, 1, 1));
    assert!(second.acquire(&payments, epoch, 1, 3));
    assert!(!second.acquire(&payments, epoch, 2, 2));
    assert!(!first.acquire(&payments, epoch, 2, 1));
    first.open(&name("search"), 100);
    [first, second]
}

#[test]
fn list_has_a_row_for_each_bulkhead_of_the_namespace() {
    let server = require!(Server::start());
    let processes = fleet(&server);
    processes[0].open(&name_in("other", "payments"), 7);
    assert_eq!(
        ctl(&server.url(), &["list"]).text(),
        "NAME      LIMIT  IN USE  WAITING  PROCESSES  NOTE\n\
         payments      5       4        2          2\n\
         search      100       0        0          1\n"
    );
    assert_eq!(
        ctl(&server.url(), &["list", "--all-namespaces"]).text(),
        "NAME            LIMIT  IN USE  WAITING  PROCESSES  NOTE\n\
         other:payments      7       0        0          1\n\
         test:payments       5       4        2          2\n\
         test:search       100       0        0          1\n"
    );
    let list = ctl(&server.url(), &["list", "--json", "--namespace", "other"]).json();
    assert!(list["at_ms"].as_u64().unwrap() > 1_700_000_000_000, "{list}");
    let row = json!({
        "namespace": "other", "label": "payments", "name": "other:payments", "limit": 7, "version": 1, "in_use": 0,
        "leases": 0, "expired_leases": 0, "waiting": 0, "processes": 1, "quarantine_ms": null
    });
    assert_eq!(list["bulkheads"], json!([row]));
    assert_eq!(ctl(&server.url(), &["list", "--namespace", "none"]).text(), "no bulkheads\n");
}

/// Takes numbers of milliseconds out of objects, and checks that they are above 0 and at most this.
fn take_times(value: &mut Value, key: &str, at_most: u64) {
    for object in value.as_array_mut().unwrap() {
        let time = object.as_object_mut().unwrap().remove(key).unwrap();
        assert!((1..=at_most).contains(&time.as_u64().unwrap()), "{key} {time}");
    }
}

#[test]
fn show_has_the_holders_the_waiters_and_the_processes() {
    let server = require!(Server::start());
    let [first, second] = fleet(&server);
    let mut show = ctl(&server.url(), &["show", "payments", "--json"]).json();
    take_times(&mut show["holders"], "expires_in_ms", 3_600_000);
    take_times(&mut show["sessions"], "ends_in_ms", 1_800_000);
    let (one, two) = (first.owner.to_string(), second.owner.to_string());
    let mut take = |key: &str| show.as_object_mut().unwrap().remove(key).unwrap().as_u64().unwrap();
    let (now, epoch, tickets) = (take("server_time_ms"), take("epoch"), take("last_ticket"));
    assert!(take("at_ms").abs_diff(now) < 60_000);
    assert!((now - 60_000..=now).contains(&(epoch / 1000)));
    assert_eq!((take("last_token"), tickets), (epoch + 2, epoch + 2));
    assert_eq!(
        show,
        json!({
            "namespace": "test", "label": "payments", "name": "test:payments", "limit": 5, "version": 1, "in_use": 4,
            "leases": 2, "expired_leases": 0, "waiting": 2, "processes": 2, "quarantine_ms": null, "declared_limit": 5,
            "config": 4, "lease_ms": 3_600_000, "claim_ms": 1_800_000, "tokens_per_grant": 1, "complete": true,
            "holders": [
                { "id": format!("{one}:1:1"), "owner": one, "process": "web-1", "cost": 1, "age_ms": null },
                { "id": format!("{two}:1:3"), "owner": two, "process": "web-2", "cost": 3, "age_ms": null },
            ],
            "waiters": [
                { "place": 1, "id": format!("{two}:2:2"), "owner": two, "process": "web-2", "cost": 2, "age_ms": null, "ticket": tickets - 1 },
                { "place": 2, "id": format!("{one}:2:1"), "owner": one, "process": "web-1", "cost": 1, "age_ms": null, "ticket": tickets },
            ],
            "sessions": [
                { "owner": one, "process": "web-1", "generation": 7, "in_use": 1, "waiting": 1 },
                { "owner": two, "process": "web-2", "generation": 7, "in_use": 3, "waiting": 1 },
            ],
        })
    );
}

#[test]
fn show_prints_a_page_for_people() {
    let server = require!(Server::start());
    let _processes = fleet(&server);
    let text = ctl(&server.url(), &["show", "payments"]).text();
    // The times are near the whole lease, and the epoch is that of the test.
    let lines = text.lines().map(|line| match line.split_once("9 min ") {
        Some((before, after)) if line.starts_with("--") => {
            format!("{before}9 min {}", after.split_once(' ').unwrap().1)
        }
        _ => line.to_owned(),
    });
    let lines: Vec<_> = lines.filter(|line| !line.starts_with("epoch ")).collect();
    assert_eq!(
        lines,
        [
            "payments in test",
            "",
            "limit      5, version 1",
            "declared   5, configuration 4",
            "in use     4 by 2 permits",
            "waiting    2",
            "processes  2",
            "terms      lease 1 h, claim 30 min, 1 token a grant",
            "",
            "HOLDER                      COST  AGE   EXPIRES IN  PROCESS",
            "---------------------0:1:1     1    -  59 min s  web-1",
            "---------------------1:1:3     3    -  59 min s  web-2",
            "",
            "WAITER                      COST  AGE  PLACE  PROCESS",
            "---------------------1:2:2     2    -      1  web-2",
            "---------------------0:2:1     1    -      2  web-1",
            "",
            "SESSION                 IN USE  WAITING      ENDS IN  LINK  PROCESS",
            "---------------------0       1        1  29 min s     7  web-1",
            "---------------------1       3        1  29 min s     7  web-2",
        ]
    );
}

#[test]
fn resize_changes_the_limit_and_counts_its_version() {
    let server = require!(Server::start());
    let _processes = fleet(&server);
    let url = server.url();
    assert_eq!(
        ctl(&url, &["resize", "payments", "2"]).text(),
        "payments: limit 2, was 5; version 2; 4 in use, 2 waiting\n"
    );
    assert_eq!(
        ctl(&url, &["resize", "payments", "6", "--expect", "2", "--json"]).json(),
        json!({
            "namespace": "test", "label": "payments", "name": "test:payments", "limit": 6, "previous_limit": 2,
            "version": 3, "in_use": 6, "waiting": 1
        })
    );
    let show = ctl(&url, &["show", "payments"]).text();
    assert!(show.contains("limit      6, version 3\ndeclared   5, configuration 4\n"), "{show}");
    let conflict = "the limit has version 3, not 2: it is 6 now".to_owned();
    assert_eq!(ctl(&url, &["resize", "payments", "9", "--expect", "2"]).failure(), (4, conflict));
    assert_eq!(ctl(&url, &["show", "payments", "--json"]).json()["limit"], 6);
}

#[test]
fn of_changes_that_expect_one_version_one_succeeds() {
    let server = require!(Server::start());
    Process::new(&server.url(), 1).open(&name("payments"), 5);
    let race = |expect: &[&str]| {
        let url = &server.url();
        let resize = |limit: u64| {
            let limit = limit.to_string();
            ctl(url, &[&["resize", "payments", &limit], expect].concat()).code
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
    assert_eq!(ctl(&server.url(), &["show", "payments", "--json"]).json()["version"], 2 + succeeded);
}

#[test]
fn reap_drops_expired_leases_and_waiters_of_dead_processes() {
    let server = require!(Server::start());
    let process = Process::new(&server.url(), 1);
    let payments = name("payments");
    let epoch = process.open(&payments, 4);
    for (seq, cost) in [(1, 1), (2, 2), (3, 1)] {
        assert!(process.acquire(&payments, epoch, seq, cost));
    }
    // Too large to be granted, and more than one call looks at.
    for seq in 4..=604 {
        assert!(!process.acquire(&payments, epoch, seq, 4));
    }
    let owner = process.owner.to_string();
    let long_ago = |key: &str, member: &str| {
        server.call(&["ZADD", &format!("bl:{{test:payments}}:{key}"), "XX", "1", member]);
    };
    long_ago("L", &process.id(1, 1).to_string());
    long_ago("L", &process.id(2, 2).to_string());
    long_ago("O", &owner);
    let url = server.url();
    let show = ctl(&url, &["show", "payments", "--top", "3"]).text();
    assert!(show.contains("in use     4 by 3 permits, 2 expired\nwaiting    601\nprocesses  0\n"), "{show}");
    // Days and hours, or days alone in the first hour of a day.
    assert_eq!(show.matches(" ago").count(), 3, "{show}");
    let expiry = &ctl(&url, &["show", "payments", "--json"]).json()["holders"][0]["expires_in_ms"];
    assert!(expiry.as_i64().unwrap() < -1_700_000_000_000, "{expiry}");
    assert_eq!(
        ctl(&url, &["reap", "payments"]).text(),
        "payments: 3 units freed, 601 waiters dropped; 1 of 4 in use, 0 waiting\n"
    );
    assert_eq!(
        ctl(&url, &["reap", "payments", "--json"]).json(),
        json!({
            "namespace": "test", "label": "payments", "name": "test:payments", "freed_units": 0,
            "dropped_waiters": 0, "limit": 4, "in_use": 1, "waiting": 0
        })
    );
}

#[test]
fn a_quarantine_is_shown_with_its_rest() {
    let server = require!(Server::start());
    let process = Process::new(&server.url(), 1);
    process.open(&name("payments"), 5);
    let until = u64::MAX >> 12;
    server.call(&["HSET", "bl:{test:payments}:M", "q", &until.to_string()]);
    let list = ctl(&server.url(), &["list"]).text();
    assert!(list.lines().nth(1).unwrap().contains("payments      5       0        0          1  recovering for "));
    let show = ctl(&server.url(), &["show", "payments"]).text();
    assert!(show.contains(": nothing is granted\n"), "{show}");
    let rest = ctl(&server.url(), &["show", "payments", "--json"]).json()["quarantine_ms"].as_u64().unwrap();
    assert!(rest > 3_600_000);
    server.call(&["HSET", "bl:{test:payments}:M", "q", "1"]);
    assert_eq!(ctl(&server.url(), &["show", "payments", "--json"]).json()["quarantine_ms"], Value::Null);
}

#[test]
fn nothing_is_written_for_a_bulkhead_that_is_only_read() {
    let server = require!(Server::start());
    let _processes = fleet(&server);
    let (url, keys) = (server.url(), || {
        let keys = server.call(&["KEYS", "*"]).list();
        let mut keys: Vec<_> = keys.into_iter().map(|key| (server.call(&["DUMP", &key.text()]), key.text())).collect();
        keys.sort_by(|(_, a), (_, b)| a.cmp(b));
        keys
    });
    let before = keys();
    assert_eq!(before.len(), 8);
    for words in [&["list"][..], &["show", "payments"], &["list", "--all-namespaces"]] {
        ctl(&url, words).text();
    }
    for words in [&["show", "none"][..], &["reap", "none"], &["resize", "none", "3"], &["watch", "none"]] {
        let missing = "no bulkhead \"none\" in the namespace test".to_owned();
        assert_eq!(ctl(&url, words).failure(), (3, missing), "{words:?}");
    }
    assert_eq!(keys(), before);
}

#[test]
fn a_fleet_of_the_public_interface_is_shown_and_resized() {
    let server = require!(Server::start());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let url = server.url();
    let (bulkhead, permit) = runtime.block_on(async {
        let store = bulklink_redis::RedisStore::new(&url).unwrap();
        let fleet = Fleet::builder(store, Tokio).namespace("test").process("checkout on host-7").build().unwrap();
        // A server that has just started begins with a quarantine otherwise.
        let bulkhead = fleet.bulkhead("card payments").limit(2).without_quarantine();
        let bulkhead = bulkhead.lease(LONG.ttl).claim(LONG.claim).connect().await.unwrap();
        let permit = bulkhead.acquire().await.unwrap();
        (bulkhead, permit)
    });
    let show = ctl(&url, &["show", " card payments ", "--json"]).json();
    assert_eq!((&show["in_use"], &show["processes"]), (&json!(1), &json!(1)));
    assert_eq!(show["holders"][0]["process"], "checkout_on_host-7");
    // The process learned the server's time when it opened the bulkhead.
    assert!(show["holders"][0]["age_ms"].as_u64().is_some_and(|age| age < 60_000), "{show}");
    assert_eq!(show["sessions"][0]["generation"], 1);
    ctl(&url, &["resize", "card payments", "1"]).text();
    let rejected = runtime.block_on(bulkhead.try_acquire()).unwrap_err();
    assert_eq!(rejected.reason(), bulklink_redis::Reason::Saturated);
    assert!(runtime.block_on(permit.release()));
    drop(runtime.block_on(bulkhead.acquire()).unwrap());
}
