//! How it fails: the exit code, one line, and no credentials.

use std::fs;

use bulklink_servers::{Server, User, require};

use crate::world::{Process, Run, command, ctl, name};

const SECRET: &str = "hunter2";

fn user() -> User {
    User { name: "operator".into(), password: SECRET.into(), rules: "~* &* +@all".into() }
}

/// Runs it with variables.
fn with(url: &str, words: &[&str], variables: &[(&str, &str)]) -> Run {
    let run: Run = command(url, words).envs(variables.iter().copied()).output().unwrap().into();
    assert!(!run.err.contains(SECRET) && !run.out.contains(SECRET), "{run:?}");
    run
}

#[test]
fn a_server_that_is_out_of_reach_is_named_without_credentials() {
    let nowhere = format!("redis://operator:{SECRET}@127.0.0.1:1");
    for words in [
        &["list"][..],
        &["list", "--all-namespaces"],
        &["show", "a"],
        &["resize", "a", "1"],
        &["reap", "a"],
        &["watch"],
        &["watch", "a", "--json"],
    ] {
        let unreachable = "127.0.0.1:1: the store is unreachable".to_owned();
        assert_eq!(with(&nowhere, words, &[]).failure(), (1, unreachable), "{words:?}");
    }
    let socket = format!("unix:///nowhere/socket?user=operator&pass={SECRET}");
    assert_eq!(with(&socket, &["list"], &[]).failure(), (1, "/nowhere/socket: the store is unreachable".to_owned()));
}

#[test]
fn a_server_that_does_not_answer_is_left_after_the_timeout() {
    let mut server = require!(Server::start());
    server.stop_process();
    let run = with(&server.url(), &["list", "--timeout", "200ms"], &[]);
    let (code, error) = run.failure();
    assert_eq!(code, 1);
    assert!(error.ends_with(": the store did not answer in time"), "{error}");
    server.continue_process();
}

#[test]
fn what_is_no_server_is_not_understood() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::Write;
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    assert_eq!(with(&url, &["list"], &[]).failure().0, 1);
}

#[test]
fn a_password_comes_from_the_environment_or_a_file_and_is_never_shown() {
    let server = require!(Server::builder().tcp().acl(user()).start());
    let url = server.url().replace("redis://", "redis://operator@");
    let file = server.folder().join("password");
    let file = file.to_str().unwrap();
    let good = [("BULKLINK_REDIS_PASSWORD", SECRET)];
    assert_eq!(with(&url, &["list"], &good).text(), "no bulkheads\n");
    fs::write(file, format!("{SECRET}\r\nmore\n")).unwrap();
    // The file is preferred to the variable, and both to the URL.
    let wrong = [("BULKLINK_REDIS_PASSWORD", "hunter2-wrong")];
    assert_eq!(with(&url, &["list", "--password-file", file], &wrong).text(), "no bulkheads\n");
    let in_url = url.replace("operator@", "operator:hunter2-wrong@");
    assert_eq!(with(&in_url, &["list"], &good).text(), "no bulkheads\n");
    for (url, variables) in [(&url, &wrong[..]), (&in_url, &[])] {
        let (code, error) = with(url, &["list"], variables).failure();
        assert_eq!(code, 5, "{error}");
        assert!(error.ends_with(": the store refused the command: WRONGPASS"), "{error}");
    }
    fs::write(file, "\n").unwrap();
    assert_eq!(with(&url, &["list", "--password-file", file], &good).failure().0, 2);
}

#[test]
fn a_wrong_command_line_or_environment_is_a_usage_error() {
    let url = "redis://127.0.0.1:1";
    let malformed = "the URL must be well-formed, begin with redis://, rediss://, valkey://, valkeys:// or unix://, \
                     and not end with #insecure";
    for (words, message) in [
        (&["list", "--url", "http://:hunter2@host"][..], malformed),
        (&["list", "--url", "hunter2"], malformed),
        (&["list", "--url", "rediss://:hunter2@host#insecure"], malformed),
        (&["list", "redis://:hunter2@host"], "unexpected argument (hidden) found"),
        (&["--password=hunter2", "list"], "unexpected argument '--password' found"),
        (&["list", "--password", "hunter2"], "unexpected argument '--password' found"),
        (&["show", "  "], "the bulkhead: the name is empty"),
        (&["show"], "the following required arguments were not provided: <NAME>"),
        (&["resize", "a", "0"], "invalid value '0' for '<LIMIT>': 0 is not in 1..=1099511627776"),
        (
            &["list", "--namespace", "a b"],
            "the namespace: a namespace has only A-Z, a-z, 0-9, '.', '_' and '-', got 0x20",
        ),
        (&["list", "--namespace", ""], "the namespace: the name is empty"),
        (&["list", "--ca", "/nowhere"], "/nowhere cannot be read: entity not found"),
        (&["list", "--ca", "/dev/null"], "--ca has no certificates, or the URL is not one with TLS"),
        (&["list", "--password-file", "/nowhere"], "/nowhere cannot be read: entity not found"),
        (&["list", "--timeout", "0s"], "invalid value '0s' for '--timeout <TIME>': must be between 1ms and a day"),
    ] {
        assert_eq!(with(url, words, &[]).failure(), (2, message.to_owned()), "{words:?}");
    }
    let missing = "the namespace is missing: --namespace, or BULKLINK_NAMESPACE";
    assert_eq!(with(url, &["list"], &[("BULKLINK_NAMESPACE", "")]).failure(), (2, missing.to_owned()));
}

#[test]
fn help_and_version_are_no_errors() {
    for (word, text) in [("--help", "Exit codes:"), ("--version", "bulklink-ctl 0."), ("help", "Usage:")] {
        assert!(with("redis://127.0.0.1:1", &[word], &[("BULKLINK_REDIS_PASSWORD", SECRET)]).text().contains(text));
    }
}

#[test]
fn a_bulkhead_that_cannot_be_read_does_not_hide_the_others() {
    let server = require!(Server::start());
    let process = Process::new(&server.url(), 1);
    for label in ["a", "z"] {
        process.open(&name(label), 3);
    }
    server.call(&["SET", "bl:{test:string}:M", "x"]);
    server.call(&["HSET", "bl:{test:nonsense}:M", "e", "x"]);
    let run = ctl(&server.url(), &["list"]);
    assert_eq!((run.code, &*run.err), (5, "bulklink-ctl: bulkheads that cannot be read: 2\n"));
    assert_eq!(
        run.out,
        "NAME      LIMIT  IN USE  WAITING  PROCESSES  NOTE\n\
         a             3       0        0          1\n\
         nonsense      -       -        -          -  the store's answer has an unknown form\n\
         string        -       -        -          -  the store refused the command: WRONGTYPE\n\
         z             3       0        0          1\n"
    );
    let run = ctl(&server.url(), &["list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(list["bulkheads"][2]["error"], "the store refused the command: WRONGTYPE");
    assert_eq!(list["bulkheads"][3]["limit"], 3);
    assert_eq!(ctl(&server.url(), &["show", "string"]).failure().0, 5);
    assert_eq!(ctl(&server.url(), &["resize", "nonsense", "3"]).failure().0, 1);
}

#[test]
fn a_change_without_an_answer_may_have_happened() {
    let server = require!(Server::start());
    Process::new(&server.url(), 1).open(&name("payments"), 3);
    // Reading goes on.
    server.call(&["CLIENT", "PAUSE", "60000", "WRITE"]);
    let (code, error) = ctl(&server.url(), &["resize", "payments", "4", "--timeout", "300ms"]).failure();
    assert_eq!(code, 1);
    assert!(error.ends_with(": the store did not answer in time; the limit may have changed"), "{error}");
}
