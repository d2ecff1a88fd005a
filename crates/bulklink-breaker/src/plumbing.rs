//! What `bulklink-fleet` needs to share a circuit with other processes, and `bulklink-tower` for
//! its layers. Not for users.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use bulklink::InvalidArgument;

use crate::breaker::Core;
use crate::circuit::Refusal;
pub use crate::circuit::settings::{Parts, Span, Threshold, duration};
pub use crate::circuit::snapshot::Snapshot;
pub use crate::circuit::window::Window;
pub use crate::guard::KeyRequest;
pub use crate::policy::{Admit, Admitted, KeyedGuards, Policy, Unfinished};
use crate::{Breaker, BreakerBuilder, Call, Circuit, ErrorsFail, Instant, Mark, Pass, Settings};

/// The other processes of a shared circuit, as its breaker sees them.
///
/// The methods with a circuit are called under the lock of the breaker, and so is
/// [`force`](Peer::force): they must not block, nor call foreign code. None is called on the way of
/// a call that a closed circuit lets through.
pub trait Peer: Send + Sync + 'static {
    /// Returns whether the other processes are in reach.
    fn is_connected(&self) -> bool;

    /// Returns what decides on a call that wants to be let through now.
    fn access(&self, circuit: &Circuit, now: Instant) -> Access;

    /// Asks for a probe, under the lock in which `access` has returned [`Access::Ask`].
    fn ask(self: Arc<Self>) -> Asking;

    /// Counts the outcome of a call, here and for the others.
    fn settle(&self, circuit: &mut Circuit, now: Instant, pass: Pass, outcome: Option<Mark>) -> Settled;

    /// The circuit was opened or closed by hand.
    fn force(&self, is_open: bool);

    /// Sends the commands that the last inputs have left. Called under no lock.
    fn notify(&self);
}

/// What decides on a call of a shared circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The circuit of this process.
    Local,
    /// Nothing: it is rejected, because as many probes run or are asked for as may.
    Full,
    /// Only the others can let it through.
    Ask,
}

/// A call that asks for a probe. `None` if the circuit of this process decides after all. Dropping
/// it gives the probe back.
pub type Asking = Pin<Box<dyn Future<Output = Option<Result<Pass, Refusal>>> + Send>>;

/// What became of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Whether it could count.
    pub counted: bool,
    /// Whether [`Peer::notify`] has something to send.
    pub has_work: bool,
}

/// A breaker that others keep.
#[derive(Clone, Debug)]
pub struct WeakBreaker(Weak<Core>);

impl WeakBreaker {
    /// Returns the breaker, if it still exists.
    #[must_use]
    pub fn upgrade(&self) -> Option<Breaker> {
        Some(Breaker::new(self.0.upgrade()?, ErrorsFail))
    }
}

/// Returns the breaker without keeping it.
#[must_use]
pub fn downgrade<K>(breaker: &Breaker<K>) -> WeakBreaker {
    WeakBreaker(Arc::downgrade(breaker.core()))
}

/// Returns the label that the breaker will have.
#[must_use]
pub fn label<K>(builder: &BreakerBuilder<K>) -> &str {
    builder.label()
}

/// Builds a breaker with a peer, which gets the number of the breaker in this process, its settings
/// and the time.
///
/// # Errors
///
/// If a setting is impossible.
pub fn build<K, P: Peer>(
    builder: BreakerBuilder<K>,
    peer: impl FnOnce(u64, Settings, Instant) -> Arc<P>,
) -> Result<Breaker<K>, InvalidArgument> {
    let (mut core, classify) = builder.into_parts()?;
    core.share(peer);
    Ok(Breaker::new(Arc::new(core), classify))
}

/// Ends the call: its operation ran for longer than its limit.
pub fn time_out(call: Call<'static>) {
    call.time_out();
}

/// Returns the number of the breaker in this process.
#[must_use]
pub fn instance<K>(breaker: &Breaker<K>) -> u64 {
    breaker.core().instance()
}

/// Returns the time of the breaker's clock.
#[must_use]
pub fn now(breaker: &Breaker) -> Instant {
    breaker.core().now()
}

/// Changes the circuit under the lock of the breaker, and makes a transition known. The change must
/// not call foreign code.
pub fn change<T>(breaker: &Breaker, change: impl FnOnce(&mut Circuit, Instant) -> T) -> T {
    breaker.core().adopt(change)
}
