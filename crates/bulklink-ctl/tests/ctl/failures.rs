//! How it fails: the exit code, one line, and no credentials.

use std::fs;

use bulklink_postgres::PostgresStore;
use bulklink_redis::RedisStore;
use bulklink_servers::{Postgres, Server, User, require};

use crate::world::{Process, Run, command, name, set_up, share};

const SECRET: &str = "hunter2";

fn user() -> User {
    User { name: "operator".into(), password: SECRET.into(), rules: "~* &* +@all".into() }
}

/// Runs a command on shares with variables.
fn with(url: &str, words: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = command(&[&["share"], words].concat());
    let run: Run = command.env("BULKLINK_REDIS_URL", url).envs(variables.iter().copied()).output().unwrap().into();
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
    assert_eq!(with(&url, &["list"], &good).text(), "no shares\n");
    fs::write(file, format!("{SECRET}\r\nmore\n")).unwrap();
    // The file is preferred to the variable, and both to the URL.
    let wrong = [("BULKLINK_REDIS_PASSWORD", "hunter2-wrong")];
    assert_eq!(with(&url, &["list", "--password-file", file], &wrong).text(), "no shares\n");
    let in_url = url.replace("operator@", "operator:hunter2-wrong@");
    assert_eq!(with(&in_url, &["list"], &good).text(), "no shares\n");
    for (url, variables) in [(&url, &wrong[..]), (&in_url, &[])] {
        let (code, error) = with(url, &["list"], variables).failure();
        assert_eq!(code, 5, "{error}");
        assert!(error.ends_with(": the store refuses the user or the password: WRONGPASS"), "{error}");
    }
    fs::write(file, "\n").unwrap();
    assert_eq!(with(&url, &["list", "--password-file", file], &good).failure().0, 2);
}

#[test]
fn a_wrong_command_line_or_environment_is_a_usage_error() {
    let url = "redis://127.0.0.1:1";
    let neither = "the URL is one of neither Redis nor PostgreSQL";
    let malformed = "the URL must be well-formed, begin with redis://, rediss://, valkey://, valkeys:// or unix://, \
                     and not end with #insecure";
    for (words, message) in [
        (&["list", "--url", "http://:hunter2@host"][..], neither),
        (&["list", "--url", "hunter2"], neither),
        (&["list", "--url", "rediss://:hunter2@host#insecure"], malformed),
        (&["list", "redis://:hunter2@host"], "unexpected argument (hidden) found"),
        (&["--password=hunter2", "list"], "unexpected argument '--password' found"),
        (&["list", "--password", "hunter2"], "unexpected argument '--password' found"),
        (&["show", "  "], "the share: the name is empty"),
        (&["show"], "the following required arguments were not provided: <NAME>"),
        (&["resize", "a", "0"], "invalid value '0' for '<LIMIT>': 0 is not in 1..=4294967295"),
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
        let run: Run = command(&[word]).env("BULKLINK_REDIS_PASSWORD", SECRET).output().unwrap().into();
        assert!(run.text().contains(text));
    }
    assert!(with("redis://127.0.0.1:1", &["--help"], &[]).text().contains("resize"));
}

#[test]
fn a_share_that_cannot_be_read_does_not_hide_the_others() {
    let server = require!(Server::start());
    let process = Process::on(&RedisStore::new(&server.url()).unwrap(), 1);
    for label in ["a", "z"] {
        process.state(&name(label), 3, 0, 1);
    }
    server.call(&["SET", "bl:{test:string}:S", "x"]);
    server.call(&["HSET", "bl:{test:nonsense}:S", "epoch", "x"]);
    server.call(&["SET", "bl:{test:rows}:R", "x"]);
    server.call(&["HSET", "bl:{test:rows}:S", "epoch", "1"]);
    // An answer of an unknown form ends the link.
    server.call(&["EVAL", r"redis.call('HSET', KEYS[1], 'epoch', '\255')", "1", "bl:{test:bytes}:S"]);
    let run = share(&server.url(), &["list"]);
    assert_eq!((run.code, &*run.err), (5, "bulklink-ctl: shares that cannot be read: 4\n"));
    assert_eq!(
        run.out,
        "NAME      LIMIT  GRANTED  PROCESSES  LEVEL  NOTE\n\
         a             3        1          1      -\n\
         bytes         -        -          -      -  the store's answer has an unknown form\n\
         nonsense      -        -          -      -  the store refused the command: MALFORMED, the data cannot be read\n\
         rows          -        -          -      -  the store refused the command: WRONGTYPE\n\
         string        -        -          -      -  the store refused the command: WRONGTYPE\n\
         z             3        1          1      -\n"
    );
    let run = share(&server.url(), &["list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(list["shares"][4]["error"], "the store refused the command: WRONGTYPE");
    assert_eq!(list["shares"][5]["limit"], 3);
    for (words, code) in [
        (&["show", "string"][..], 5),
        (&["resize", "nonsense", "3"], 5),
        (&["watch", "rows"], 5),
        (&["show", "bytes"], 1),
    ] {
        assert_eq!(share(&server.url(), words).failure().0, code, "{words:?}");
    }
}

#[test]
fn a_row_of_postgresql_that_cannot_be_read_does_not_hide_the_others() {
    let server = require!(Postgres::start());
    set_up(&server);
    let process = Process::on(&PostgresStore::new(&server.url()).unwrap(), 1);
    process.state(&name("z"), 3, 0, 1);
    server.sql("INSERT INTO bulklink.fleet VALUES ('test:a', '2\nr \x1b[2J x'), ('no name', 'x')");
    let run = share(&server.url(), &["list"]);
    assert_eq!((run.code, &*run.err), (5, "bulklink-ctl: shares that cannot be read: 1\n"));
    assert_eq!(
        run.out,
        "NAME  LIMIT  GRANTED  PROCESSES  LEVEL  NOTE\n\
         a         -        -          -      -  the store refused the command: MALFORMED, the data cannot be read\n\
         z         3        1          1      -\n"
    );
    let (code, error) = share(&server.url(), &["resize", "a", "3"]).failure();
    assert!(code == 5 && error.ends_with("MALFORMED, the data cannot be read"), "{error}");
}

#[test]
fn a_change_without_an_answer_may_have_happened() {
    let server = require!(Server::start());
    let process = Process::on(&RedisStore::new(&server.url()).unwrap(), 1);
    process.state(&name("payments"), 3, 0, 1);
    // Reading goes on, by a script that the server has: an unknown one could write.
    share(&server.url(), &["show", "payments"]).text();
    server.call(&["CLIENT", "PAUSE", "60000", "WRITE"]);
    let (code, error) = share(&server.url(), &["resize", "payments", "4", "--timeout", "300ms"]).failure();
    assert_eq!(code, 1);
    assert!(error.ends_with(": the store did not answer in time; the limit may have changed"), "{error}");
}
