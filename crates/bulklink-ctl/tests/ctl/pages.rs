//! A bulkhead with more than one page.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use bulklink_servers::{Server, require};
use serde_json::Value;

use crate::world::{Process, ctl, name};

const LEASES: u64 = 3000;

const WAITERS: u64 = 1500;

fn strings<'a>(list: &'a Value, key: &str) -> HashSet<&'a str> {
    list.as_array().unwrap().iter().map(|object| object[key].as_str().unwrap()).collect()
}

#[test]
fn all_pages_are_shown_unless_top_cuts_them() {
    let server = require!(Server::start());
    let (url, payments) = (server.url(), name("payments"));
    let process = Process::new(&url, 1);
    let epoch = process.open(&payments, LEASES);
    for number in 2..=1200 {
        let key = bulklink_redis::OwnerId::from(number).to_string();
        let until = (u64::MAX >> 12) + u64::try_from(number).unwrap();
        server.call(&["ZADD", "bl:{test:payments}:O", &until.to_string(), &key]);
    }
    for from in (1..=LEASES).step_by(500) {
        process.beat(&payments, epoch, from..from + 500, 0..0);
    }
    process.beat(&payments, epoch, 0..0, LEASES + 1..LEASES + WAITERS + 1);

    let show = ctl(&url, &["show", "payments", "--json"]).json();
    assert_eq!((&show["leases"], &show["waiting"], &show["processes"]), (&3000.into(), &1500.into(), &1200.into()));
    assert_eq!(show["complete"], true);
    assert_eq!(show["holders"].as_array().unwrap().len(), 3000);
    assert_eq!(strings(&show["holders"], "id").len(), 3000);
    assert_eq!(strings(&show["waiters"], "id").len(), 1500);
    assert_eq!(strings(&show["sessions"], "owner").len(), 1200);
    let places: Vec<_> = show["waiters"].as_array().unwrap().iter().map(|waiter| waiter["place"].clone()).collect();
    assert_eq!(places, (1..=WAITERS).map(Value::from).collect::<Vec<_>>());
    let of_process = |show: &Value| {
        let sessions = show["sessions"].as_array().unwrap();
        let session = sessions.iter().find(|session| session["process"] == "web-1").unwrap();
        [session["in_use"].clone(), session["waiting"].clone()]
    };
    assert_eq!(of_process(&show), [Value::from(3000), Value::from(1500)]);
    let rows = ctl(&url, &["list"]).text();
    assert_eq!(rows.lines().nth(1), Some("payments   3000    3000     1500       1200"));

    let top = ctl(&url, &["show", "payments", "--json", "--top", "2000"]).json();
    let lengths = ["holders", "waiters", "sessions"].map(|key| top[key].as_array().unwrap().len());
    assert_eq!((lengths, &top["complete"]), ([2000, 1500, 1200], &true.into()));
    assert_eq!(of_process(&top), [Value::Null, Value::from(1500)]);
    let text = ctl(&url, &["show", "payments", "--top", "2"]).text();
    let more: Vec<_> = text.lines().filter(|line| line.starts_with("and ")).collect();
    assert_eq!(more, ["and 2998 more", "and 1498 more", "and 1198 more"]);
    assert_eq!(text.lines().filter(|line| line.starts_with("-----")).count(), 6, "{text}");
}

#[test]
fn leases_that_move_between_pages_are_not_missed_unless_it_says_so() {
    let server = require!(Server::start());
    let (url, payments) = (server.url(), name("payments"));
    let process = Process::new(&url, 1);
    let epoch = process.open(&payments, LEASES);
    let beat = |from: u64| process.beat(&payments, epoch, from..from + 500, 0..0);
    let from = || (1..=LEASES).step_by(500);
    from().for_each(beat);
    let is_over = AtomicBool::new(false);
    let runs: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                from().for_each(beat);
            }
        });
        let runs = (0..10).map(|_| ctl(&url, &["show", "payments", "--json"])).collect();
        is_over.store(true, Ordering::Relaxed);
        runs
    });
    for run in runs {
        let show = run.json();
        let count = strings(&show["holders"], "id").len() as u64;
        // It says so if it has missed some in all passes.
        assert_eq!(show["complete"], count == LEASES, "{count}");
        assert_eq!(show["holders"].as_array().unwrap().len() as u64, count);
    }
}
