//! What partitions are looked up by.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::Hash;

/// What a partition with a key of type `K` can be looked up by: the key itself, or what it borrows as, as with a `HashMap`. A
/// `&str` finds the partition of a `String`, and is made into one only where there is no such partition yet.
///
/// Implemented for whatever can be.
pub trait Lookup<K>: Hash {
    /// Whether it is this key.
    fn is(&self, key: &K) -> bool;

    /// The key of a partition that is to be made.
    fn to_key(&self) -> K;
}

impl<K: Borrow<Q>, Q: Hash + Eq + ToOwned<Owned = K> + ?Sized> Lookup<K> for Q {
    #[inline]
    fn is(&self, key: &K) -> bool {
        self == key.borrow()
    }

    fn to_key(&self) -> K {
        self.to_owned()
    }
}
