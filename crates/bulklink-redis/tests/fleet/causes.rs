//! Why a server cannot be used is seen everywhere.

use std::time::Duration;

use bulklink_fleet::StoreErrorKind::{self, Login, Rights, Unreachable};
use bulklink_redis::RedisStore;
use bulklink_servers::{Server, User, require};
use bulklink_stores::causes::are_seen_everywhere;
use bulklink_tokio::Tokio;

use crate::world::within;

/// The log is that of a thread.
fn are_seen(url: &str, kind: StoreErrorKind, texts: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = RedisStore::new(url).unwrap();
    runtime.block_on(within(Duration::from_secs(60), are_seen_everywhere(Tokio, store, kind, texts)));
}

#[test]
fn a_wrong_password() {
    let user = User::service("test");
    let server = require!(Server::builder().acl(user.clone()).start());
    let url = server.url_of(&User { password: "another".into(), ..user });
    let text = "invalid username-password pair or user is disabled.";
    are_seen(&url, Login, &["the store refuses the user or the password: WRONGPASS", text]);
}

#[test]
fn no_password() {
    let server = require!(Server::start());
    server.call(&["CONFIG", "SET", "requirepass", "a-password-of-tests"]);
    let text = "HELLO must be called with the client already authenticated";
    are_seen(&server.url(), Login, &["the store refuses the user or the password: NOAUTH", text]);
}

#[test]
fn a_refused_connection() {
    let server = require!(Server::builder().tcp().start());
    let url = format!("redis://127.0.0.1:{}", server.port());
    drop(server);
    are_seen(&url, Unreachable, &["the store is unreachable", "Connection refused (os error 111)"]);
}

#[test]
fn a_missing_right() {
    let user = User::service("test");
    let user = User { rules: format!("{} -evalsha", user.rules), ..user };
    let server = require!(Server::builder().acl(user.clone()).start());
    let text = "has no permissions to run the 'evalsha' command";
    are_seen(&server.url_of(&user), Rights, &["the store wants a right that the user lacks: NOPERM", text]);
}
