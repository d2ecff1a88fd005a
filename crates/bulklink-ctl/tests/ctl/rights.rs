//! The rights that the page of the program names, and TLS.

use bulklink_servers::{Server, User, require};

use crate::world::{Process, ctl, name};

/// As on the page, without its line breaks.
fn reading() -> String {
    let page = include_str!("../../src/main.rs");
    let lines: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("//! +")).collect();
    format!("+{}", lines.join(" +"))
}

fn user(commands: &str) -> User {
    let rules = format!("resetkeys resetchannels ~bl:{{test:* -@all {commands}");
    User { name: "operator".into(), password: "a-password-of-tests".into(), rules }
}

#[test]
fn the_documented_rights_are_enough_and_no_more_than_that() {
    let server = require!(Server::builder().acl(user(&reading())).start());
    Process::new(&server.url(), 1).open(&name("payments"), 3);
    let url = server.url_of(&user(""));
    for words in [&["list"][..], &["show", "payments"], &["list", "--all-namespaces"]] {
        assert!(ctl(&url, words).text().contains("payments"), "{words:?}");
    }
    for words in [&["reap", "payments"][..], &["resize", "payments", "4"], &["show", "a", "--namespace", "other"]] {
        let (code, error) = ctl(&url, words).failure();
        // Redis 7.0 has no code of its own for a command that a script must not run.
        let is_refused = error.ends_with("refused the command: NOPERM") || error.ends_with("refused the command: ERR");
        assert!(code == 5 && is_refused, "{words:?}: {error}");
    }
    assert!(ctl(&server.url(), &["list"]).text().contains("payments      3 "));
}

#[test]
fn with_the_rights_of_a_service_too_it_resizes_and_reaps() {
    let service = User::service("test");
    let both = User { rules: format!("{} {}", service.rules, reading()), ..service };
    let server = require!(Server::builder().acl(both.clone()).start());
    Process::new(&server.url(), 1).open(&name("payments"), 3);
    let url = server.url_of(&both);
    assert!(ctl(&url, &["resize", "payments", "4"]).text().starts_with("payments: limit 4, was 3; version 2;"));
    assert!(ctl(&url, &["reap", "payments"]).text().starts_with("payments: 0 units freed"));
}

#[test]
fn a_server_with_tls_is_trusted_by_its_authority_only() {
    let server = require!(Server::builder().tls().start());
    let url = server.url();
    let authority = server.authority();
    assert_eq!(ctl(&url, &["list", "--ca", authority.to_str().unwrap()]).text(), "no bulkheads\n");
    for words in [&["list"][..], &["list", "--ca", server.folder().join("server.pem").to_str().unwrap()]] {
        let (code, error) = ctl(&url, words).failure();
        assert_eq!(code, 1, "{error}");
        assert!(error.starts_with("127.0.0.1:"), "{error}");
    }
}
