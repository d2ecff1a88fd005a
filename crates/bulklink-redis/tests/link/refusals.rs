//! Refusals of a server, and that no error shows a secret.

use std::time::Duration;

use bulklink_fleet::Link;
use bulklink_fleet::share::Terms;
use bulklink_redis::{InvalidStore, LeaseStore, Name, RedisStore, StoreError};
use bulklink_servers::{Server, User, require};
use bulklink_stores::TERMS;

use crate::world::{Process, at, name, on_both};

on_both! {
    a_wrong_password_is_refused_and_not_shown
    the_least_rights_are_enough
    without_info_the_run_is_unknown
    without_the_right_to_load_a_text_is_sent
    without_the_right_to_load_or_to_send_a_text_others_must_load
    a_right_that_is_missing_is_named
    without_the_right_to_listen_no_more_the_link_stays
    a_wrong_type_is_refused_and_the_link_stays
    malformed_data_is_refused_and_stays_as_it_is
    a_part_of_the_data_that_is_lost_begins_a_quarantine
    a_full_server_goes_on
}

const SECRET: &str = "s3cret-pass";

fn refused<T>(code: &str) -> Result<T, StoreError> {
    Err(StoreError::refused(code))
}

fn assert_silent(shown: &str) {
    for secret in [SECRET, "s3cret", "ringo", "a-password-of-tests"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// A user of the namespace of the tests, with other rights.
fn user(changes: &str) -> User {
    let mut user = User::service("test");
    user.rules = format!("{} {changes}", user.rules);
    user
}

async fn a_wrong_password_is_refused_and_not_shown() {
    let user = user("");
    let server = require!(Server::builder().tcp().acl(user.clone()).start());
    let urls = [
        format!("redis://{}:{SECRET}@127.0.0.1:{}", user.name, server.port()),
        format!("redis://ringo:{SECRET}@127.0.0.1:{}", server.port()),
        format!("unix://{}?user=ringo&pass={SECRET}", server.socket().display()),
    ];
    for url in urls {
        let store = RedisStore::new(&url).unwrap();
        assert_silent(&format!("{store:?}"));
        let error = Process::connect(&store, 1).await.err().unwrap();
        assert_silent(&format!("{error:?} {error}"));
        assert_eq!(Err::<(), _>(error), refused("WRONGPASS"));
    }
    let builder = RedisStore::builder(&server.url()).user(&user.name).password(&user.password);
    assert_silent(&format!("{builder:?}"));
    let store = builder.build().unwrap();
    assert_silent(&format!("{store:?}"));
    let process = Process::connect(&store, 1).await.unwrap();
    assert_silent(&format!("{:?}", process.link));
    process.join(&name("password"), 1).await.unwrap();
}

#[test]
fn a_url_that_is_none_is_not_shown() {
    for url in [
        "",
        "redis",
        "http://ringo:s3cret@host",
        "redis://ringo:s3cret@host:x",
        "redis://ringo:s3cret@host/x",
        "redis://ringo:s3cret@",
        "redis://0.0.0.0",
        "rediss://ringo:s3cret@host/#insecure",
        "unix://",
    ] {
        let error = RedisStore::new(url).unwrap_err();
        assert_eq!(error, InvalidStore::Url, "{url}");
        assert_silent(&format!("{error:?} {error}"));
    }
    let certificates = RedisStore::builder("redis://ringo:s3cret@host").certificates(b"s3cret").build();
    assert_eq!(certificates.unwrap_err(), InvalidStore::Certificates);
}

async fn the_least_rights_are_enough() {
    let user = user("");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    let other = at(&server.url_of(&user), 2).await;
    let name = name("rights");
    assert_eq!((process.join(&name, 10).await, other.join(&name, 4).await), (Ok(10), Ok(0)));
    assert!(process.link.listen(&name).await.unwrap().run.is_some());
    server.call(&["SCRIPT", "FLUSH"]);
    assert_eq!(process.state(&name, 6, 6).await, Ok(6));
    assert_eq!(other.ears.granted().units, 4);
    assert_eq!(process.link.resize(&name, 4, 1.into()).await, Ok(Ok(2.into())));
    assert_eq!(process.look(&name).await.limit, 4);
    assert_eq!(process.link.unlisten(&name).await, Ok(()));
    assert!(server.call(&["CLIENT", "LIST"]).text().contains("name=process_1 "));
    // Nothing was tried that the user must not do.
    assert_eq!(server.call(&["ACL", "LOG"]).list(), []);
}

async fn without_info_the_run_is_unknown() {
    let user = user("-info -client|setname");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    let name = name("info");
    let known = process.link.listen(&name).await.unwrap();
    assert_eq!((known.run, known.age), (None, None));
    assert_eq!(process.state(&name, 0, 1).await, Ok(1));
}

async fn without_the_right_to_load_a_text_is_sent() {
    let user = user("-script|load +eval");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    let name = name("texts");
    process.link.listen(&name).await.unwrap();
    for need in 0..10 {
        server.call(&["SCRIPT", "FLUSH"]);
        assert_eq!(process.state(&name, 9, need).await, Ok(need));
    }
    assert_eq!(process.ears.told(), []);
}

async fn without_the_right_to_load_or_to_send_a_text_others_must_load() {
    let user = user("-script|load");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    let name = name("foreign");
    assert_eq!(process.join(&name, 1).await, refused("NOPERM"));
    let other = at(&server.url(), 2).await;
    assert_eq!(other.join(&name, 0).await, Ok(0));
    assert_eq!(process.join(&name, 1).await, Ok(1));
    assert_eq!((process.ears.told(), other.ears.told()), (vec![], vec![]));
}

async fn a_right_that_is_missing_is_named() {
    // Also that which only the scripts need: at once, and not when a unit is to move.
    for missing in ["-ssubscribe", "-spublish", "-exists"] {
        let user = user(missing);
        let server = require!(Server::builder().acl(user.clone()).start());
        let process = at(&server.url_of(&user), 1).await;
        assert_eq!(process.link.listen(&name("a")).await.map(|_| ()), refused("NOPERM"), "{missing}");
    }
    let other = User::service("prod");
    let server = require!(Server::builder().acl(other.clone()).start());
    let process = at(&server.url_of(&other), 1).await;
    assert_eq!(process.link.listen(&name("a")).await.map(|_| ()), refused("NOPERM"));
    assert_eq!(process.state(&name("a"), 0, 1).await, refused("NOPERM"));
    assert_eq!(process.ears.told(), []);
    let names = RedisStore::new(&server.url_of(&other)).unwrap();
    let names = names.names(Some(&bulklink_redis::Namespace::new("prod").unwrap())).await;
    assert_eq!(names, refused("NOPERM"));
}

async fn without_the_right_to_listen_no_more_the_link_stays() {
    let user = user("-sunsubscribe");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    let name = name("rests");
    for _ in 0..3 {
        process.join(&name, 1).await.unwrap();
        assert_eq!(process.link.unlisten(&name).await, refused("NOPERM"));
    }
    assert_eq!((process.state(&name, 1, 1).await, process.ears.told()), (Ok(1), vec![]));
}

async fn a_wrong_type_is_refused_and_the_link_stays() {
    let server = require!(Server::start());
    let process = at(&server.url(), 1).await;
    for (place, key) in ["R", "T", "W", "S"].into_iter().enumerate() {
        let name = name(&format!("types-{place}"));
        process.join(&name, 0).await.unwrap();
        let before = process.state(&name, 0, 4).await;
        assert_eq!(before, Ok(4));
        let key = format!("bl:{{{name}}}:{key}");
        server.call(&["RENAMENX", &key, &format!("{key}-kept")]);
        server.call(&["SET", &key, SECRET]);
        assert_eq!(process.state(&name, 3, 3).await, refused("WRONGTYPE"), "{key}");
        server.call(&["DEL", &key]);
        server.call(&["RENAMENX", &format!("{key}-kept"), &key]);
        // Nothing has changed meanwhile.
        assert_eq!(process.granted(&name).await, 4, "{key}");
        assert_eq!(process.state(&name, 3, 3).await, Ok(3), "{key}");
    }
    assert_eq!(process.ears.told(), []);
}

async fn malformed_data_is_refused_and_stays_as_it_is() {
    let server = require!(Server::start());
    let (process, other) = (at(&server.url(), 1).await, at(&server.url(), 2).await);
    let name = name("malformed");
    assert_eq!((process.join(&name, 6).await, other.join(&name, 4).await), (Ok(6), Ok(4)));
    let [rows, settings] = ["R", "S"].map(|key| format!("bl:{{{name}}}:{key}"));
    let all = || [server.call(&["HGETALL", &rows]).list().len(), server.call(&["HGETALL", &settings]).list().len()];
    let before = all();
    let row = server.call(&["HGET", &rows, &process.id.to_string()]).text();
    let damages = [
        (&rows, process.id.to_string(), "1 2 3"),
        (&rows, process.id.to_string(), "x"),
        (&settings, "tight".to_owned(), "soon"),
        (&settings, "level".to_owned(), ""),
    ];
    for (key, field, value) in damages {
        let kept = server.call(&["HGET", key, &field]).text();
        server.call(&["HSET", key, &field, value]);
        assert_eq!(process.state(&name, 2, 2).await, refused("MALFORMED"), "{field}: {value}");
        assert_eq!(process.link.look(&name).await.map(|_| ()), refused("MALFORMED"), "{field}: {value}");
        server.call(&["HSET", key, &field, &kept]);
    }
    assert_eq!(all(), before);
    assert_eq!(server.call(&["HGET", &rows, &process.id.to_string()]).text(), row);
    assert_eq!(process.state(&name, 2, 2).await, Ok(2));
    assert_eq!(process.ears.told(), []);
}

async fn a_part_of_the_data_that_is_lost_begins_a_quarantine() {
    let server = require!(Server::start());
    let (process, other) = (at(&server.url(), 1).await, at(&server.url(), 2).await);
    let terms = Terms { lease: Duration::from_millis(400), claim: Duration::from_millis(200), recovers: true, ..TERMS };
    let state = async |process: &Process, name: &Name, keep, need| {
        let mut statement = process.statement(keep, need);
        (statement.declaration.terms, statement.longest) = (terms, terms.lease);
        process.send(name, statement).await.unwrap()
    };
    for (place, lost) in [&["R"][..], &["T"], &["R", "T"], &["S"], &["R", "T", "W"]].into_iter().enumerate() {
        let name = name(&format!("lost-{place}"));
        process.link.listen(&name).await.unwrap();
        other.link.listen(&name).await.unwrap();
        assert_eq!(state(&process, &name, 0, 10).await.grant.units, 10);
        for key in lost {
            server.call(&["DEL", &format!("bl:{{{name}}}:{key}")]);
        }
        let reply = state(&other, &name, 0, 4).await;
        assert_eq!(reply.grant.units, 0, "{lost:?}");
        assert!(reply.quarantine >= terms.lease / 2, "{lost:?}: {:?}", reply.quarantine);
        // The holder is counted again, and has the units that it keeps.
        assert_eq!(state(&process, &name, 6, 6).await.grant.units, 6, "{lost:?}");
        smol::Timer::after(reply.quarantine / 2).await;
        assert_eq!(state(&process, &name, 6, 6).await.grant.units, 6, "{lost:?}");
        smol::Timer::after(reply.quarantine / 2).await;
        assert_eq!(state(&other, &name, 0, 9).await.grant.units, 4, "{lost:?}");
        smol::Timer::after(terms.lease * 2).await;
        assert_eq!(state(&process, &name, 0, 10).await.grant.units, 10, "{lost:?}: nothing is lost for good");
    }
}

async fn a_full_server_goes_on() {
    let server = require!(Server::start());
    let (process, other) = (at(&server.url(), 1).await, at(&server.url(), 2).await);
    let name = name("full");
    assert_eq!((process.join(&name, 10).await, other.join(&name, 4).await), (Ok(10), Ok(0)));
    server.call(&["CONFIG", "SET", "maxmemory", "1"]);
    // Leases are renewed, and units move.
    assert_eq!(process.state(&name, 10, 10).await, Ok(10));
    assert_eq!(process.state(&name, 6, 6).await, Ok(6));
    assert_eq!(other.ears.granted().units, 4);
    assert_eq!(process.ears.ends(), 0);
}
