//! A key of the wrong type, and a server without memory: errors with their code.

#![cfg(unix)]

mod common;

use std::time::Duration;

use bulklink_redis::{CallId, Command, Era, Outcome, Terms, Token};
use bulklink_servers::{Server, require};
use redis::{Value, cmd};

use common::{Client, name, owner};

const TERMS: Terms = Terms { ttl: Duration::from_secs(3600), claim: Duration::from_secs(3600), block: 1 };

fn id(seq: u64) -> CallId {
    CallId { owner: owner(), seq, cost: 2 }
}

fn opened(client: &mut Client) -> Era {
    let answer = client.run(&common::open(owner(), 3, TERMS)).unwrap();
    Era { epoch: answer.head.unwrap().epoch.unwrap(), run: None }
}

fn acquire(seq: u64, era: Era) -> Command {
    Command::Acquire { id: id(seq), wait: true, queue: 10, era, terms: TERMS, give_back: vec![] }
}

/// One of each, such that the scripts reach all keys.
fn commands(era: Era) -> [Command; 8] {
    [
        common::open(owner(), 3, TERMS),
        acquire(3, era),
        Command::Release { ids: vec![id(1), id(2)] },
        Command::Beat {
            owner: owner(),
            generation: 1,
            era,
            terms: TERMS,
            info: "host/1/program".into(),
            leases: vec![id(1)],
            waiters: vec![(id(2), 1.into())],
            gone: vec![],
        },
        Command::Reap { full: true, offset: 0 },
        Command::SetLimit { limit: 9, expected: 1.into() },
        Command::Close { owner: owner(), ids: vec![id(1)] },
        Command::Status { offset: 0, count: 10 },
    ]
}

#[test]
fn a_key_of_the_wrong_type_is_an_error_with_its_code() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("types"), str::to_owned);
    for key in client.keys.all() {
        let mut refused = 0;
        for place in 0..8 {
            cmd("FLUSHDB").exec(&mut client.connection).unwrap();
            let era = opened(&mut client);
            client.run(&acquire(1, era)).unwrap();
            client.run(&acquire(2, era)).unwrap();
            cmd("SET").arg(&key).arg("a text").exec(&mut client.connection).unwrap();
            let command = commands(era)[place].clone();
            if let Err(error) = client.run(&command) {
                assert_eq!(error.code(), Some("WRONGTYPE"), "{key} {command:?}: {error}");
                refused += 1;
            }
            assert_eq!(cmd("GET").arg(&key).query(&mut client.connection), Ok("a text".to_owned()));
        }
        // What processes say about themselves is used by four of them, the rest by all or nearly.
        assert!(refused >= if key.ends_with('I') { 4 } else { 6 }, "{key}: {refused}");
    }
}

#[test]
fn an_error_inside_a_script_undoes_nothing() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("half"), str::to_owned);
    let era = opened(&mut client);
    client.run(&acquire(1, era)).unwrap();
    let [leases, waiters, ..] = client.keys.all();
    cmd("SET").arg(&waiters).arg("a text").exec(&mut client.connection).unwrap();
    assert!(client.run(&Command::Release { ids: vec![id(1)] }).is_err());
    assert_eq!(cmd("EXISTS").arg(&leases).query(&mut client.connection), Ok(0));
}

#[test]
fn a_full_server_admits_nothing_and_keeps_every_lease() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("full"), str::to_owned);
    let era = opened(&mut client);
    let granted = client.run(&acquire(1, era)).unwrap();
    assert!(matches!(granted.outcome, Outcome::Granted { .. }));
    client.run(&acquire(2, era)).unwrap();
    let before: Value = cmd("DUMP").arg(&client.keys.all()[3]).query(&mut client.connection).unwrap();
    cmd("CONFIG").arg("SET").arg("maxmemory").arg("1").exec(&mut client.connection).unwrap();
    let error = client.run(&acquire(3, era)).unwrap_err();
    assert_eq!(error.code(), Some("OOM"), "{error}");
    let after: Value = cmd("DUMP").arg(&client.keys.all()[3]).query(&mut client.connection).unwrap();
    assert_eq!(before, after);
    let [open, _, release, beat, reap, set_limit, close, status] = commands(era);
    for command in [open, beat, reap, status, set_limit, release, close] {
        assert_ne!(client.run(&command).unwrap().outcome, Outcome::Stale, "{command:?}");
    }
}

#[test]
fn tokens_and_tickets_are_exact() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("numbers"), str::to_owned);
    let era = opened(&mut client);
    let epoch = u64::from(era.epoch);
    let outcome = client.run(&acquire(1, era)).unwrap().outcome;
    assert_eq!(outcome, Outcome::Granted { token: Token::from(epoch + 1) });
    let Outcome::Queued { ticket, position, .. } = client.run(&acquire(2, era)).unwrap().outcome else { panic!() };
    assert_eq!((u64::from(ticket), position), (epoch + 1, 0));
    // Microseconds since 1970, in 16 digits, which Lua prints in 14 if it is left to it.
    assert!(epoch > 1_700_000_000_000_000);
}
