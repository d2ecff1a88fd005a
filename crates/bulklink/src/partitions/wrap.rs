//! An async function with partitions around it.

use core::fmt;
use core::future::Future;
use core::hash::BuildHasher;

use super::Lookup;
use crate::{ExecuteOwned, Partitions, Rejection, Runtime};

/// An async function that runs in a slot of a partition on every call; returned by
/// [`Partitions::wrap`].
pub struct Wrapped<K, R, S, G, F> {
    partitions: Partitions<K, R, S>,
    key: G,
    function: F,
}

impl<K, R, S, G, F> Wrapped<K, R, S, G, F>
where
    K: Send + 'static,
    R: Runtime,
    S: BuildHasher + Send + Sync + 'static,
{
    pub(super) fn new(partitions: Partitions<K, R, S>, key: G, function: F) -> Self {
        Wrapped { partitions, key, function }
    }

    /// Runs the function with `argument` in a slot of the partition that the argument belongs to.
    ///
    /// # Errors
    ///
    /// As [`Partitions::execute`]. The function has not been called then.
    ///
    /// # Cancel safety
    ///
    /// As [`Partitions::execute`].
    ///
    /// # Panics
    ///
    /// As [`Partitions::execute`]; and if the function that finds the key panics, before the call
    /// enters a partition.
    pub fn call<A, Q, O>(
        &self,
        argument: A,
    ) -> impl Future<Output = Result<O::Output, Rejection>> + use<'_, A, Q, O, K, R, S, G, F>
    where
        Q: Lookup<K> + ?Sized,
        G: Fn(&A) -> &Q,
        F: Fn(A) -> O,
        O: Future,
    {
        let slot = self.partitions.slot((self.key)(&argument));
        ExecuteOwned::new(slot, async move { (self.function)(argument).await })
    }

    /// Returns the partitions that protect the function.
    #[must_use]
    pub fn partitions(&self) -> &Partitions<K, R, S> {
        &self.partitions
    }
}

impl<K, R, S, G: Clone, F: Clone> Clone for Wrapped<K, R, S, G, F> {
    fn clone(&self) -> Self {
        let Wrapped { partitions, key, function } = self;
        Wrapped { partitions: partitions.clone(), key: key.clone(), function: function.clone() }
    }
}

impl<K, R, S, G, F> fmt::Debug for Wrapped<K, R, S, G, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("partitions", &self.partitions).finish_non_exhaustive()
    }
}
