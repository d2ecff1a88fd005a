//! A server on a line that goes silent, and the runtime of the processes that use it.

use std::time::Duration;

use bulklink::runtime::{Runtime, Spawn, SpawnBlocking};
use bulklink_fleet::circuits::CircuitStore;

/// Longer than any test: what waits for so long waits for an answer.
pub const FOREVER: Duration = Duration::from_hours(1);

/// A server on a line that can be cut and go silent. Clones are the same server.
pub trait Site: Clone + Send + Sync + 'static {
    /// The store.
    type Store: CircuitStore;

    /// The runtime of the processes.
    type Runtime: Runtime<Sleep: Send> + Spawn + SpawnBlocking;

    /// Returns a store with connections of its own, that waits [`FOREVER`].
    fn store(&self) -> Self::Store;

    /// Returns the runtime.
    fn runtime(&self) -> Self::Runtime;

    /// Runs a future on this thread, in the runtime.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// From now on the server accepts connections and commands, and answers nothing.
    fn silence(&self);

    /// Ends the silence: earlier commands are answered.
    fn heal(&self);

    /// Ends all connections.
    fn cut(&self);
}
