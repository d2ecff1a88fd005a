//! The default hasher of keys.

use core::hash::BuildHasher;

#[cfg(not(feature = "std"))]
use hashbrown::DefaultHashBuilder as Chosen;
#[cfg(feature = "std")]
use std::hash::RandomState as Chosen;

/// The default hasher of keys, which resists keys that were chosen to collide.
///
/// With the feature `std` it is the hasher of the standard library's `HashMap`, seeded by the
/// system. Without `std` there is no such seed: it is foldhash, seeded by what differs from one
/// program to the next. If keys come from untrusted sources there, pass a
/// [hasher](super::Builder::hasher) with a secret seed.
#[derive(Clone, Debug, Default)]
pub struct RandomState(Chosen);

impl BuildHasher for RandomState {
    type Hasher = <Chosen as BuildHasher>::Hasher;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}
