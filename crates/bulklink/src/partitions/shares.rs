//! The keys with shares of their own in a capacity that all keys share.

use bulklink_core::pool::Key;
use hashbrown::HashTable;

use super::Lookup;

/// The keys with shares of their own, which stay whether or not they have a partition.
pub(super) struct Shares<K> {
    all: HashTable<OwnShare<K>>,
}

struct OwnShare<K> {
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
    pub(super) fn add(&mut self, hash: u64, key: K, pool_key: Key) {
        self.all.insert_unique(hash, OwnShare { hash, key, pool_key }, |own| own.hash);
    }
}
