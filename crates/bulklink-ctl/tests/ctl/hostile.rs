//! Labels and the content of the server are data of users: they never control a terminal.

use bulklink_redis::RedisStore;
use bulklink_servers::{Server, require};

use crate::world::{Process, name, share};

/// Labels, and how they are shown.
const LABELS: [(&str, &str); 8] = [
    ("\x1b[2J\x1b]0;title\x07", r"\u{1b}[2J\u{1b}]0;title\u{7}"),
    ("a\r\nb\tc\0d", r"a\u{d}\u{a}b\u{9}c\u{0}d"),
    ("\u{9b}31mred", r"\u{9b}31mred"),
    ("\u{202e}abc\u{2066}\u{200b}", r"\u{202e}abc\u{2066}\u{200b}"),
    ("card payments: {x} %20 *", "card payments: {x} %20 *"),
    ("Zürich 東京 🚢", "Zürich 東京 🚢"),
    (r"\u{1b}[2J", r"\\u{1b}[2J"),
    ("\u{e0041}tag\u{7f}", r"\u{e0041}tag\u{7f}"),
];

fn assert_harmless(text: &str) {
    let is_harmless = |char: char| char == '\n' || !(char.is_control() || ('\u{200b}'..='\u{206f}').contains(&char));
    assert!(text.chars().all(is_harmless), "{text:?}");
}

#[test]
fn hostile_labels_are_shown_and_used_and_do_no_harm() {
    let server = require!(Server::start());
    let url = server.url();
    let process = Process::on(&RedisStore::new(&url).unwrap(), 1);
    for (label, _) in LABELS {
        process.state(&name(label), 3, 0, 1);
    }
    let list = share(&url, &["list"]).text();
    assert_harmless(&list);
    let objects = share(&url, &["list", "--json"]).text();
    assert_harmless(&objects);
    let objects: serde_json::Value = serde_json::from_str(&objects).unwrap();
    let labels: Vec<_> = objects["shares"].as_array().unwrap().iter().map(|row| &row["label"]).collect();
    for (label, shown) in LABELS {
        assert!(list.lines().any(|line| line.starts_with(&format!("{shown} "))), "{shown}: {list}");
        assert!(labels.contains(&&serde_json::json!(label)), "{label:?}");
        // A process cannot be given an argument with a zero.
        if !label.contains('\0') {
            let show = share(&url, &["show", label]).text();
            assert_harmless(&show);
            assert!(show.starts_with(&format!("{shown} in test\n")), "{show}");
            assert_harmless(&share(&url, &["show", label, "--json"]).text());
            assert!(share(&url, &["resize", label, "4"]).text().starts_with(&format!("{shown}: limit 4, ")));
        }
    }
}

#[test]
fn hostile_data_does_no_harm() {
    let server = require!(Server::start());
    let process = Process::on(&RedisStore::new(&server.url()).unwrap(), 1);
    for label in ["declarer", "process"] {
        process.state(&name(label), 3, 0, 1);
    }
    let hostile = "\x1b[31m\u{9b}1m\u{202e}";
    server.call(&["HSET", "bl:{test:declarer}:S", "declarer", hostile]);
    server.call(&["HSET", "bl:{test:process}:R", hostile, "1 1 1 1 1 1 1 1 1 1"]);
    server.call(&["HSET", &format!("bl:{{test:{hostile}}}:S"), "epoch", "1"]);
    let run = share(&server.url(), &["list"]);
    assert_eq!((run.code, run.out.lines().count(), run.out.matches("MALFORMED").count()), (5, 3, 2), "{run:?}");
    assert_harmless(&run.out);
    for label in ["declarer", "process"] {
        let (code, error) = share(&server.url(), &["show", label]).failure();
        assert!(code == 5 && error.ends_with("MALFORMED, the data cannot be read"), "{error}");
    }
}

#[test]
fn hostile_arguments_do_no_harm() {
    let server = require!(Server::start());
    for words in [
        &["show", "\x1b[2J\nx"][..],
        &["\x1b[2J"],
        &["resize", "a", "\u{9b}2J"],
        &["list", "--namespace", "\x1b[2J"],
        &["list", "--ca", "/\x1b[2J"],
        &["list", "--url", "unix:///\x1b[2J"],
    ] {
        let (code, error) = share(&server.url(), words).failure();
        assert!((1..=3).contains(&code), "{words:?}");
        assert_harmless(&error);
    }
}
