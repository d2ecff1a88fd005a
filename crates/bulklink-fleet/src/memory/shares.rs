//! The limits that processes share through the store in memory.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};

use bulklink::runtime::Instant;

use super::{Delivery, MemoryStore, yield_once};
use crate::share::{self, Allocator, LimitRefusal, Notice, Statement};
use crate::{
    LeaseStore, Link, Name, Namespace, ProcessId, Receiver, RunId, Server, ServerTime, Session, StoreError, Version,
};

#[derive(Default)]
pub(super) struct Data {
    allocators: BTreeMap<Name, Allocator>,
    lines: BTreeMap<u64, Line>,
    numbers: u64,
}

struct Line {
    process: ProcessId,
    names: HashSet<Name>,
    receiver: Weak<dyn Receiver>,
}

impl Data {
    pub(super) fn forget(&mut self) {
        self.allocators.clear();
    }

    pub(super) fn end_all(&mut self, outbox: &mut VecDeque<Delivery>) {
        for receiver in std::mem::take(&mut self.lines).into_values().filter_map(|line| line.receiver.upgrade()) {
            outbox.push_back(Box::new(move || receiver.ended()));
        }
    }
}

impl MemoryStore {
    /// Returns how many names the connections of fleets listen to.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.with(|data| data.shares.lines.values().map(|line| line.names.len()).sum())
    }
}

impl super::Data {
    /// Does a step with a name, and publishes its notices.
    fn step<A>(
        &mut self,
        now: Instant,
        name: &Name,
        step: impl FnOnce(&mut Allocator, ServerTime, &mut dyn FnMut(Notice) -> bool) -> A,
    ) -> A {
        let (lines, drops, outbox) = (&self.shares.lines, self.faults.drops_notices, &mut self.outbox);
        let mut publish = |notice: Notice| {
            let is_for = |line: &&Line| match notice {
                Notice::Granted(grant) => line.process == grant.process && line.names.contains(name),
                _ => line.names.contains(name),
            };
            let mut is_heard = false;
            for receiver in lines.values().filter(is_for).map(|line| Weak::clone(&line.receiver)) {
                is_heard = true;
                let name = name.clone();
                let deliver =
                    move || receiver.upgrade().into_iter().for_each(|receiver| receiver.notice(&name, notice));
                // Lost on their way: the server does not know.
                if !drops {
                    outbox.push_back(Box::new(deliver));
                }
            }
            is_heard
        };
        let allocator = self.shares.allocators.entry(name.clone()).or_default();
        step(allocator, server_time(now), &mut publish)
    }
}

fn server_time(now: Instant) -> ServerTime {
    ServerTime::from(now.as_nanos() / 1_000)
}

impl LeaseStore for MemoryStore {
    type Link = MemoryLink;

    async fn connect(&self, session: &Session, receiver: Arc<dyn Receiver>) -> Result<MemoryLink, StoreError> {
        let line = Line { process: session.id, names: HashSet::new(), receiver: Arc::downgrade(&receiver) };
        let connect = |data: &mut super::Data| {
            data.shares.numbers += 1;
            let number = data.shares.numbers;
            data.shares.lines.insert(number, line);
            (data.cuts, number)
        };
        let connected = self.with(|data| (!data.is_down).then(|| connect(data)));
        let (cuts, number) = connected.ok_or(StoreError::UNREACHABLE)?;
        Ok(MemoryLink { store: self.clone(), cuts, number, _receiver: receiver })
    }

    async fn names(&self, namespace: Option<&Namespace>) -> Result<Vec<Name>, StoreError> {
        let of_it = |name: &Name| namespace.is_none_or(|namespace| name.namespace() == namespace.as_str());
        let list = |data: &mut super::Data, now: Instant| {
            let declared =
                data.shares.allocators.iter().filter(|(_, allocator)| allocator.status(server_time(now)).is_some());
            declared.map(|(name, _)| name.clone()).filter(of_it).collect()
        };
        self.run(self.cuts(), list).await
    }
}

/// A connection to a [`MemoryStore`].
pub struct MemoryLink {
    store: MemoryStore,
    cuts: u64,
    number: u64,
    /// Kept as long as the link.
    _receiver: Arc<dyn Receiver>,
}

impl Drop for MemoryLink {
    fn drop(&mut self) {
        self.store.with(|data| data.shares.lines.remove(&self.number));
    }
}

impl Link for MemoryLink {
    async fn listen(&self, name: &Name) -> Result<Server, StoreError> {
        yield_once().await;
        let now = (self.store.clock)();
        self.store.with(|data| {
            let line = data.shares.lines.get_mut(&self.number).ok_or(StoreError::UNREACHABLE)?;
            line.names.insert(name.clone());
            // The first run is older than any lease.
            let age = (data.run > 1).then(|| now.saturating_since(data.began));
            Ok(Server { run: Some(RunId::from(data.run)), age })
        })
    }

    async fn unlisten(&self, name: &Name) -> Result<(), StoreError> {
        yield_once().await;
        self.store.with(|data| {
            let line = data.shares.lines.get_mut(&self.number).ok_or(StoreError::UNREACHABLE)?;
            line.names.remove(name);
            Ok(())
        })
    }

    async fn sync(&self, name: &Name, statement: Statement) -> Result<share::Answer, StoreError> {
        let step = |data: &mut super::Data, now| {
            data.step(now, name, |allocator, now, publish| allocator.sync(now, &statement, publish))
        };
        self.store.run(self.cuts, step).await
    }

    async fn resize(
        &self,
        name: &Name,
        limit: u32,
        expected: Version,
    ) -> Result<Result<Version, LimitRefusal>, StoreError> {
        let step = |data: &mut super::Data, now| {
            data.step(now, name, |allocator, now, publish| allocator.set_limit(now, limit, expected, publish))
        };
        self.store.run(self.cuts, step).await
    }

    async fn look(&self, name: &Name) -> Result<Option<share::Status>, StoreError> {
        let step = |data: &mut super::Data, now| data.step(now, name, |allocator, now, _| allocator.status(now));
        self.store.run(self.cuts, step).await
    }
}

impl fmt::Debug for MemoryLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLink").field("number", &self.number).finish_non_exhaustive()
    }
}
