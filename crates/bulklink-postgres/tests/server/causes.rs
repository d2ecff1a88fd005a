//! Why a server cannot be used is seen everywhere.

use std::time::Duration;

use bulklink_fleet::StoreErrorKind::{self, Login, Rights, Unreachable};
use bulklink_postgres::{Part, PostgresStore};
use bulklink_servers::{Postgres, User, require};
use bulklink_stores::causes::are_seen_everywhere;
use bulklink_stores::within;
use bulklink_tokio::Tokio;

fn are_seen(store: PostgresStore, kind: StoreErrorKind, texts: &[&str]) {
    // The log is that of a thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(within(Duration::from_secs(60), are_seen_everywhere(Tokio, store, kind, texts)));
}

fn user() -> User {
    User { name: "service".into(), password: "a-password-of-tests".into(), rules: String::new() }
}

#[test]
fn a_wrong_password() {
    let server = require!(Postgres::builder().user(user()).start());
    let url = server.url_of(&User { password: "another".into(), ..user() });
    let text = "FATAL: password authentication failed for user \"service\"";
    let refusal = "the store refuses the user or the password: 28P01";
    are_seen(PostgresStore::new(&url).unwrap(), Login, &[refusal, text]);
}

#[test]
fn a_refused_connection() {
    let server = require!(Postgres::builder().tcp().start());
    let url = format!("postgresql://service@127.0.0.1:{}/app", server.port());
    drop(server);
    let texts = ["the store is unreachable", "Connection refused (os error 111)"];
    are_seen(PostgresStore::new(&url).unwrap(), Unreachable, &texts);
}

#[test]
fn a_missing_right() {
    let server = require!(Postgres::builder().user(user()).start());
    server.sql(&Part::Fleet.statements());
    let text = "ERROR: permission denied for schema bulklink";
    let refusal = "the store wants a right that the user lacks: 42501";
    are_seen(PostgresStore::new(&server.url_of(&user())).unwrap(), Rights, &[refusal, text]);
}
