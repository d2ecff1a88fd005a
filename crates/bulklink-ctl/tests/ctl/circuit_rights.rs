//! The commands on circuits: the least rights, TLS, and no credentials in any message. All of it is
//! the same for `setup` and for shares on PostgreSQL.

use std::fs;

use bulklink_servers::{Postgres, Server, User, require};

use crate::world::{Run, circuit, command, ctl, documented, share};

const SECRET: &str = "hunter2";

fn user(rules: &str) -> User {
    User { name: "operator".into(), password: SECRET.into(), rules: rules.into() }
}

/// Runs it with variables instead of `--url`.
fn with(words: &[&str], variables: &[(&str, &str)]) -> Run {
    let run: Run = command(words).envs(variables.iter().copied()).output().unwrap().into();
    assert!(!run.err.contains(SECRET) && !run.out.contains(SECRET), "{run:?}");
    run
}

#[test]
fn a_role_with_the_grants_shows_and_forces_but_sets_nothing_up() {
    let user = user("");
    let server = require!(Postgres::builder().user(user.clone()).start());
    let url = server.url_of(&user);
    ctl(&server.url(), &["setup"]).text();
    let run = circuit(&url, &["check"]);
    assert!(run.code == 3 && run.out.contains("missing: the right USAGE on the schema bulklink\n"), "{run:?}");
    let (code, error) = circuit(&url, &["show"]).failure();
    assert!(code == 5 && error.contains("42501, an administrator gives it"), "{error}");
    let text = ctl(&server.url(), &["setup", "--grant", "operator"]).text();
    assert!(text.ends_with(": tables for fleet and breaker; rights for operator\n"), "{text}");
    assert!(circuit(&url, &["check"]).text().ends_with(": complete\n"));
    assert!(circuit(&url, &["force", "open", "payments"]).text().starts_with("payments: open by hand; "));
    assert!(circuit(&url, &["show"]).text().contains("payments"));
    let (code, error) = ctl(&url, &["setup"]).failure();
    assert!(code == 5 && error.contains("42501"), "{error}");
    let (code, error) = ctl(&server.url(), &["setup", "--grant", "missing"]).failure();
    assert!(code == 5 && error.ends_with("42704, there is no such role"), "{error}");
}

#[test]
fn a_user_of_redis_needs_the_documented_rights() {
    let user = user(&format!("resetkeys resetchannels ~bl:{{test:* &bl:{{test:* {}", documented(1)));
    let server = require!(Server::builder().acl(user.clone()).start());
    let url = server.url_of(&user);
    assert!(circuit(&url, &["check"]).text().ends_with(": complete\n"));
    assert!(circuit(&url, &["force", "open", "payments"]).text().starts_with("payments: open by hand; "));
    assert!(circuit(&url, &["show"]).text().contains("payments"));
    assert!(circuit(&url, &["force", "closed", "payments"]).text().starts_with("payments: closed; "));
    let (code, error) = circuit(&url, &["force", "open", "payments", "--namespace", "other"]).failure();
    assert_eq!(code, 5, "{error}");
}

#[test]
fn a_wrong_password_is_refused_and_not_shown() {
    let user = user("");
    let server = require!(Postgres::builder().tcp().user(user.clone()).start());
    ctl(&server.url(), &["setup", "--grant", "operator"]).text();
    let url = format!("postgresql://operator@127.0.0.1:{}/tests", server.port());
    let database = server.url().rsplit_once('/').unwrap().1.to_owned();
    let url = url.replace("/tests", &format!("/{database}"));
    let good = [("BULKLINK_POSTGRES_URL", &*url), ("BULKLINK_POSTGRES_PASSWORD", SECRET)];
    assert_eq!(with(&["circuit", "show"], &good).text(), "no circuits\n");
    let file = server.folder().join("password-file");
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    let wrong = [("BULKLINK_POSTGRES_URL", &*url), ("BULKLINK_POSTGRES_PASSWORD", "hunter2-wrong")];
    let words = ["circuit", "show", "--password-file", file.to_str().unwrap()];
    assert_eq!(with(&words, &wrong).text(), "no circuits\n");
    for words in [&["circuit", "show"][..], &["circuit", "force", "open", "a"], &["setup"], &["share", "list"]] {
        let (code, error) = with(words, &wrong).failure();
        assert_eq!(code, 5, "{error}");
        assert!(error.ends_with("the store refuses the user or the password: 28P01"), "{error}");
    }
    let run = with(&["circuit", "check"], &wrong);
    let text = ": undetermined: the store refuses the user or the password: 28P01\n";
    assert!(run.code == 2 && run.out.ends_with(text), "{run:?}");
}

#[test]
fn a_malformed_url_shows_no_password() {
    let postgres = "the URL must begin with postgresql:// or postgres://, or be key=value pairs; it must name a host, \
                    and have @ and ? in a password as %40 and %3F";
    let redis = "the URL must be well-formed, begin with redis://, rediss://, valkey://, valkeys:// or unix://, and \
                 not end with #insecure";
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
        ("redis://operator:hunter2@db:x", redis),
        ("hunter2", neither),
    ] {
        for words in [
            &["circuit", "show"][..],
            &["circuit", "check"],
            &["circuit", "force", "open", "a"],
            &["setup"],
            &["setup", "--dry-run"],
            &["share", "list"],
        ] {
            let words = [words, &["--url", url]].concat();
            assert_eq!(with(&words, &[]).failure(), (2, message.to_owned()), "{words:?}");
        }
        if message == postgres {
            assert_eq!(
                with(&["circuit", "show"], &[("BULKLINK_POSTGRES_URL", url)]).failure(),
                (2, message.to_owned()),
                "{url}"
            );
        }
    }
    let nowhere = "postgresql://operator:hunter2@127.0.0.1:1/app";
    for (words, more) in [
        (&["circuit", "show"][..], ""),
        (&["setup"], ""),
        (&["circuit", "force", "open", "a"], "; the circuit may have changed"),
        (&["share", "list"], ""),
        (&["share", "resize", "a", "3"], ""),
    ] {
        let unreachable = format!("127.0.0.1:1: the store is unreachable{more}");
        assert_eq!(with(words, &[("BULKLINK_POSTGRES_URL", nowhere)]).failure(), (1, unreachable), "{words:?}");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let url = "postgresql://127.0.0.1:1/db";
    for (words, message) in [
        (&["circuit", "force", "ajar", "a"][..], "invalid value 'ajar' for '<STATE>' [possible values: open, closed]"),
        (&["circuit", "force", "open"], "the following required arguments were not provided: <NAME>"),
        (
            &["circuit", "force", "open", "a", "--expect", "x"],
            "invalid value 'x' for '--expect <GENERATION>': invalid digit found in string",
        ),
        (&["circuit", "force", "open", " "], "the circuit: the name is empty"),
        (&["circuit", "show", "postgresql://:hunter2@db", "b"], "unexpected argument 'b' found"),
        (&["setup", "--grant", ""], "invalid value '' for '--grant <ROLE>': a role has a name"),
        (&["setup", "--part", "x"], "invalid value 'x' for '--part <PART>' [possible values: fleet, breaker]"),
        (&["breaker", "show"], "unrecognized subcommand 'breaker'"),
        (
            &["circuit", "show", "--namespace", "a b"],
            "the namespace: a namespace has only A-Z, a-z, 0-9, '.', '_' and '-', got 0x20",
        ),
        (
            &["circuit"],
            "'bulklink-ctl circuit' requires a subcommand but one was not provided \
             [subcommands: check, show, force, help]",
        ),
    ] {
        let words = [words, &["--url", url]].concat();
        assert_eq!(with(&words, &[]).failure(), (2, message.to_owned()), "{words:?}");
    }
    let both = [("BULKLINK_POSTGRES_URL", url), ("BULKLINK_REDIS_URL", "redis://127.0.0.1:1")];
    let ambiguous = "BULKLINK_REDIS_URL and BULKLINK_POSTGRES_URL are both set: --url says which server";
    assert_eq!(with(&["share", "list"], &both).failure(), (2, ambiguous.to_owned()));
}

#[test]
fn postgresql_is_reached_over_tls_with_its_authority_only() {
    let server = require!(Postgres::builder().tls().start());
    let (url, authority) = (server.url(), server.authority());
    let ca = ["--ca", authority.to_str().unwrap()];
    ctl(&url, &[&["setup"], &ca[..]].concat()).text();
    assert_eq!(share(&url, &[&["list"], &ca[..]].concat()).text(), "no shares\n");
    assert_eq!(circuit(&url, &[&["show"], &ca[..]].concat()).text(), "no circuits\n");
    assert_eq!(circuit(&url, &["show"]).failure().0, 1);
}
