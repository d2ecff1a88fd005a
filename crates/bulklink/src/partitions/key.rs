//! The trait of values that partitions can be looked up by.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::Hash;

/// A value by which a partition with a key of type `K` can be looked up.
///
/// That is the key itself, or a type that the key borrows as, as with a `HashMap`. For example, a
/// `&str` finds the partition of a `String`, and is converted to a `String` only if that has no
/// partition yet.
///
/// Implemented for every type that can serve: `K: Borrow<Q>` and `Q: Hash + Eq + ToOwned<Owned =
/// K>`.
pub trait Lookup<K>: Hash {
    /// Returns whether this value is equal to `key`.
    fn is(&self, key: &K) -> bool;

    /// Returns the key for a new partition.
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
