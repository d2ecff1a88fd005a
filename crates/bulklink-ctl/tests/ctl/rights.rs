//! The rights that commands on shares need, and TLS.

use bulklink_postgres::PostgresStore;
use bulklink_redis::RedisStore;
use bulklink_servers::{Postgres, Server, User, require};

use crate::world::{Process, ctl, documented, name, pair, share};

fn user(rules: &str) -> User {
    User { name: "operator".into(), password: "a-password-of-tests".into(), rules: rules.into() }
}

fn on_redis(server: &Server) -> Process<bulklink_redis::RedisLink> {
    let process = Process::on(&RedisStore::new(&server.url()).unwrap(), 1);
    process.state(&name("payments"), 3, 0, 1);
    process
}

#[test]
fn the_documented_rights_are_enough_to_read_and_no_more_than_that() {
    let user = user(&format!("resetkeys resetchannels ~bl:{{test:* {}", documented(0)));
    let server = require!(Server::builder().acl(user.clone()).start());
    let _process = on_redis(&server);
    let url = server.url_of(&user);
    for words in [&["list"][..], &["show", "payments"], &["list", "--all-namespaces"]] {
        assert!(share(&url, words).text().contains("payments"), "{words:?}");
    }
    for words in [&["resize", "payments", "4"][..], &["show", "a", "--namespace", "other"]] {
        let (code, error) = share(&url, words).failure();
        assert!(code == 5 && error.ends_with("a right that the user lacks: NOPERM"), "{words:?}: {error}");
    }
    assert!(share(&server.url(), &["list"]).text().contains("payments      3 "));
}

#[test]
fn the_rights_of_a_service_are_enough_to_show_and_to_resize() {
    let service = User::service("test");
    let server = require!(Server::builder().acl(service.clone()).start());
    let _process = on_redis(&server);
    let url = server.url_of(&service);
    assert_eq!(share(&url, &["resize", "payments", "4"]).text(), "payments: limit 4, was 3; version 2\n");
    assert!(share(&url, &["show", "payments"]).text().contains("limit      4, version 2\n"));
    let (code, error) = share(&url, &["list"]).failure();
    assert!(code == 5 && error.ends_with("a right that the user lacks: NOPERM"), "{error}");
    let listing = User { rules: format!("{} +scan +cluster|slots", service.rules), ..service };
    let server = require!(Server::builder().acl(listing.clone()).start());
    let _process = on_redis(&server);
    assert!(share(&server.url_of(&listing), &["list"]).text().contains("payments"));
}

#[test]
fn a_role_of_postgresql_with_the_grants_lists_shows_and_resizes() {
    let user = user("");
    let server = require!(Postgres::builder().user(user.clone()).start());
    let url = server.url_of(&user);
    for (meaning, words) in [
        ("42P01, tables are missing: `bulklink-ctl setup` creates them", &[][..]),
        ("42501, an administrator gives it by `bulklink-ctl setup --grant`", &["setup", "--part", "fleet"]),
    ] {
        if !words.is_empty() {
            ctl(&server.url(), words).text();
        }
        for words in [&["list"][..], &["show", "payments"], &["resize", "payments", "4"]] {
            let (code, error) = share(&url, words).failure();
            assert!(code == 5 && error.ends_with(meaning), "{words:?}: {error}");
        }
    }
    ctl(&server.url(), &["setup", "--part", "fleet", "--grant", "operator"]).text();
    let _processes = pair(&PostgresStore::new(&url).unwrap());
    assert!(share(&url, &["list"]).text().contains("payments"));
    assert!(share(&url, &["resize", "payments", "4"]).text().starts_with("payments: limit 4, was 10;"));
    assert!(share(&url, &["show", "payments"]).text().contains("limit      4, version 2\n"));

    let standby = require!(Postgres::builder().standby_of(&server).start());
    let (code, error) = share(&standby.url(), &["show", "payments"]).failure();
    assert!(code == 5 && error.ends_with("25006, the server is a standby, which cannot be written to"), "{error}");
}

#[test]
fn a_server_with_tls_is_trusted_by_its_authority_only() {
    let server = require!(Server::builder().tls().start());
    let url = server.url();
    let authority = server.authority();
    assert_eq!(share(&url, &["list", "--ca", authority.to_str().unwrap()]).text(), "no shares\n");
    for words in [&["list"][..], &["list", "--ca", server.folder().join("server.pem").to_str().unwrap()]] {
        let (code, error) = share(&url, words).failure();
        assert_eq!(code, 1, "{error}");
        assert!(error.starts_with("127.0.0.1:"), "{error}");
    }
}
