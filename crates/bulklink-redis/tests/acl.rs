//! A user with the least rights runs every script of its namespace, and none of another.

#![cfg(unix)]

mod common;

use std::time::Duration;

use bulklink_redis::{CallId, Command, Era, Name, Namespace, Notice, Outcome, OwnerId, Terms};
use bulklink_servers::{Server, User, require};

use common::{Client, owner};

const TERMS: Terms = Terms { ttl: Duration::from_secs(3600), claim: Duration::from_secs(3600), block: 1 };

#[test]
fn a_service_runs_all_scripts_with_the_least_rights() {
    let user = User::service("prod");
    let server = require!(Server::builder().acl(user.clone()).start());
    let name = |namespace| Name::new(&Namespace::new(namespace).unwrap(), "payments").unwrap();
    let mut client = Client::new(&server.url_of(&user), &name("prod"), str::to_owned);
    client.listen(owner(), true);
    let opened = client.run(&common::open(owner(), 1, TERMS)).unwrap();
    let era = Era { epoch: opened.head.unwrap().epoch.unwrap(), run: None };
    let id = |seq| CallId { owner: owner(), seq, cost: 1 };
    let acquire = |seq, give_back| Command::Acquire { id: id(seq), wait: true, queue: 9, era, terms: TERMS, give_back };
    let beat = |leases, waiters, gone| Command::Beat {
        owner: owner(),
        generation: 1,
        era,
        terms: TERMS,
        info: "host/1/program".into(),
        leases,
        waiters,
        gone,
    };
    let granted = client.run(&acquire(1, vec![])).unwrap().outcome;
    assert!(matches!(granted, Outcome::Granted { .. }), "{granted:?}");
    for seq in [2, 3, 4] {
        let queued = client.run(&acquire(seq, vec![])).unwrap().outcome;
        assert!(matches!(queued, Outcome::Queued { .. }), "{queued:?}");
    }
    assert_eq!(client.run(&Command::Release { ids: vec![id(1)] }).unwrap().outcome, Outcome::Done);
    client.run(&acquire(5, vec![id(2)])).unwrap();
    let beaten = client.run(&beat(vec![id(3), id(9)], vec![(id(4), 1.into()), (id(8), 2.into())], vec![id(5)]));
    assert!(matches!(beaten.unwrap().outcome, Outcome::Beaten { .. }));
    client.run(&Command::Reap { full: true, offset: 0 }).unwrap();
    client.run(&Command::SetLimit { limit: 5, expected: 1.into() }).unwrap();
    client.run(&Command::Close { owner: owner(), ids: vec![id(3)] }).unwrap();
    let to = |(owner, notice): (OwnerId, Notice)| match notice {
        Notice::Granted { id, .. } => (owner, id.seq),
        other => panic!("{other:?}"),
    };
    // Released, then passed on by the next call, and by the larger limit. The ticket of 8 is of an
    // earlier epoch, so it is ahead of 4.
    let seen: Vec<_> = client.notices().into_iter().map(to).collect();
    assert_eq!(seen, [(owner(), 2), (owner(), 3), (owner(), 8), (owner(), 4)]);
}

#[test]
fn other_namespaces_and_the_state_need_other_rights() {
    let user = User::service("prod");
    let server = require!(Server::builder().acl(user.clone()).start());
    let name = |namespace| Name::new(&Namespace::new(namespace).unwrap(), "payments").unwrap();
    for (namespace, command) in [
        ("prod-2", common::open(owner(), 1, TERMS)),
        ("test", Command::Release { ids: vec![CallId { owner: owner(), seq: 1, cost: 1 }] }),
        ("prod", Command::Status { offset: 0, count: 1 }),
    ] {
        let mut client = Client::new(&server.url_of(&user), &name(namespace), str::to_owned);
        let error = client.run(&command).unwrap_err();
        // Redis 7.0 has no code of its own for a command that a script must not run.
        let codes: &[_] = if namespace == "prod" { &["NOPERM", "ERR"] } else { &["NOPERM"] };
        assert!(error.code().is_some_and(|code| codes.contains(&code)), "{namespace}: {error}");
    }
    let reader = User { rules: format!("{} +zcount", user.rules), name: "reader".to_owned(), ..user };
    let server = require!(Server::builder().acl(reader.clone()).start());
    let mut client = Client::new(&server.url_of(&reader), &name("prod"), str::to_owned);
    client.run(&common::open(owner(), 1, TERMS)).unwrap();
    let status = client.run(&Command::Status { offset: 0, count: 9 }).unwrap().outcome;
    assert!(matches!(&status, Outcome::Status(status) if status.session_page.len() == 1), "{status:?}");
}

#[test]
fn the_documented_rights_are_those_that_are_tested() {
    let page = include_str!("../src/lib.rs");
    let listed = page.split("```").nth(1).unwrap().replace("//!", "");
    let sorted = |text: &str| {
        let mut rules: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        rules.sort();
        rules
    };
    assert_eq!(sorted(listed.strip_prefix("text").unwrap()), sorted(&User::service("prod").rules));
}
