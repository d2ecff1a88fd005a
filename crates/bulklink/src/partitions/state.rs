//! The state under the lock: the core's account of the partitions, and the index of their keys.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter;
use core::mem;

use bulklink_core::partitions::{Created, Id, Partitions, Rejection};
use bulklink_core::pool::{Class, Key};
use bulklink_core::{Instant, InvalidArgument};
use hashbrown::HashTable;

use super::control::Controllers;
use super::shares::Shares;
use super::sums::Gone;
use super::{Limits, Lookup};
use crate::OwnedSlot;
use crate::builder::next_instance;
use crate::gate::shared::{Shared, hint};
use crate::identity::Identity;
use crate::observe::event::Handlers;
use crate::pool::SharedPool;

/// The number of partitions taken at a time. It bounds how long the lock is held. Two under loom,
/// where each step multiplies the search.
const BATCH: usize = if cfg!(bulklink_loom) { 2 } else { 64 };

/// The state that the lock of partitions protects.
pub(super) struct PartitionsState<K> {
    pub(super) account: Partitions<Partition<K>>,
    /// The id of each partition, by the hash of its key.
    index: HashTable<Id>,
    /// The handlers that a new partition gets.
    handlers: Handlers,
    /// The controllers that a new partition gets.
    pub(super) controllers: Controllers<K>,
    /// The keys with shares of their own in the shared capacity.
    pub(super) shares: Shares<K>,
    /// Whether a new partition begins paused.
    is_paused: bool,
    /// The limits of a new partition, once they have been changed.
    pub(super) changed: Option<Changed>,
    /// The sums of the partitions that are no longer kept.
    pub(super) gone: Gone,
    /// The latest time of a reading of all. A reading goes on after it has left the lock, so what
    /// is summed over time must be counted at least up to then in a partition that is gone.
    pub(super) read_at: Option<Instant>,
    /// Keeps the latch shut; `None` once all is closed and the last lease has ended.
    bolt: Option<OwnedSlot>,
}

/// The changes with new limits of the partitions.
pub(super) struct Changed {
    pub(super) each: crate::Limits,
    /// The identity in the rejections of calls that got no partition.
    pub(super) identity: Arc<Identity>,
}

/// The limits of a key: a function of it and of the limits that the partitions have in common. It
/// is foreign.
pub(crate) type LimitsFor<K> = Arc<dyn Fn(&K, crate::Limits) -> crate::Limits + Send + Sync>;

/// The handlers that a new partition got and gets, and the bulkheads of those that are kept, which
/// must be changed and dropped outside the lock.
pub(super) struct HandlersChanged {
    pub(super) before: Handlers,
    pub(super) after: Handlers,
    pub(super) kept: Vec<Arc<Shared>>,
}

/// A partition: its key and class, and its bulkhead.
pub(super) struct Partition<K> {
    pub(super) hash: u64,
    pub(super) key: K,
    pub(super) class: Class,
    pub(super) shared: Arc<Shared>,
}

impl<K> PartitionsState<K> {
    pub(super) fn new(limits: Limits, bolt: Option<OwnedSlot>) -> Result<Self, InvalidArgument> {
        let account = Partitions::with_instance(limits, next_instance())?;
        Ok(PartitionsState {
            account,
            index: HashTable::new(),
            handlers: Handlers::default(),
            controllers: None,
            shares: Shares::default(),
            is_paused: false,
            changed: None,
            gone: Gone::default(),
            read_at: None,
            bolt,
        })
    }

    /// Finds the partition with this key and class. Comparing keys is foreign code and may panic,
    /// so every method calls this before it changes anything.
    #[inline]
    pub(super) fn find<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q, class: Class) -> Option<Id> {
        let is_it = |&id: &Id| {
            let partition = self.account.get(id);
            partition.hash == hash && partition.class == class && key.is(&partition.key)
        };
        self.index.find(hash, is_it).copied()
    }

    pub(super) fn get<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q, class: Class) -> Option<Arc<Shared>> {
        self.find(hash, key, class).map(|id| Arc::clone(&self.account.get(id).shared))
    }

    /// Leases the partition with this key and class. Returns `None` if there is none and one may be
    /// created.
    #[inline]
    pub(super) fn enter<Q: Lookup<K> + ?Sized>(
        &mut self,
        hash: u64,
        key: &Q,
        class: Class,
    ) -> Result<Option<Arc<Shared>>, Rejection> {
        match self.find(hash, key, class) {
            Some(id) => self.lease(id).map(Some),
            None => self.account.may_create().map(|()| None),
        }
    }

    #[inline]
    pub(super) fn lease(&mut self, id: Id) -> Result<Arc<Shared>, Rejection> {
        self.account.lease(id)?;
        Ok(Arc::clone(&self.account.get(id).shared))
    }

    /// Adds the partition in `spare` and leases it. Afterwards `spare` has the partition that the
    /// caller must drop outside the lock: the partition that was evicted, or the new one if it was
    /// rejected.
    ///
    /// It gets these limits, which must be valid, unless it is made with them; and the key that it
    /// has in the shared capacity, or a new one with the share of all.
    pub(super) fn create(
        &mut self,
        spare: &mut Option<Partition<K>>,
        limits: Option<crate::Limits>,
        pooled: Option<(&SharedPool, Option<Key>)>,
    ) -> Result<Arc<Shared>, Rejection> {
        let new = spare.take().expect("a new partition");
        let (hash, class, shared) = (new.hash, new.class, Arc::clone(&new.shared));
        let Created { id, evicted, .. } = self.account.create(new).map_err(|(refused, rejection)| {
            *spare = Some(refused);
            rejection
        })?;
        *spare = evicted.map(|evicted| self.forget(evicted));
        self.index.insert_unique(hash, id, |&id| self.account.get(id).hash);
        shared.join(id);
        self.prepare(&shared, limits);
        if let Some((pool, known)) = pooled {
            pool.join(known, class, &shared);
        }
        Ok(shared)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused && !self.account.is_closed()
    }

    /// Makes a new partition like the others. It is not observed before, so it has no events.
    fn prepare(&self, shared: &Shared, limits: Option<crate::Limits>) {
        if let Some(limits) = limits {
            // Not refused: the limits are valid, and no call waits.
            let _ = shared.with_gate(|state| shared.set_limits(state, &limits, Instant::EPOCH));
        }
        if self.is_paused {
            shared.with_gate(|state| state.gate.pause());
        }
        if !self.handlers.is_empty() {
            drop(shared.with_gate(|state| state.set_handlers(shared, self.handlers.clone())));
        }
    }

    /// Removes from the index a partition that is no longer in the account.
    fn forget(&mut self, (id, gone): (Id, Partition<K>)) -> Partition<K> {
        // Found by its id: comparing keys here would run foreign code in the middle of a change.
        if let Ok(entry) = self.index.find_entry(gone.hash, |&found| found == id) {
            entry.remove();
        }
        // It is idle, so its counters are final: each of its calls has ended, and no other comes.
        if let Some(pool) = gone.shared.pool() {
            pool.leave(&gone.shared);
        }
        let read_at = self.read_at;
        let snapshot = gone.shared.with_gate(|state| {
            gone.shared.give_hint(hint::GONE, true);
            state.snapshot(read_at)
        });
        self.gone.count(gone.class, &snapshot);
        gone
    }

    /// Takes a batch of the partitions that have reached the idle timeout.
    pub(super) fn take_idle(&mut self, now: Instant) -> Vec<Partition<K>> {
        self.take_batch(|account| account.cleanup_idle(now))
    }

    /// Takes a batch of the remaining partitions, once all is closed and the last lease has ended.
    pub(super) fn take_drained(&mut self) -> Vec<Partition<K>> {
        self.take_batch(Partitions::take_drained)
    }

    fn take_batch(
        &mut self,
        take: impl Fn(&mut Partitions<Partition<K>>) -> Option<(Id, Partition<K>)>,
    ) -> Vec<Partition<K>> {
        iter::from_fn(|| take(&mut self.account).map(|gone| self.forget(gone))).take(BATCH).collect()
    }

    pub(super) fn discard<Q: Lookup<K> + ?Sized>(&mut self, hash: u64, key: &Q, class: Class) -> Option<Partition<K>> {
        let id = self.find(hash, key, class)?;
        let gone = self.account.discard(id)?;
        Some(self.forget((id, gone)))
    }

    /// Ends a lease. Returns whether the partition is idle now, and the latch's bolt if this was
    /// the last lease after a close; the bolt must be dropped outside the lock.
    #[inline]
    pub(super) fn end(&mut self, id: Id, now: Instant) -> (bool, Option<OwnedSlot>) {
        (self.account.end(id, now), self.take_bolt())
    }

    /// Takes the latch's bolt if all is closed and the last lease has ended.
    #[inline]
    fn take_bolt(&mut self) -> Option<OwnedSlot> {
        if self.account.is_drained() { self.bolt.take() } else { None }
    }

    /// Closes the account. Returns whether it was open, the bulkheads that the caller must close,
    /// and the latch's bolt to drop, both outside the lock.
    pub(super) fn close(&mut self) -> (bool, Vec<Arc<Shared>>, Option<OwnedSlot>) {
        let was_open = self.account.close();
        (was_open, self.all().cloned().collect(), self.take_bolt())
    }

    /// Lets new partitions begin paused, or not. Returns whether that changed anything, and the
    /// bulkheads of those that are kept, which the caller must change outside the lock.
    pub(super) fn set_paused(&mut self, is_paused: bool) -> (bool, Vec<Arc<Shared>>) {
        if self.account.is_closed() {
            return (false, Vec::new());
        }
        let changed = mem::replace(&mut self.is_paused, is_paused) != is_paused;
        (changed, self.all().cloned().collect())
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.partitions().map(|partition| &partition.shared)
    }

    pub(super) fn partitions(&self) -> impl Iterator<Item = &Partition<K>> {
        self.index.iter().map(|&id| self.account.get(id))
    }

    /// Changes the handlers that a new partition gets. Returns `None` if nothing changed.
    pub(super) fn change_handlers(
        &mut self,
        change: impl Fn(&Handlers) -> Option<Handlers>,
    ) -> Option<HandlersChanged> {
        let after = change(&self.handlers)?;
        let before = mem::replace(&mut self.handlers, after.clone());
        Some(HandlersChanged { before, after, kept: self.all().cloned().collect() })
    }
}
