//! What a server refuses, and that no error shows a secret.

use bulklink_redis::{InvalidStore, Link, Outcome, RedisStore, StoreError};
use bulklink_servers::{Server, User, require};

use crate::world::{Process, at, is_granted, name, on_both};

on_both! {
    a_wrong_password_is_refused_and_not_shown
    the_least_rights_are_enough
    without_info_the_run_is_unknown
    without_the_right_to_load_a_text_is_sent
    without_the_right_to_load_or_to_send_a_text_others_must_load
    a_right_that_is_missing_is_named
    a_wrong_type_is_refused_and_the_link_stays
    a_full_server_is_full_and_renews
}

const SECRET: &str = "s3cret-pass";

fn refused<T>(code: &str) -> Result<T, StoreError> {
    Err(StoreError::Refused { code: code.into() })
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
    process.open(&name("password"), 1).await.unwrap();
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
    let name = name("rights");
    let epoch = process.open(&name, 1).await.unwrap();
    assert!(process.link.listen(&name).await.unwrap().run.is_some());
    assert!(is_granted(&process.acquire(&name, 1, epoch).await.unwrap()));
    assert!(matches!(process.acquire(&name, 2, epoch).await, Ok(Outcome::Queued { .. })));
    assert!(matches!(process.beat(&name, &[1], epoch).await, Ok(Outcome::Beaten { .. })));
    server.call(&["SCRIPT", "FLUSH"]);
    assert_eq!(process.release(&name, 1).await, Ok(Outcome::Done));
    // A server may send what it tells after its answer.
    process.ears.wait(1);
    assert_eq!(process.ears.granted(), [2]);
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
    let epoch = process.open(&name, 1).await.unwrap();
    assert!(is_granted(&process.acquire(&name, 1, epoch).await.unwrap()));
}

async fn without_the_right_to_load_a_text_is_sent() {
    let user = user("-script|load +eval");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    let name = name("texts");
    let epoch = process.open(&name, 1).await.unwrap();
    for seq in 0..10 {
        server.call(&["SCRIPT", "FLUSH"]);
        assert!(is_granted(&process.acquire(&name, seq, epoch).await.unwrap()));
        assert!(matches!(process.beat(&name, &[seq], epoch).await, Ok(Outcome::Beaten { .. })));
        assert_eq!(process.release(&name, seq).await, Ok(Outcome::Done));
    }
    assert_eq!(process.ears.told(), []);
}

async fn without_the_right_to_load_or_to_send_a_text_others_must_load() {
    let user = user("-script|load");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    let name = name("foreign");
    assert_eq!(process.open(&name, 1).await, refused("NOSCRIPT"));
    let other = at(&server.url(), 2).await;
    assert!(process.open(&name, 1).await.is_ok());
    assert_eq!((process.ears.told(), other.ears.told()), (vec![], vec![]));
}

async fn a_right_that_is_missing_is_named() {
    let user = user("-ssubscribe");
    let server = require!(Server::builder().acl(user.clone()).start());
    let process = at(&server.url_of(&user), 1).await;
    assert_eq!(process.link.listen(&name("a")).await.map(|_| ()), refused("NOPERM"));
    let other = User::service("prod");
    let server = require!(Server::builder().acl(other.clone()).start());
    let process = at(&server.url_of(&other), 1).await;
    assert_eq!(process.link.listen(&name("a")).await.map(|_| ()), refused("NOPERM"));
    assert_eq!(process.call(&name("a"), process.opening(1)).await, refused("NOPERM"));
    assert_eq!(process.ears.told(), []);
    let names = RedisStore::new(&server.url_of(&other)).unwrap();
    let names = names.names(&bulklink_redis::Namespace::new("prod").unwrap()).await;
    assert_eq!(names, refused("NOPERM"));
}

async fn a_wrong_type_is_refused_and_the_link_stays() {
    let server = require!(Server::start());
    let process = at(&server.url(), 1).await;
    let name = name("types");
    let epoch = process.open(&name, 1).await.unwrap();
    let key = format!("bl:{{{name}}}:L");
    server.call(&["SET", &key, SECRET]);
    assert_eq!(process.acquire(&name, 1, epoch).await, refused("WRONGTYPE"));
    assert_eq!(process.beat(&name, &[1], epoch).await, refused("WRONGTYPE"));
    server.call(&["DEL", &key]);
    assert!(is_granted(&process.acquire(&name, 1, epoch).await.unwrap()));
    assert_eq!(process.ears.told(), []);
}

async fn a_full_server_is_full_and_renews() {
    let server = require!(Server::start());
    let process = at(&server.url(), 1).await;
    let name = name("full");
    let epoch = process.open(&name, 9).await.unwrap();
    process.acquire(&name, 1, epoch).await.unwrap();
    server.call(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(process.acquire(&name, 2, epoch).await, Err(StoreError::Full));
    assert!(matches!(process.beat(&name, &[1], epoch).await, Ok(Outcome::Beaten { .. })));
    assert_eq!(process.release(&name, 1).await, Ok(Outcome::Done));
    server.call(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(is_granted(&process.acquire(&name, 2, epoch).await.unwrap()));
    assert_eq!(process.ears.told(), []);
}
