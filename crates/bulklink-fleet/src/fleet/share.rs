//! The share of a process, as its program sees it.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use bulklink::InvalidArgument;
use bulklink::runtime::Clock;
use futures_util::future::{Either, select};

use super::ask::Ask;
use super::reply::Reply;
use super::seat::Seat;
use super::state::Standing;
use super::{FencingToken, LeaseLost, ResizeError, ShareStatus};
use crate::StoreError;
use crate::share::Status;

/// The share of this process in a limit of its fleet; returned by
/// [`ShareBuilder::connect`](super::ShareBuilder::connect).
///
/// Cheap to clone. Dropping it changes nothing: the share lasts as long as its bulkhead.
///
/// ```
/// use bulklink_tokio::Bulkhead;
///
/// # use bulklink_fleet::{Fleet, MemoryStore};
/// # use bulklink_tokio::Tokio;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let fleet = Fleet::builder(MemoryStore::new(Tokio), Tokio).namespace("prod").build()?;
/// let import = Bulkhead::builder("import").parallelism(1).waiting_room(10).build()?;
/// let share = fleet.share(&import).limit(1).connect().await?;
///
/// // The operation is dropped if a lease ends, because another process may begin one then.
/// let slot = import.slot().await?;
/// let rows = share.until_lost(async { 42 }).await?;
/// # assert_eq!(rows, 42);
///
/// let status = share.status();
/// println!("{} of {} units are granted to this process", status.granted, status.limit);
/// # assert_eq!((status.granted, status.limit, status.in_use), (1, 1, 1));
/// # Ok(())
/// # }
/// ```
pub struct FleetShare<R> {
    pub(super) seat: Arc<Seat>,
    pub(super) runtime: R,
}

impl<R> FleetShare<R> {
    /// Returns the label of its bulkhead, which is the name of the limit in the namespace.
    #[must_use]
    pub fn label(&self) -> String {
        self.seat.name.label()
    }

    /// Returns which of all shares of this fleet it is, for metrics that begin anew with it.
    #[doc(hidden)]
    #[must_use]
    pub fn number(&self) -> u64 {
        self.seat.number
    }
}

impl<R: Clock> FleetShare<R> {
    /// Returns all figures.
    #[must_use]
    pub fn status(&self) -> ShareStatus {
        self.seat.status(self.runtime.now())
    }

    /// Waits until a lease ends while units are in use, or data of the store is lost without a
    /// quarantine, or the share has ended: others may have these units then. Losses before this
    /// call do not count.
    ///
    /// # Cancel safety
    ///
    /// The future has no effect.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<R> {
        let (seat, before) = (Arc::clone(&self.seat), self.seat.losses());
        async move {
            poll_fn(|context| {
                seat.poll(context, |standing, lost| (lost > before || *standing == Standing::Left).then_some(()))
            })
            .await;
        }
    }

    /// Runs an operation until it ends, or is dropped because a lease has ended while it ran:
    /// others may have its unit then.
    ///
    /// # Errors
    ///
    /// [`LeaseLost`] if the operation was dropped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the operation.
    pub fn until_lost<F: Future>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<F::Output, LeaseLost>> + use<F, R> {
        let lost = self.lost();
        async move {
            match select(pin!(lost), pin!(operation)).await {
                Either::Left(_) => Err(LeaseLost),
                Either::Right((output, _)) => Ok(output),
            }
        }
    }

    /// Returns a fencing token for an operation that has a slot, and `None` if the process has no
    /// unit now.
    ///
    /// It is larger than all before, of this process and of all that had units before: with a limit
    /// of 1, a resource that refuses a token that is less than the largest so far is never written
    /// by two operations in turn. With a larger limit, tokens order the grants of units.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        self.seat.token(self.runtime.now())
    }

    /// Changes the limit of the fleet, for all its processes, until one declares another
    /// [configuration](super::ShareBuilder::config).
    ///
    /// Units in use above a lower limit stay in use until they are given back.
    ///
    /// # Errors
    ///
    /// If the limit is zero or too large, if another process has changed it since this process
    /// heard of it last, or if the store cannot be reached: then the limit may have changed.
    ///
    /// # Cancel safety
    ///
    /// The change is on its way when this is called, before the future is polled.
    pub fn resize(&self, limit: usize) -> impl Future<Output = Result<(), ResizeError>> + Send + use<R> {
        let reply = Arc::<Reply<_>>::default();
        match checked_limit(Some(limit)) {
            Err(invalid) => reply.set(Err(ResizeError::Invalid(invalid))),
            Ok(limit) => {
                let (expected, reply) = (self.seat.version(), Arc::clone(&reply));
                self.seat.ask(Ask::Resize { limit, expected, reply });
            }
        }
        async move { reply.get().await }
    }

    /// Reads the state of the limit on the store: all processes, and what each has and needs.
    ///
    /// # Errors
    ///
    /// If the store cannot be reached.
    ///
    /// # Cancel safety
    ///
    /// The future has no effect.
    pub fn look(&self) -> impl Future<Output = Result<Option<Status>, StoreError>> + Send + use<R> {
        let reply = Arc::<Reply<_>>::default();
        self.seat.ask(Ask::Look { reply: Arc::clone(&reply) });
        async move { reply.get().await }
    }

    /// Leaves the fleet: no call of this bulkhead is admitted from now on, for good, and the units
    /// go back as operations end. Completes when nothing is in use and the store knows, or does not
    /// answer.
    ///
    /// # Cancel safety
    ///
    /// The process leaves when this is called, before the future is polled.
    pub fn leave(&self) -> impl Future<Output = ()> + Send + use<R> {
        let seat = Arc::clone(&self.seat);
        seat.leave();
        async move { seat.left().await }
    }
}

impl<R: Clone> Clone for FleetShare<R> {
    fn clone(&self) -> Self {
        Self { seat: Arc::clone(&self.seat), runtime: self.runtime.clone() }
    }
}

impl<R> fmt::Debug for FleetShare<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetShare").field("name", &self.seat.name).finish_non_exhaustive()
    }
}

pub(super) fn checked_limit(limit: Option<usize>) -> Result<u32, InvalidArgument> {
    let why = "must be 1 to 4,294,967,295 units";
    let value = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    let units = limit.and_then(|limit| u32::try_from(limit).ok()).filter(|limit| *limit > 0);
    units.ok_or_else(|| InvalidArgument::new("limit", value, why))
}
