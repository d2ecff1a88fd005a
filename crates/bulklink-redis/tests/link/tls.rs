//! TLS, with the right certificates and with others.

use std::fs;
use std::sync::Once;

use bulklink_redis::{RedisStore, StoreError};
use bulklink_servers::{Server, User, require};

use crate::world::{Process, Told, name, on_both};

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
    assert_eq!((first.join(&name, 10).await, second.join(&name, 4).await), (Ok(10), Ok(0)));
    first.state(&name, 6, 6).await.unwrap();
    assert_eq!(second.ears.granted().units, 4);
    server.call(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    for process in [first, second] {
        process.ears.wait(|told| *told == Told::Ended);
    }
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
        assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::TLS), "{store:?}");
    }
}
