//! The form of rows, without a server: random commands on a row that is encoded and decoded each
//! time and on a table, and rows that are none.

use std::collections::BTreeSet;
use std::time::Duration;

use bulklink_postgres::plumbing::Rows;
use bulklink_postgres::{
    CallId, Command, Cuts, Epoch, Era, Name, Namespace, Notice, Outcome, OwnerId, RunId, Table, Terms,
};
use fastrand::Rng;
use proptest::prelude::*;

const TERMS: Terms = Terms { ttl: Duration::from_millis(1), claim: Duration::from_micros(300), block: 4 };

fn name() -> Name {
    Name::new(&Namespace::new("test").unwrap(), "a b").unwrap()
}

/// A random script.
struct Script {
    random: Rng,
    now: u64,
    epoch: Epoch,
    ids: Vec<CallId>,
}

impl Script {
    fn owner(&mut self) -> OwnerId {
        OwnerId::from(self.random.u128(1..=4) << 90)
    }

    fn some_ids(&mut self, owner: Option<OwnerId>) -> Vec<CallId> {
        let mut ids = BTreeSet::new();
        let mine: Vec<_> = self.ids.iter().filter(|id| owner.is_none_or(|owner| id.owner == owner)).copied().collect();
        for _ in 0..self.random.usize(0..4) {
            ids.extend(self.random.choice(&mine).copied());
        }
        ids.into_iter().collect()
    }

    fn command(&mut self) -> Command {
        let (owner, era) = (self.owner(), Era { epoch: self.epoch, run: Some(RunId::from(u64::MAX)) });
        match self.random.u32(0..20) {
            0..=7 => {
                let id = CallId { owner, seq: self.random.u64(1..2000), cost: self.random.u64(1..4) };
                self.ids.push(id);
                let give_back = self.some_ids(None).into_iter().filter(|old| *old != id).collect();
                Command::Acquire { id, wait: self.random.u32(0..4) > 0, queue: 9, era, terms: TERMS, give_back }
            }
            8..=12 => Command::Release { ids: self.some_ids(None) },
            13 => Command::Open {
                owner,
                generation: self.random.u64(1..4),
                limit: 4,
                config: 1,
                terms: TERMS,
                known: None,
                highest: None,
                run: era.run,
                young: false,
                info: "host/2 a".into(),
            },
            14..=16 => {
                let leases = self.some_ids(Some(owner));
                let waiters = self.some_ids(Some(owner)).into_iter().filter(|id| !leases.contains(id));
                let base = u64::from(self.epoch);
                let waiters = waiters.map(|id| (id, (base + id.seq).into())).collect();
                let info = "host/3 b".into();
                Command::Beat { owner, generation: 9, era, terms: TERMS, info, leases, waiters, gone: vec![] }
            }
            17 => Command::Reap { full: self.random.bool(), offset: 0 },
            18 => Command::SetLimit { limit: self.random.u64(1..6), expected: self.random.u64(1..9).into() },
            _ => Command::Close { owner, ids: self.some_ids(Some(owner)) },
        }
    }
}

/// All processes listen by links with these keys.
fn key(owner: OwnerId) -> i64 {
    i64::try_from(u128::from(owner) >> 90).unwrap()
}

#[test]
fn a_row_does_what_the_table_does() {
    let (mut outcomes, mut told_to_others, mut told_to_itself) = (BTreeSet::new(), 0, 0);
    for seed in 0..200 {
        let mut script = Script { random: Rng::with_seed(seed), now: 5_000_000, epoch: 0.into(), ids: vec![] };
        let (mut rows, mut table) = (Rows::default(), Table::with_cuts(Cuts::default()));
        // A process listens once it has sent a command that is no farewell.
        let mut listeners = BTreeSet::new();
        for _ in 0..150 {
            script.now += script.random.u64(0..200);
            let (command, now) = (script.command(), script.now.into());
            let sender = script.owner();
            let mut next = listeners.clone();
            match &command {
                Command::Close { owner, .. } => _ = next.remove(owner),
                _ => _ = next.insert(sender),
            }
            let (mut own, mut others) = (vec![], 0);
            let expected = table.apply(now, &command, &mut |owner, notice: Notice| {
                let is_heard = next.contains(&owner);
                others += usize::from(is_heard && owner != sender);
                own.extend((is_heard && owner == sender).then_some(notice));
                is_heard
            });
            let (answer, told, sent) = rows.apply(now, sender, key(sender), &name(), &command).unwrap();
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
        terms: TERMS,
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
            Command::Acquire { id, wait: true, queue: 9, era: Era { epoch, run }, terms: TERMS, give_back: vec![] };
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
    let mut script = Script { random: Rng::with_seed(1), now: 0, epoch: 5_000_000.into(), ids: vec![] };
    for _ in 0..60 {
        script.now += 150;
        let (command, owner) = (script.command(), script.owner());
        rows.set(Some(text.to_owned()));
        rows.apply(script.now.into(), owner, key(owner), &name(), &command);
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
