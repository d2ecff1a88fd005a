//! Labels and processes' texts are data of users: they never control a terminal.

use bulklink_servers::{Server, require};

use crate::world::{Process, ctl, name};

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
    let process = Process::new(&url, 1).saying("p\x1b[31m\u{9b}1m\u{202e}");
    for (label, _) in LABELS {
        let epoch = process.open(&name(label), 3);
        assert!(process.acquire(&name(label), epoch, 1, 1));
    }
    let list = ctl(&url, &["list"]).text();
    assert_harmless(&list);
    let objects = ctl(&url, &["list", "--json"]).text();
    assert_harmless(&objects);
    let objects: serde_json::Value = serde_json::from_str(&objects).unwrap();
    let labels: Vec<_> = objects["bulkheads"].as_array().unwrap().iter().map(|row| &row["label"]).collect();
    for (label, shown) in LABELS {
        assert!(list.lines().any(|line| line.starts_with(&format!("{shown} "))), "{shown}: {list}");
        assert!(labels.contains(&&serde_json::json!(label)), "{label:?}");
        // A process cannot be given an argument with a zero.
        if !label.contains('\0') {
            let show = ctl(&url, &["show", label]).text();
            assert_harmless(&show);
            assert!(show.starts_with(&format!("{shown} in test\n")), "{show}");
            assert!(show.contains(r"  p\u{1b}[31m\u{9b}1m\u{202e}"), "{show}");
            assert_harmless(&ctl(&url, &["show", label, "--json"]).text());
            assert!(ctl(&url, &["resize", label, "4"]).text().starts_with(&format!("{shown}: limit 4, ")));
            assert!(ctl(&url, &["reap", label]).text().starts_with(&format!("{shown}: 0 units freed")));
        }
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
        let (code, error) = ctl(&server.url(), words).failure();
        assert!((1..=3).contains(&code), "{words:?}");
        assert_harmless(&error);
    }
}
