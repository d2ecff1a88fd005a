//! TLS, with the right certificates and with others.

use std::fs;
use std::sync::Once;

use bulklink_redis::{Outcome, RedisStore, StoreError};
use bulklink_servers::{Server, User, require};

use crate::world::{Process, is_granted, name, on_both};

on_both! {
    the_right_authority_is_trusted
    others_are_not_trusted
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

async fn the_right_authority_is_trusted() {
    install();
    let user = User::service("test");
    let server = require!(Server::builder().tls().acl(user.clone()).start());
    let pem = fs::read(server.authority()).unwrap();
    let store = RedisStore::builder(&server.url_of(&user)).certificates(&pem).build().unwrap();
    let (first, second) = (Process::connect(&store, 1).await.unwrap(), Process::connect(&store, 2).await.unwrap());
    let name = name("tls");
    let epoch = first.open(&name, 1).await.unwrap();
    second.open(&name, 1).await.unwrap();
    assert!(is_granted(&first.acquire(&name, 1, epoch).await.unwrap()));
    assert!(matches!(second.acquire(&name, 1, epoch).await, Ok(Outcome::Queued { .. })));
    first.release(&name, 1).await.unwrap();
    second.ears.wait(1);
    assert_eq!(second.ears.granted(), [1]);
    server.call(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    second.ears.wait(2);
    assert_eq!((first.ears.wait(1).len(), second.ears.ends()), (1, 1));
}

async fn others_are_not_trusted() {
    install();
    let server = require!(Server::builder().tls().start());
    let other = require!(Server::builder().tls().start());
    let pem = fs::read(other.authority()).unwrap();
    let stores = [
        RedisStore::builder(&server.url()).certificates(&pem).build().unwrap(),
        // Those of the system.
        RedisStore::new(&server.url()).unwrap(),
    ];
    for store in stores {
        assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::Unreachable), "{store:?}");
    }
}
