//! The state as texts, which servers keep.

use bulklink_fleet::share::{Allocator, Statement};
use bulklink_fleet::{Epoch, ProcessId, RunId};
use fastrand::Rng;

use crate::{Server, statement};

/// A server after random statements.
fn server(seed: u64) -> Server {
    let (mut random, mut server) = (Rng::with_seed(seed), Server::new());
    for _ in 0..random.u32(1..9) {
        (server.now, server.seq) = (server.now + random.u64(0..40), server.seq + 1);
        let run = [None, Some(RunId::from(1)), Some(RunId::from(u64::MAX))][random.usize(..3)];
        let epoch = random.bool().then_some(Epoch::from(5));
        let (keep, need, weight) = (random.u32(0..5), random.u32(0..9), random.u32(0..4));
        let own = Statement { seq: server.seq, run, epoch, keep, need, weight, ..statement(random.u128(0..4)) };
        server.sync(own).unwrap();
    }
    server
}

#[test]
fn a_state_is_read_from_its_texts() {
    assert_eq!(Allocator::default().texts(), None);
    for seed in 0..300 {
        let allocator = server(seed).allocator;
        assert_eq!(Allocator::of_texts(&allocator.texts().unwrap()), Some(allocator));
    }
}

/// A server keeps beside the rows the numbers that their processes get in replies.
#[test]
fn texts_have_the_sums_of_the_rows() {
    for seed in 0..300 {
        let mut server = server(seed);
        let reply = server.state(1, 0, 3, 0);
        let texts = server.allocator.texts().unwrap();
        let sums = [server.granted(), reply.processes, reply.weights].map(|sum| sum.to_string());
        assert_eq!(["granted", "living", "weights"].map(|name| texts.settings[name].clone()), sums);
    }
}

/// Each value that is read, alone.
#[test]
fn malformed_texts_are_no_state() {
    let texts = server(1).allocator.texts().unwrap();
    let is_read = |name: &str| !["granted", "living", "weights"].contains(&name);
    for name in texts.settings.keys().filter(|name| is_read(name)) {
        let mut texts = texts.clone();
        for text in ["", "x", "-1", "9007199254740992"] {
            texts.settings.insert(name.clone(), text.into());
            let is_text = name == "run" && text == "9007199254740992";
            assert_eq!(Allocator::of_texts(&texts).is_some(), is_text, "{name} {text}");
        }
        texts.settings.remove(name);
        assert_eq!(Allocator::of_texts(&texts), None, "{name}");
    }
    let rows = [
        ("9007199254740991 2 3 4 5 6 7 8 9 10 11", true),
        ("9007199254740992 2 3 4 5 6 7 8 9 10 11", false),
        ("1 2 4294967295 4 5 6 7 8 9 10 11", true),
        ("1 2 4294967296 4 5 6 7 8 9 10 11", false),
        ("1 2 3 4 5 6 7 8 9 10", false),
        ("1 2 3 4 5 6 7 8 9 10 11 12", false),
        ("", false),
    ];
    for (row, is_row) in rows {
        let mut texts = texts.clone();
        texts.rows.insert(ProcessId::from(9).to_string(), row.into());
        assert_eq!(Allocator::of_texts(&texts).is_some(), is_row, "{row}");
        texts.rows.insert("x".into(), row.into());
        assert_eq!(Allocator::of_texts(&texts), None, "the name of a process is malformed");
    }
}
