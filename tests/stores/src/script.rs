//! Random commands.

use std::collections::BTreeSet;
use std::time::Duration;

use bulklink_fleet::{CallId, Command, Epoch, Era, OwnerId, RunId, Terms};
use fastrand::Rng;

/// Terms by which much ends by itself.
pub const RANDOM: Terms = Terms { ttl: Duration::from_millis(1), claim: Duration::from_micros(300), block: 4 };

/// A random script of four processes.
#[derive(Debug)]
pub struct Script {
    /// What all choices come from.
    pub random: Rng,
    /// The epoch that the processes know.
    pub epoch: Epoch,
    terms: Terms,
    ids: Vec<CallId>,
}

impl Script {
    /// Begins a script.
    pub fn new(seed: u64, terms: Terms) -> Self {
        Script { random: Rng::with_seed(seed), epoch: 0.into(), terms, ids: vec![] }
    }

    /// Returns one of the processes.
    pub fn owner(&mut self) -> OwnerId {
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

    /// Returns a command that any of them may send.
    pub fn command(&mut self) -> Command {
        let (owner, era) = (self.owner(), Era { epoch: self.epoch, run: Some(RunId::from(u64::MAX)) });
        match self.random.u32(0..20) {
            0..=7 => {
                let id = CallId { owner, seq: self.random.u64(1..2000), cost: self.random.u64(1..4) };
                self.ids.push(id);
                let give_back = self.some_ids(None).into_iter().filter(|old| *old != id).collect();
                Command::Acquire { id, wait: self.random.u32(0..4) > 0, queue: 9, era, terms: self.terms, give_back }
            }
            8..=12 => Command::Release { ids: self.some_ids(None) },
            13 => Command::Open {
                owner,
                generation: self.random.u64(1..4),
                limit: 4,
                config: 1,
                terms: self.terms,
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
                Command::Beat { owner, generation: 9, era, terms: self.terms, info, leases, waiters, gone: vec![] }
            }
            17 => Command::Reap { full: self.random.bool(), offset: 0 },
            18 => Command::SetLimit { limit: self.random.u64(1..6), expected: self.random.u64(1..9).into() },
            _ => Command::Close { owner, ids: self.some_ids(Some(owner)) },
        }
    }
}
