//! The form of rows, without a server: random commands on a row that is encoded and decoded each
//! time and on a table, and rows that are none.

use std::collections::BTreeSet;

use bulklink_postgres::plumbing::Rows;
use bulklink_postgres::{CallId, Command, Cuts, Epoch, Era, Name, Namespace, Notice, Outcome, OwnerId, RunId, Table};
use bulklink_stores::{RANDOM, Script};
use proptest::prelude::*;

fn name() -> Name {
    Name::new(&Namespace::new("test").unwrap(), "a b").unwrap()
}

/// All processes listen by links with these keys.
fn key(owner: OwnerId) -> i64 {
    i64::try_from(u128::from(owner) >> 90).unwrap()
}

#[test]
fn a_row_does_what_the_table_does() {
    let (mut outcomes, mut told_to_others, mut told_to_itself) = (BTreeSet::new(), 0, 0);
    for seed in 0..200 {
        let mut script = Script::new(seed, RANDOM);
        let mut now = 5_000_000;
        let (mut rows, mut table) = (Rows::default(), Table::with_cuts(Cuts::default()));
        // A process listens once it has sent a command that is no farewell.
        let mut listeners = BTreeSet::new();
        for _ in 0..150 {
            now += script.random.u64(0..200);
            let (command, sender) = (script.command(), script.owner());
            let mut next = listeners.clone();
            match &command {
                Command::Close { owner, .. } => _ = next.remove(owner),
                _ => _ = next.insert(sender),
            }
            let (mut own, mut others) = (vec![], 0);
            let expected = table.apply(now.into(), &command, &mut |owner, notice: Notice| {
                let is_heard = next.contains(&owner);
                others += usize::from(is_heard && owner != sender);
                own.extend((is_heard && owner == sender).then_some(notice));
                is_heard
            });
            let (answer, told, sent) = rows.apply(now.into(), sender, key(sender), &name(), &command).unwrap();
            assert_eq!((&answer, &told, sent), (&expected, &own, others), "seed {seed}: {command:?}");
            if let Some(text) = rows.text() {
                assert_eq!(rows.table().as_ref(), Some(&table), "seed {seed}: {command:?}\n{text}");
                listeners = next;
                if let Command::Reap { .. } = command {
                    listeners.retain(|owner| text.contains(&format!("\nc {owner} ")));
                }
            }
            told_to_others += sent;
            told_to_itself += told.len();
            script.epoch = answer.head.and_then(|head| head.epoch).unwrap_or(script.epoch);
            let text = format!("{:?}", answer.outcome);
            outcomes.insert(text.split([' ', '(', '{']).next().unwrap_or_default().to_owned());
        }
    }
    assert!(outcomes.len() > 9 && told_to_others > 100 && told_to_itself > 100, "{outcomes:?} {told_to_others}");
}

/// A row with everything in it.
fn full() -> String {
    let mut rows = Rows::default();
    let (name, run) = (name(), Some(RunId::from(7)));
    let [first, second] = [1_u128 << 90, 2 << 90].map(OwnerId::from);
    let open = |owner| Command::Open {
        owner,
        generation: 1,
        limit: 2,
        config: 1,
        terms: RANDOM,
        known: None,
        highest: None,
        run,
        young: false,
        info: "host/1 a b".into(),
    };
    let mut epoch = Epoch::default();
    for owner in [first, second] {
        let (answer, ..) = rows.apply(5_000_000.into(), owner, key(owner), &name, &open(owner)).unwrap();
        epoch = answer.head.unwrap().epoch.unwrap();
    }
    for (owner, seq) in [(first, 1), (second, 2), (second, 3)] {
        let id = CallId { owner, seq, cost: 2 };
        let command =
            Command::Acquire { id, wait: true, queue: 9, era: Era { epoch, run }, terms: RANDOM, give_back: vec![] };
        rows.apply(5_000_001.into(), owner, key(owner), &name, &command).unwrap();
    }
    // It leaves a notice for the second process, which has one more waiter.
    let release = Command::Release { ids: vec![CallId { owner: first, seq: 1, cost: 2 }] };
    rows.apply(5_000_002.into(), first, key(first), &name, &release).unwrap();
    let text = rows.text().unwrap().to_owned();
    for kind in ["\nm ", "\nn ", "\nl ", "\nq ", "\no ", "\nc ", "\ni "] {
        assert!(text.contains(kind), "{kind:?}: {text}");
    }
    text
}

fn status() -> Command {
    Command::Status { offset: 0, count: 9 }
}

/// Runs all kinds of commands on a text, which must not panic. Returns whether it is a row.
fn survives(text: &str) -> bool {
    let mut rows = Rows::default();
    rows.set(Some(text.to_owned()));
    if rows.table().is_none() {
        assert!(rows.apply(1.into(), 1.into(), 1, &name(), &status()).is_none());
        return false;
    }
    let mut script = Script::new(1, RANDOM);
    script.epoch = 5_000_000.into();
    for now in 0..60 {
        let (command, owner) = (script.command(), script.owner());
        rows.set(Some(text.to_owned()));
        rows.apply((now * 150).into(), owner, key(owner), &name(), &command);
        rows.apply(9_000_000.into(), owner, key(owner), &name(), &Command::Reap { full: true, offset: 0 }).unwrap();
    }
    true
}

#[test]
fn malformed_rows_are_refused_and_never_panic() {
    let full = full();
    assert!(survives(&full));
    let largest = u64::MAX.to_string();
    for (from, to) in [
        ("1\nm", "2\nm"),
        ("\nm ", "\nm 1 "),
        ("\nm ", "\nz "),
        ("\nn ", "\nn -"),
        ("\nn ", &*format!("\nn {largest}")),
        ("\nl ", "\nl x"),
        ("\nq ", "\nl "),
        (":2 5", ":0 5"),
        (":2 5", &*format!(":{largest} 5")),
        (":2 5", ":1 5"),
        ("\no ", "\no\n"),
        ("\ni ", "\ni x"),
        (" g ", " y "),
        ("\nc ", "\nc c "),
    ] {
        let text = full.replacen(from, to, 1);
        assert_ne!(text, full, "{from:?}");
        assert!(!survives(&text), "{from:?} {to:?}: {text}");
    }
    for line in full.lines().filter(|line| line.starts_with(['l', 'q', 'o'])) {
        assert!(!survives(&format!("{full}{line}\n")), "{line} is there twice");
    }
    for text in ["", "\n", "1", "1\n", "null", "{}"] {
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
        survives(&format!("1\n{text}"));
    }
}

#[test]
fn people_read_who_has_what() {
    let full = full();
    assert!(matches!(Rows::default().apply(1.into(), 1.into(), 1, &name(), &status()).unwrap().0.outcome,
        Outcome::Status(status) if status.settings.is_none()));
    assert!(full.lines().any(|line| line.starts_with("o ") && line.ends_with(" host/1 a b")), "{full}");
}
