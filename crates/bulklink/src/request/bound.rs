//! A request bound to its bulkhead or partition, with every way to ask.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::time::Duration;

use bulklink_core::Request as CoreRequest;

use crate::acquire::claim::Claim;
use crate::gate::shared::Shared;
use crate::{
    Clock, ExecuteFallibleOwned, ExecuteOwned, OwnedSlot, OwnedSlotFuture, Rejection, Request, Runtime, Wrapped,
};

/// A [`Request`] bound to the bulkhead that it asks: a call that has not been made yet.
///
/// [`Bulkhead::with`](crate::Bulkhead::with), [`within`](crate::Bulkhead::within) and
/// [`owned`](crate::Bulkhead::owned) bind a request to a bulkhead, and
/// [`Partitions::key`](crate::Partitions::key) to the partition of a key. Each method asks once,
/// and is that of [`Bulkhead`](crate::Bulkhead) with the same name, with two differences: the call
/// has the cost, the limit and the deadline of the request; and its slot or future borrows nothing,
/// so that it can move to another task.
///
/// A request of a partition has entered that partition, and [keeps it](crate::Partitions#leases)
/// until it is dropped or its operation has ended.
///
/// ```
/// # use bulklink_tokio::{Bulkhead, Partitions, Request};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let payments = Bulkhead::builder("payments").capacity(10).waiting_room(50).build()?;
/// # let builder = Partitions::builder("tenants").capacity(10).max_partitions(10);
/// # let tenants: Partitions<String> = builder.build()?;
/// let hurried = Duration::from_millis(250);
/// let receipt = payments.within(hurried).execute(async { "paid" }).await?;
/// # assert_eq!(receipt, "paid");
///
/// let large = Request::new().cost(2).within(hurried);
/// let slot = payments.with(large).slot().await?;
/// let of_ann = tenants.key("ann").with(large).slot().await?;
/// # assert_eq!((slot.cost(), of_ann.cost()), (2, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a request does nothing until it asks"]
pub struct BoundRequest<R: Clock> {
    entered: Result<Entered, Rejection>,
    runtime: R,
    request: Request<R::Instant>,
}

/// A call's hold of its bulkhead before it asks: the lease of its partition, if it has one.
struct Entered {
    /// `None` once the call asks, and has taken the lease over.
    shared: Option<Arc<Shared>>,
}

/// A request that is resolved: the bulkhead or the rejection of a call that got no partition, the
/// runtime, and the request in the gate's time.
pub(crate) type Resolved<R> = (Result<Arc<Shared>, Rejection>, R, CoreRequest);

impl Entered {
    fn ask(mut self) -> Arc<Shared> {
        self.shared.take().expect("a call asks once")
    }
}

impl Clone for Entered {
    fn clone(&self) -> Self {
        if let Some(shared) = &self.shared {
            if let Some(partition) = shared.partition() {
                shared.lease_again(partition);
            }
        }
        Entered { shared: self.shared.clone() }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            if let Some(partition) = shared.partition() {
                shared.end_lease(partition);
            }
        }
    }
}

impl<R: Clock> BoundRequest<R> {
    /// Binds a request to a bulkhead, or to a partition that it has leased.
    #[inline]
    pub(crate) fn new(shared: Arc<Shared>, runtime: R, request: Request<R::Instant>) -> Self {
        BoundRequest { entered: Ok(Entered { shared: Some(shared) }), runtime, request }
    }

    /// The request of a key that got no partition. The call returns the rejection, and counts it.
    #[cold]
    pub(crate) fn refused(rejection: Rejection, runtime: R) -> Self {
        BoundRequest { entered: Err(rejection), runtime, request: Request::new() }
    }

    /// Takes the lease over, if there is one.
    #[inline]
    pub(crate) fn resolve(self) -> Resolved<R> {
        let BoundRequest { entered, runtime, request } = self;
        // The clock is foreign: if it panics here, `entered` ends the lease.
        let request = request.on(&runtime);
        let entered = entered.map(Entered::ask).map_err(|rejection| rejection.for_request(&request));
        (entered, runtime, request)
    }
}

/// # Bind
impl<R: Clock> BoundRequest<R> {
    /// Asks with this request in place of the present one.
    #[inline]
    pub fn with(self, request: Request<R::Instant>) -> Self {
        BoundRequest { request, ..self }
    }

    /// Waits at most `limit`, as [`Request::within`].
    #[inline]
    pub fn within(self, limit: Duration) -> Self {
        let request = self.request.within(limit);
        self.with(request)
    }
}

/// # Acquire a slot
impl<R: Runtime> BoundRequest<R> {
    /// Acquires a slot, and waits in FIFO order until one is free or a limit passes.
    ///
    /// # Errors
    ///
    /// As [`Bulkhead::slot`](crate::Bulkhead::slot); also if the deadline is past, if the cost is
    /// zero or more than the whole capacity, or if the key got no partition.
    ///
    /// # Fairness
    ///
    /// First come, first served, counted from the first poll.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up its place in the queue. No slot is lost.
    ///
    /// # Panics
    ///
    /// As [`Bulkhead::slot`](crate::Bulkhead::slot).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::{Bulkhead, Request};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").capacity(2).waiting_room(1).build()?;
    /// let slot = payments.with(Request::new().cost(2)).slot().await?;
    /// tokio::spawn(async move { drop(slot) });
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias("acquire", "acquire_many", "acquire_owned", "slot_owned", "slot_with", "slot_within"))]
    #[inline]
    pub fn slot(self) -> OwnedSlotFuture<R> {
        match self.resolve() {
            (Ok(shared), runtime, request) => OwnedSlotFuture::new(shared, runtime, request),
            (Err(rejection), runtime, _) => OwnedSlotFuture::refused(runtime, rejection),
        }
    }
}

impl<R: Clock> BoundRequest<R> {
    /// Takes a slot if one is free now and no call waits for it. It is not async.
    ///
    /// # Errors
    ///
    /// As [`slot`](BoundRequest::slot), and if no slot is free.
    #[doc(alias("try_acquire", "try_acquire_many", "try_acquire_owned", "try_slot_with"))]
    #[inline]
    pub fn try_slot(self) -> Result<OwnedSlot, Rejection> {
        let (entered, _, request) = self.resolve();
        // Here a rejection is returned immediately. A future counts it when it is polled.
        let mut claim = Claim::new(entered.inspect_err(Rejection::count)?, None);
        claim.try_enter(&request)?;
        Ok(OwnedSlot::new(claim))
    }
}

/// # Run an operation
impl<R: Runtime> BoundRequest<R> {
    /// Runs `operation` in a slot, as [`Bulkhead::execute`](crate::Bulkhead::execute). A task can
    /// be spawned with the future, and its type can be named.
    ///
    /// # Errors
    ///
    /// As [`slot`](BoundRequest::slot). The operation has then not begun.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the operation, and then releases its slot or gives up its place in
    /// the queue.
    ///
    /// # Panics
    ///
    /// As [`slot`](BoundRequest::slot), and if it is polled again after it has completed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::Bulkhead;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").parallelism(2).build()?;
    /// let task = tokio::spawn(payments.owned().execute(async { "paid" }));
    /// assert_eq!(task.await??, "paid");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias("execute_owned", "execute_with", "execute_within", "execute_before"))]
    #[inline]
    pub fn execute<F: Future>(self, operation: F) -> ExecuteOwned<F, R> {
        ExecuteOwned::new(self.ignored().slot(), operation)
    }

    /// The request of an operation that can be cancelled.
    #[inline]
    fn ignored(mut self) -> Self {
        self.request = self.request.ignored();
        self
    }

    /// As [`execute`](BoundRequest::execute), for an operation that can fail: a rejection and the
    /// operation's own error come as one error type. It serves as the future of a `tower` service,
    /// without a box.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Rejected`](crate::ExecuteError::Rejected) as
    /// [`execute`](BoundRequest::execute), and
    /// [`ExecuteError::Operation`](crate::ExecuteError::Operation) with the operation's own error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::runtime::Runtime;
    /// # use bulklink::{Bulkhead, ExecuteFallibleOwned};
    /// # trait Service<Q> {
    /// #     type Future: Future;
    /// #     fn call(&mut self, request: Q) -> Self::Future;
    /// # }
    /// /// A service each of whose calls runs in a slot.
    /// struct Limited<S, R> {
    ///     service: S,
    ///     bulkhead: Bulkhead<R>,
    /// }
    ///
    /// impl<Q, T, E, S, R> Service<Q> for Limited<S, R>
    /// where
    ///     S: Service<Q, Future: Future<Output = Result<T, E>>>,
    ///     R: Runtime,
    /// {
    ///     type Future = ExecuteFallibleOwned<S::Future, R>;
    ///
    ///     fn call(&mut self, request: Q) -> Self::Future {
    ///         self.bulkhead.owned().execute_fallible(self.service.call(request))
    ///     }
    /// }
    /// ```
    #[doc(alias("execute_fallible_owned", "execute_fallible_with"))]
    #[inline]
    pub fn execute_fallible<T, E, F>(self, operation: F) -> ExecuteFallibleOwned<F, R>
    where
        F: Future<Output = Result<T, E>>,
    {
        ExecuteFallibleOwned::new(self.ignored().slot(), operation)
    }

    /// Wraps an async function, so that each call of it asks with this request, as
    /// [`Bulkhead::wrap`](crate::Bulkhead::wrap). A deadline that is a time from the call counts
    /// from each call.
    ///
    /// The function of a key keeps the key's partition for as long as it exists, and if the key got
    /// none, rejects each call. For a key that lies in the argument, write a closure:
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// struct Payment {
    ///     tenant: String,
    ///     amount: u32,
    /// }
    ///
    /// async fn send(payment: Payment) -> String {
    ///     format!("sent {}", payment.amount)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let builder = Partitions::builder("tenants").parallelism(2).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// let send = move |payment: Payment| tenants.key(&payment.tenant).execute(send(payment));
    /// let payment = Payment { tenant: "ann".to_string(), amount: 5 };
    /// assert_eq!(send(payment).await?, "sent 5");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "decorator")]
    pub fn wrap<F>(self, function: F) -> Wrapped<F, R> {
        Wrapped::new(function, self)
    }
}

impl<R: Clock> fmt::Debug for BoundRequest<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = match &self.entered {
            Ok(entered) => entered.shared.as_deref().map(|shared| &**shared.label()),
            Err(rejection) => Some(rejection.label()),
        };
        f.debug_struct("BoundRequest").field("label", &label).finish_non_exhaustive()
    }
}
