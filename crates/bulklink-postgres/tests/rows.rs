//! The form of rows, without a server: random statements on a row that is encoded and decoded each
//! time and on an allocator, and rows that are none.

use std::time::Duration;

use bulklink_fleet::share::{Allocator, Declaration, Notice, Statement, Terms};
use bulklink_postgres::plumbing::Rows;
use bulklink_postgres::{Name, Namespace, ProcessId};
use fastrand::Rng;
use proptest::prelude::*;

const TERMS: Terms = Terms {
    lease: Duration::from_millis(1),
    claim: Duration::from_micros(400),
    calm: Duration::from_micros(50),
    recovers: true,
};

fn name() -> Name {
    Name::new(&Namespace::new("test").unwrap(), "a b").unwrap()
}

/// A statement of one of four processes, and the key of its link.
fn statement(random: &mut Rng, seq: u64) -> (i64, Statement) {
    let number = random.i64(1..=4);
    let statement = Statement {
        process: ProcessId::from(u128::from(number.unsigned_abs()) << 90),
        seq,
        declaration: Declaration { config: random.u64(1..3), limit: 10, terms: TERMS },
        epoch: None,
        run: None,
        is_young: false,
        longest: TERMS.lease,
        token: 0.into(),
        keep: random.u32(0..5),
        need: random.u32(0..9),
        least: random.u32(0..5),
        spare: random.u32(0..3),
        weight: random.u32(0..3),
    };
    (number, statement)
}

#[test]
fn a_row_does_what_the_allocator_does() {
    let (mut told_to_others, mut told_to_itself) = (0, 0);
    for seed in 0..200 {
        let mut random = Rng::with_seed(seed);
        let mut now = 5_000_000;
        let (mut rows, mut allocator) = (Rows::default(), Allocator::default());
        for seq in 1..150 {
            now += random.u64(0..200);
            let (key, statement) = statement(&mut random, seq);
            let text = rows.text().unwrap_or_default().to_owned();
            let listens =
                |process: ProcessId| process == statement.process || text.contains(&format!("\nc {process} "));
            let listeners = text.lines().filter(|line| line.starts_with("c ")).count();
            let is_new = !text.contains(&format!("\nc {} ", statement.process));
            let (mut own, mut others) = (0, 0);
            let expected = allocator.sync(now.into(), &statement, &mut |notice| {
                if let Notice::Granted(grant) = notice {
                    others += usize::from(listens(grant.process));
                    return listens(grant.process);
                }
                own += 1;
                others += listeners + usize::from(is_new) - 1;
                true
            });
            let (answer, told, sent) = rows.apply(now.into(), key, &name(), &statement).unwrap();
            assert_eq!((&answer, told.len(), sent), (&expected, own, others), "seed {seed}: {statement:?}\n{text}");
            assert_eq!(rows.allocator().as_ref(), Some(&allocator), "seed {seed}: {statement:?}");
            told_to_others += sent;
            told_to_itself += told.len();
        }
    }
    assert!(told_to_others > 100 && told_to_itself > 100, "{told_to_others} {told_to_itself}");
}

/// A row with everything in it.
fn full() -> String {
    let mut rows = Rows::default();
    let mut random = Rng::with_seed(3);
    for seq in 1..30 {
        let (key, statement) = statement(&mut random, seq);
        let _refused = rows.apply((5_000_000 + seq).into(), key, &name(), &statement).unwrap().0;
    }
    rows.text().unwrap().to_owned()
}

/// Runs statements on a text, which must not panic. Returns whether it is a row.
fn survives(text: &str) -> bool {
    let mut rows = Rows::default();
    rows.set(Some(text.to_owned()));
    if rows.allocator().is_none() {
        return false;
    }
    let mut random = Rng::with_seed(1);
    for step in 0..60 {
        let (key, statement) = statement(&mut random, 1_000 + step);
        rows.set(Some(text.to_owned()));
        rows.apply((step * 150).into(), key, &name(), &statement);
        rows.apply(9_000_000.into(), key, &name(), &Statement { seq: 2_000, ..statement });
    }
    true
}

#[test]
fn malformed_rows_are_refused_and_never_panic() {
    let full = full();
    assert!(survives(&full));
    let largest = u64::MAX.to_string();
    let changes = [
        ("2\ns", "3\ns"),
        ("\ns epoch ", "\ns epoch x"),
        ("\ns epoch ", "\ns epoch -"),
        ("\ns epoch ", "\ns apoch "),
        ("\ns live ", &*format!("\ns live {largest}")),
        ("\ns run ", "\ns run x"),
        ("\nr ", "\nr x"),
        ("\nr ", "\nq "),
        ("\nc ", "\nc c "),
        ("\nc ", "\nc\n"),
    ];
    for (from, to) in changes {
        let text = full.replacen(from, to, 1);
        assert_ne!(text, full, "{from:?}");
        assert!(!survives(&text), "{from:?} {to:?}: {text}");
    }
    for line in full.lines().skip(1) {
        assert!(!survives(&format!("{full}{line}\n")), "{line} is there twice");
    }
    for text in ["", "\n", "2", "2\n", "1\n", "null", "{}"] {
        assert!(!survives(text), "{text:?}");
    }
}

proptest! {
    #[test]
    fn changed_rows_never_panic(place: prop::sample::Index, with in "[-0-9a-z: \n]{0,3}", length in 0..4_usize) {
        let full = full();
        let start = place.index(full.len());
        let end = (start + length).min(full.len());
        survives(&format!("{}{with}{}", &full[..start], &full[end..]));
    }

    #[test]
    fn any_text_is_survived(text in "(?s).{0,200}") {
        survives(&text);
        survives(&format!("2\n{text}"));
    }
}
