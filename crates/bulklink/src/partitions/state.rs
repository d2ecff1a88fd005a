//! What is under the lock: the account of what is kept, and the index of its keys.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter;
use core::mem;

use bulklink_core::partitions::{Created, Id, Lease, Partitions, Rejection};
use bulklink_core::{Instant, InvalidArgument};
use hashbrown::HashTable;

use super::{Limits, Lookup};
use crate::builder::next_instance;
use crate::gate::latch::Bolt;
use crate::gate::outputs::Displaced;
use crate::gate::shared::Shared;
use crate::observe::event::Handlers;

/// How many are taken in one go, so that nobody holds the lock for long. Two under loom, where each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 64 };

pub(super) struct PartitionsState<K> {
    pub(super) account: Partitions<Partition<K>>,
    /// By the hash of its key, where each partition is.
    index: HashTable<Id>,
    handlers: Handlers,
    /// Holds the latch shut. Gone when all is closed and the last lease has ended.
    bolt: Option<Bolt>,
}

/// A partition: whose it is, and its bulkhead.
pub(super) struct Partition<K> {
    pub(super) hash: u64,
    pub(super) key: K,
    pub(super) shared: Arc<Shared>,
}

/// A partition that is kept, as its lease is held.
pub(super) type Entered = (Arc<Shared>, Lease);

impl<K> PartitionsState<K> {
    pub(super) fn new(limits: Limits, bolt: Option<Bolt>) -> Result<Self, InvalidArgument> {
        let account = Partitions::with_instance(limits, next_instance())?;
        Ok(PartitionsState { account, index: HashTable::new(), handlers: Handlers::default(), bolt })
    }

    /// Compares keys, which is foreign code; so nothing has been changed by then.
    #[inline]
    pub(super) fn find<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q) -> Option<Id> {
        let is_it = |&id: &Id| {
            let kept = self.account.get(id);
            kept.hash == hash && key.is(&kept.key)
        };
        self.index.find(hash, is_it).copied()
    }

    pub(super) fn get<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q) -> Option<Arc<Shared>> {
        self.find(hash, key).map(|id| Arc::clone(&self.account.get(id).shared))
    }

    /// A lease of the partition with this key; `None` if one may be made for it.
    #[inline]
    pub(super) fn enter<Q: Lookup<K> + ?Sized>(&mut self, hash: u64, key: &Q) -> Result<Option<Entered>, Rejection> {
        match self.find(hash, key) {
            Some(id) => self.lease(id).map(Some),
            None => self.account.may_create().map(|()| None),
        }
    }

    #[inline]
    pub(super) fn lease(&mut self, id: Id) -> Result<Entered, Rejection> {
        let lease = self.account.lease(id)?;
        Ok((Arc::clone(&self.account.get(id).shared), lease))
    }

    /// Keeps the newcomer, and leases it. What is not kept, the one that made room or the newcomer itself, is in its place then.
    pub(super) fn create(&mut self, newcomer: &mut Option<Partition<K>>) -> Result<Entered, Rejection> {
        let content = newcomer.take().expect("somebody who comes");
        let (hash, shared) = (content.hash, Arc::clone(&content.shared));
        let Created { lease, evicted } = self.account.create(content).map_err(|(refused, rejection)| {
            *newcomer = Some(refused);
            rejection
        })?;
        *newcomer = evicted.map(|evicted| self.forget(evicted));
        self.index.insert_unique(hash, lease.id(), |&id| self.account.get(id).hash);
        if !self.handlers.is_empty() {
            shared.look(|state| state.set_handlers(self.handlers.clone()));
        }
        Ok((shared, lease))
    }

    /// Takes one that is no longer kept out of the index.
    fn forget(&mut self, (id, gone): (Id, Partition<K>)) -> Partition<K> {
        if let Ok(entry) = self.index.find_entry(gone.hash, |&found| found == id) {
            entry.remove();
        }
        gone
    }

    /// A batch of those that have been idle for too long.
    pub(super) fn take_idle(&mut self, now: Instant) -> Vec<Partition<K>> {
        self.take_batch(|account| account.cleanup_idle(now))
    }

    /// A batch of those that are left once all is closed and the last lease has ended.
    pub(super) fn take_drained(&mut self) -> Vec<Partition<K>> {
        self.take_batch(Partitions::take_drained)
    }

    fn take_batch(
        &mut self,
        take: impl Fn(&mut Partitions<Partition<K>>) -> Option<(Id, Partition<K>)>,
    ) -> Vec<Partition<K>> {
        iter::from_fn(|| take(&mut self.account).map(|gone| self.forget(gone))).take(BATCH).collect()
    }

    pub(super) fn discard<Q: Lookup<K> + ?Sized>(&mut self, hash: u64, key: &Q) -> Option<Partition<K>> {
        let id = self.find(hash, key)?;
        let gone = self.account.discard(id)?;
        Some(self.forget((id, gone)))
    }

    /// Ends a lease. Returns whether its partition is idle from now on, and what is to be dropped outside the lock.
    #[inline]
    pub(super) fn end(&mut self, lease: Lease, now: Instant) -> (bool, Option<Bolt>) {
        (self.account.end(lease, now), self.note_drained())
    }

    #[inline]
    fn note_drained(&mut self) -> Option<Bolt> {
        if self.account.is_drained() { self.bolt.take() } else { None }
    }

    /// Returns whether it was open, whose bulkheads are to be closed, and what is to be dropped, both outside the lock.
    pub(super) fn close(&mut self) -> (bool, Vec<Arc<Shared>>, Option<Bolt>) {
        let was_open = self.account.close();
        (was_open, self.all().cloned().collect(), self.note_drained())
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.index.iter().map(|&id| &self.account.get(id).shared)
    }

    /// Changes who is told of the events of all partitions, and of those to come. Returns the lists from before, which are to be
    /// dropped outside the lock; `None` if nothing changed. The list is shared by all but those that have handlers of their own.
    pub(super) fn change_handlers(
        &mut self,
        change: impl Fn(&Handlers) -> Option<Handlers>,
    ) -> Option<(Handlers, Vec<Displaced>)> {
        let changed = change(&self.handlers)?;
        let before = mem::replace(&mut self.handlers, changed);
        let change_in = |shared: &Arc<Shared>| {
            shared.look(|state| {
                let is_shared = state.observers.handlers.is(&before);
                let changed = if is_shared { Some(self.handlers.clone()) } else { change(&state.observers.handlers) };
                changed.map(|changed| state.set_handlers(changed))
            })
        };
        let displaced = self.all().filter_map(change_in).collect();
        Some((before, displaced))
    }
}
