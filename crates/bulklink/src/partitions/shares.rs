//! The keys with shares of their own in a capacity that all keys share, and changes of these with
//! the settings of that capacity.

use alloc::vec::Vec;
use core::hash::BuildHasher;

use bulklink_core::pool::Key;
use bulklink_core::{Instant, InvalidArgument};
use hashbrown::HashTable;

use super::inner::{Inner, invalid};
use super::state::{LimitsFor, PartitionsState};
use super::{Class, Lookup, Share};
use crate::foreign::discard;
use crate::gate::outputs::{Undelivered, deliver_all};
use crate::pool::{OwnShare, Setup, SharedPool};
use crate::reconfigure::Refused;
use crate::{Clock, Partitions, Reconfigured};

/// The keys with shares of their own, which stay whether or not they have a partition.
pub(super) struct Shares<K> {
    all: HashTable<Owner<K>>,
}

struct Owner<K> {
    hash: u64,
    key: K,
    pool_key: Key,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Shares { all: HashTable::new() }
    }
}

impl<K> Shares<K> {
    /// Finds the share of a key. Comparing keys is foreign code and may panic, so this comes before
    /// any change.
    pub(super) fn find<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q) -> Option<Key> {
        let found = self.all.find(hash, |own| own.hash == hash && key.is(&own.key))?;
        Some(found.pool_key)
    }

    /// Adds a key that is not among them.
    fn add(&mut self, hash: u64, key: K, pool_key: Key) {
        self.all.insert_unique(hash, Owner { hash, key, pool_key }, |own| own.hash);
    }

    /// Removes a key, which the caller must drop outside the lock.
    fn remove(&mut self, hash: u64, pool_key: Key) -> Option<K> {
        let entry = self.all.find_entry(hash, |own| own.pool_key == pool_key).ok()?;
        Some(entry.remove().0.key)
    }
}

/// The settings of a shared capacity, and the keys whose shares change with them: to one of their
/// own, or to that of all again.
pub(crate) struct Sharing<'a, Q: ?Sized> {
    pub(crate) setup: Setup,
    pub(crate) own: Vec<(&'a Q, Option<Share>)>,
}

/// A key whose share changes, once it was looked up.
pub(super) struct Found<K> {
    hash: u64,
    /// For a key that gets a share of its own and had none.
    new: Option<K>,
    is_known: bool,
}

pub(super) type AllFound<K> = (Vec<Found<K>>, Vec<OwnShare>);

impl<K> PartitionsState<K> {
    /// Returns the key in the pool with a share of its own, or else that of its partitions; and
    /// whether it has one of its own.
    pub(super) fn pool_key<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q, pool: &SharedPool) -> (Option<Key>, bool) {
        let known = self.shares.find(hash, key);
        let of_class = |class| pool.key_of(&self.account.get(self.find(hash, key, class)?).shared);
        (known.or_else(|| Class::ALL.into_iter().find_map(of_class)), known.is_some())
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S> Inner<K, R, S> {
    /// Changes the limits of all partitions, as
    /// [`try_reconfigure_with`](Inner::try_reconfigure_with) does, and those of a shared capacity
    /// with them.
    pub(super) fn try_change(
        &self,
        limits: &crate::Limits,
        limits_for: Option<&LimitsFor<K>>,
        setup: Option<&Setup>,
        find: impl FnOnce(&PartitionsState<K>) -> AllFound<K>,
        commit: impl FnOnce(),
    ) -> Result<Reconfigured, Refused> {
        let limits_for = limits_for.or(self.limits_for.as_ref());
        let Some((setup, pool)) = setup.zip(self.pool()) else {
            return self.try_reconfigure_with(limits, limits_for, commit);
        };
        let now = self.now_if_sound();
        let (changed, deliveries, keys) = self.state.with(|state| {
            let ((found, mut own), mut deliveries) = (find(state), Vec::new());
            let changed = self.change_both(state, (limits, limits_for, setup), (pool, &mut own), now, &mut deliveries);
            if changed.is_err() {
                return (changed, deliveries, new_keys(found));
            }
            commit();
            (changed, deliveries, state.keep_shares(found, &own))
        });
        keys.into_iter().for_each(discard);
        deliver_all(deliveries);
        changed
    }

    fn change_both(
        &self,
        state: &mut PartitionsState<K>,
        (limits, limits_for, setup): (&crate::Limits, Option<&LimitsFor<K>>, &Setup),
        (pool, own): (&SharedPool, &mut [OwnShare]),
        now: Instant,
        deliveries: &mut Vec<Undelivered>,
    ) -> Result<Reconfigured, Refused> {
        // With this, all is checked before the first is changed, but for calls that begin to wait
        // meanwhile.
        let (checked, outputs) = pool.check_change(setup, own, now);
        deliveries.extend(outputs);
        checked.map_err(invalid)?;
        let before = self.each(state);
        // First the bulkheads, whose capacities would hold up waiters whose turn it is then.
        let (changed, outputs) = state.reconfigure(&before, limits, limits_for, now);
        deliveries.extend(outputs);
        let changed = changed?;
        let (admitted, outputs) = pool.change(setup, own, now);
        deliveries.extend(outputs);
        if admitted.is_err() {
            let after = self.each(state);
            let (_, outputs) = state.reconfigure(&after, &before.each, self.limits_for.as_ref(), now);
            deliveries.extend(outputs);
        }
        let admitted = admitted.map_err(invalid)?;
        Ok(Reconfigured { admitted: changed.admitted + admitted, ..changed })
    }

    /// Returns why that could not be done now.
    pub(super) fn check_change(
        &self,
        limits: &crate::Limits,
        limits_for: Option<&LimitsFor<K>>,
        setup: Option<&Setup>,
        find: impl FnOnce(&PartitionsState<K>) -> AllFound<K>,
    ) -> Result<(), Refused> {
        self.check(limits, limits_for)?;
        let Some((setup, pool)) = setup.zip(self.pool()) else { return Ok(()) };
        let now = self.now_if_sound();
        let (checked, deliveries, found) = self.state.with(|state| {
            let (found, own) = find(state);
            let (checked, deliveries) = pool.check_change(setup, &own, now);
            (checked, deliveries, found)
        });
        new_keys(found).into_iter().for_each(discard);
        deliver_all(deliveries);
        checked.map_err(invalid)
    }

    fn owner(&self, invalid: InvalidArgument) -> InvalidArgument {
        invalid.of(format_args!("partitions {}", self.identity.label))
    }
}

/// Returns the keys to drop outside the lock.
fn new_keys<K>(found: Vec<Found<K>>) -> Vec<K> {
    found.into_iter().filter_map(|found| found.new).collect()
}

/// Finds no key.
pub(super) fn no_keys<K>(_: &PartitionsState<K>) -> AllFound<K> {
    (Vec::new(), Vec::new())
}

impl<K> PartitionsState<K> {
    /// Keeps the keys that have shares of their own now, and no others. Returns keys that the
    /// caller must drop outside the lock.
    fn keep_shares(&mut self, found: Vec<Found<K>>, own: &[OwnShare]) -> Vec<K> {
        let mut gone = Vec::new();
        for (Found { hash, new, is_known }, own) in found.into_iter().zip(own) {
            match (own.key, own.share.is_some(), is_known, new) {
                (Some(pool_key), true, false, Some(key)) => self.shares.add(hash, key, pool_key),
                (Some(pool_key), false, true, key) => {
                    gone.extend(key);
                    gone.extend(self.shares.remove(hash, pool_key));
                }
                (_, _, _, key) => gone.extend(key),
            }
        }
        gone
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S: BuildHasher> Inner<K, R, S> {
    /// Returns what looks the keys up whose shares change. A key that gets that of all, and has it,
    /// is left out.
    pub(super) fn find_all<'a, Q: Lookup<K> + ?Sized>(
        &'a self,
        own: &'a [(&'a Q, Option<Share>)],
    ) -> impl FnOnce(&PartitionsState<K>) -> AllFound<K> + use<'a, K, R, S, Q> {
        // Hashed and cloned outside the lock, because that is foreign.
        let prepare = |&(key, share): &(&'a Q, Option<Share>)| {
            (self.hasher.hash_one(key), key, share.map(|_| key.to_key()), share)
        };
        let keys: Vec<_> = own.iter().map(prepare).collect();
        move |state| {
            let Some(pool) = self.pool() else { return no_keys(state) };
            let found = keys.into_iter().filter_map(|(hash, key, new, share)| {
                let (key, is_known) = state.pool_key(hash, key, pool);
                (share.is_some() || is_known).then_some((Found { hash, new, is_known }, OwnShare { key, share }))
            });
            found.unzip()
        }
    }

    /// Sets the share of a key in the shared capacity, which stays whether or not it has a
    /// partition.
    pub(super) fn set_share<Q: Lookup<K> + ?Sized>(&self, key: &Q, share: Share) -> Result<(), InvalidArgument> {
        let nothing = || InvalidArgument::new("shared_capacity", "nothing", "must be set by the builder");
        let pool = self.pool().ok_or_else(|| self.owner(nothing()))?;
        let (hash, now) = (self.hasher.hash_one(key), self.now_if_sound());
        // Cloned outside the lock, because that is foreign.
        let mut new = Some(key.to_key());
        // In one hold of the lock: the share of a key can be removed.
        let (set, deliveries) = self.state.with(|state| {
            let (pool_key, is_known) = state.pool_key(hash, key, pool);
            let (set, deliveries) = pool.set_share(pool_key, &share, now);
            if let (Ok(pool_key), false) = (&set, is_known) {
                let _ = new.take().map(|new| state.shares.add(hash, new, *pool_key));
            }
            (set, deliveries)
        });
        discard(new);
        deliver_all(deliveries);
        set.map(drop).map_err(|invalid| self.owner(invalid))
    }

    /// Gives a key the share of all again. Returns whether it had one of its own.
    pub(super) fn remove_share<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        let Some(pool) = self.pool() else { return false };
        let (hash, now) = (self.hasher.hash_one(key), self.now_if_sound());
        let removed = self.state.with(|state| {
            let pool_key = state.shares.find(hash, key)?;
            let gone = state.shares.remove(hash, pool_key);
            Some((gone, pool.remove_share(pool_key, now)))
        });
        let Some((gone, deliveries)) = removed else { return false };
        discard(gone);
        deliver_all(deliveries);
        true
    }

    /// Returns the share of a key in the shared capacity, if there is one.
    pub(super) fn share<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Share> {
        let (pool, hash) = (self.pool()?, self.hasher.hash_one(key));
        Some(self.state.with(|state| pool.share(state.shares.find(hash, key))))
    }

    /// Returns the share of a key, if it has one of its own.
    pub(super) fn own_share<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Share> {
        let (pool, hash) = (self.pool()?, self.hasher.hash_one(key));
        self.state.with(|state| state.shares.find(hash, key).map(|own| pool.share(Some(own))))
    }
}

/// Changes by a configuration.
impl<K, R: Clock + Clone + Send + Sync + 'static, S: BuildHasher> Partitions<K, R, S> {
    /// Returns why the limits could not be changed so now, with these limits of keys.
    pub(crate) fn check<Q: Lookup<K> + ?Sized>(
        &self,
        limits: &crate::Limits,
        limits_for: &LimitsFor<K>,
        shared: Option<&Sharing<'_, Q>>,
    ) -> Result<(), Refused> {
        let (setup, own) = parts(shared);
        self.inner.check_change(limits, Some(limits_for), setup, self.inner.find_all(own))
    }

    /// Changes the limits, with these limits of keys. If that is not refused, calls `commit` before
    /// another partition can be created.
    pub(crate) fn try_reconfigure<Q: Lookup<K> + ?Sized>(
        &self,
        limits: &crate::Limits,
        limits_for: &LimitsFor<K>,
        shared: Option<&Sharing<'_, Q>>,
        commit: impl FnOnce(),
    ) -> Result<Reconfigured, Refused> {
        let (setup, own) = parts(shared);
        self.inner.try_change(limits, Some(limits_for), setup, self.inner.find_all(own), commit)
    }

    /// Returns the share of a key, if it has one of its own.
    pub(crate) fn own_share<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Share> {
        self.inner.own_share(key)
    }
}

fn parts<'a, 'b, Q: ?Sized>(shared: Option<&'a Sharing<'b, Q>>) -> (Option<&'a Setup>, &'a [(&'b Q, Option<Share>)]) {
    shared.map_or((None, &[]), |shared| (Some(&shared.setup), &shared.own))
}
