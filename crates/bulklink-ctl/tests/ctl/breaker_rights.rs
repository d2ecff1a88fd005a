//! The commands on circuits: the least rights, TLS, and no credentials in any message.

use std::fs;

use bulklink_servers::{Postgres, Server, User, require};

use crate::world::{Run, breaker, breaker_command};

const SECRET: &str = "hunter2";

fn user(rules: &str) -> User {
    User { name: "operator".into(), password: SECRET.into(), rules: rules.into() }
}

/// Runs it with variables instead of `--url`.
fn with(words: &[&str], variables: &[(&str, &str)]) -> Run {
    let run: Run = breaker_command(words).envs(variables.iter().copied()).output().unwrap().into();
    assert!(!run.err.contains(SECRET) && !run.out.contains(SECRET), "{run:?}");
    run
}

#[test]
fn a_role_with_the_grants_shows_and_forces_but_sets_nothing_up() {
    let user = user("");
    let server = require!(Postgres::builder().user(user.clone()).start());
    let url = server.url_of(&user);
    breaker(&server.url(), &["setup"]).text();
    let run = breaker(&url, &["check"]);
    assert!(run.code == 3 && run.out.contains("missing: the right USAGE on the schema bulklink\n"), "{run:?}");
    let (code, error) = breaker(&url, &["show"]).failure();
    assert!(code == 5 && error.contains("42501, a right is missing"), "{error}");
    let text = breaker(&server.url(), &["setup", "--role", "operator"]).text();
    assert!(text.ends_with(": tables for breaker; rights for operator\n"), "{text}");
    assert!(breaker(&url, &["check"]).text().ends_with(": complete\n"));
    assert!(breaker(&url, &["force", "open", "payments"]).text().starts_with("payments: open by hand; "));
    assert!(breaker(&url, &["show"]).text().contains("payments"));
    let (code, error) = breaker(&url, &["setup"]).failure();
    assert!(code == 5 && error.contains("42501"), "{error}");
    let (code, error) = breaker(&server.url(), &["setup", "--role", "missing"]).failure();
    assert!(code == 5 && error.ends_with("42704, there is no such role"), "{error}");
}

#[test]
fn a_user_of_redis_needs_the_documented_rights() {
    let page = include_str!("../../src/main.rs");
    let lines =
        page.lines().skip_while(|line| *line != "//! # Circuits").skip_while(|line| !line.starts_with("//! -@all"));
    let commands = lines.take(2).map(|line| line.trim_start_matches("//!").trim_start()).collect::<Vec<_>>().join(" ");
    let user = user(&format!("resetkeys resetchannels ~bl:{{test:* &bl:{{test:* {commands}"));
    let server = require!(Server::builder().acl(user.clone()).start());
    let url = server.url_of(&user);
    assert!(breaker(&url, &["check"]).text().ends_with(": complete\n"));
    assert!(breaker(&url, &["force", "open", "payments"]).text().starts_with("payments: open by hand; "));
    assert!(breaker(&url, &["show"]).text().contains("payments"));
    assert!(breaker(&url, &["force", "closed", "payments"]).text().starts_with("payments: closed; "));
    let (code, error) = breaker(&url, &["force", "open", "payments", "--namespace", "other"]).failure();
    assert_eq!(code, 5, "{error}");
}

#[test]
fn a_wrong_password_is_refused_and_not_shown() {
    let user = user("");
    let server = require!(Postgres::builder().tcp().user(user.clone()).start());
    breaker(&server.url(), &["setup", "--role", "operator"]).text();
    let url = format!("postgresql://operator@127.0.0.1:{}/tests", server.port());
    let database = server.url().rsplit_once('/').unwrap().1.to_owned();
    let url = url.replace("/tests", &format!("/{database}"));
    let good = [("BULKLINK_POSTGRES_URL", &*url), ("BULKLINK_POSTGRES_PASSWORD", SECRET)];
    assert_eq!(with(&["show"], &good).text(), "no circuits\n");
    let file = server.folder().join("password-file");
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    let wrong = [("BULKLINK_POSTGRES_URL", &*url), ("BULKLINK_POSTGRES_PASSWORD", "hunter2-wrong")];
    let words = ["show", "--password-file", file.to_str().unwrap()];
    assert_eq!(with(&words, &wrong).text(), "no circuits\n");
    for (words, code) in [(&["show"][..], 5), (&["force", "open", "a"], 5), (&["setup"], 5)] {
        let (found, error) = with(words, &wrong).failure();
        assert_eq!(found, code, "{error}");
        assert!(error.ends_with("28P01, the user or the password is wrong"), "{error}");
    }
    let run = with(&["check"], &wrong);
    assert!(run.code == 2 && run.out.ends_with(": undetermined: the store refused the command: 28P01\n"), "{run:?}");
}

#[test]
fn a_malformed_url_shows_no_password() {
    let postgres = "the URL must begin with postgresql:// or postgres://, or be key=value pairs; it must name a host, \
                    and have @ and ? in a password as %40 and %3F";
    let neither = "the URL is one of neither Redis nor PostgreSQL";
    for (url, message) in [
        ("postgresql://operator:hunter2@db:x/app", postgres),
        ("postgresql://operator:a@hunter2@db/app", postgres),
        ("postgres://operator:a@b/hunter2@db/app", postgres),
        ("postgresql://db/app?password=a@hunter2", postgres),
        ("postgresql://operator:hunter2@", postgres),
        ("postgresql://operator:hunter2@db/app?sslmode=hunter2", postgres),
        ("host=db password=hunter2", neither),
        ("mysql://operator:hunter2@db", neither),
        ("redis://operator:hunter2@db:x", neither),
        ("hunter2", neither),
    ] {
        for words in [&["show"][..], &["check"], &["force", "open", "a"], &["setup"], &["setup", "--dry-run"]] {
            let words = [words, &["--url", url]].concat();
            assert_eq!(with(&words, &[]).failure(), (2, message.to_owned()), "{words:?}");
        }
        if message == postgres {
            assert_eq!(with(&["show"], &[("BULKLINK_POSTGRES_URL", url)]).failure(), (2, message.to_owned()), "{url}");
        }
    }
    let nowhere = "postgresql://operator:hunter2@127.0.0.1:1/app";
    for (words, more) in
        [(&["show"][..], ""), (&["setup"], ""), (&["force", "open", "a"], "; the circuit may have changed")]
    {
        let unreachable = format!("127.0.0.1:1: the store is unreachable{more}");
        assert_eq!(with(words, &[("BULKLINK_POSTGRES_URL", nowhere)]).failure(), (1, unreachable), "{words:?}");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let url = "postgresql://127.0.0.1:1/db";
    for (words, message) in [
        (&["force", "ajar", "a"][..], "invalid value 'ajar' for '<STATE>' [possible values: open, closed]"),
        (&["force", "open"], "the following required arguments were not provided: <NAME>"),
        (
            &["force", "open", "a", "--expected", "x"],
            "invalid value 'x' for '--expected <GENERATION>': invalid digit found in string",
        ),
        (&["force", "open", " "], "the circuit: the name is empty"),
        (&["show", "postgresql://:hunter2@db", "b"], "unexpected argument 'b' found"),
        (&["setup", "--role", ""], "invalid value '' for '--role <NAME>': a role has a name"),
        (&["setup", "--part", "x"], "invalid value 'x' for '--part <PART>' [possible values: breaker, fleet]"),
        (
            &["show", "--namespace", "a b"],
            "the namespace: a namespace has only A-Z, a-z, 0-9, '.', '_' and '-', got 0x20",
        ),
        (
            &[],
            "'bulklink-ctl breaker' requires a subcommand but one was not provided \
             [subcommands: setup, check, show, force, help]",
        ),
    ] {
        let words = [words, &["--url", url]].concat();
        assert_eq!(with(&words, &[]).failure(), (2, message.to_owned()), "{words:?}");
    }
    let both = [("BULKLINK_POSTGRES_URL", url), ("BULKLINK_REDIS_URL", "redis://127.0.0.1:1")];
    let ambiguous = "BULKLINK_REDIS_URL and BULKLINK_POSTGRES_URL are both set: --url says which server";
    assert_eq!(with(&["show"], &both).failure(), (2, ambiguous.to_owned()));
}

#[test]
fn postgresql_is_reached_over_tls_with_its_authority_only() {
    let server = require!(Postgres::builder().tls().start());
    let (url, authority) = (server.url(), server.authority());
    let ca = ["--ca", authority.to_str().unwrap()];
    breaker(&url, &[&["setup"], &ca[..]].concat()).text();
    assert_eq!(breaker(&url, &[&["show"], &ca[..]].concat()).text(), "no circuits\n");
    assert_eq!(breaker(&url, &["show"]).failure().0, 1);
}
