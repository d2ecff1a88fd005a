//! How keys are hashed unless somebody says otherwise.

use core::hash::BuildHasher;

#[cfg(not(feature = "std"))]
use hashbrown::DefaultHashBuilder as Chosen;
#[cfg(feature = "std")]
use std::hash::RandomState as Chosen;

/// Hashes keys so that nobody can choose many with the same hash: with the standard library as its `HashMap` does, with a key from
/// the system. Without, there is no such key, and foldhash makes do with what differs from one program to the next; where keys
/// come from strangers, bring a [hasher](super::Builder::hasher) with a secret of your own.
#[derive(Clone, Debug, Default)]
pub struct RandomState(Chosen);

impl BuildHasher for RandomState {
    type Hasher = <Chosen as BuildHasher>::Hasher;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}
