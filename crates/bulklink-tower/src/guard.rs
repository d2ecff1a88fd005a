//! The layer of a guard, or of a breaker alone.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::BuildHasher;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::partitions::Lookup;
use bulklink::runtime::Runtime;
use bulklink::{Rejection, limit};
use bulklink_breaker::plumbing::{self, Admit, Admitted, KeyedGuards, Policy, Unfinished};
use bulklink_breaker::{Breaker, Classify, ErrorsFail, GuardError, Guards, OpenCircuit, Outcome};
use tower_layer::Layer;
use tower_service::Service;

use crate::deadline::{Deadline, RequestClock, ShortDeadline};
use crate::outcome::{Outcome as Answers, admitted};
use crate::rejection::find;
use crate::{BoxError, Errors};

/// Puts a [`Guard`](bulklink_breaker::Guard) around a service, or a [`Breaker`] alone: each request
/// is a call of it.
///
/// All services that it makes, and their clones, share the guard. With
/// [`keyed`](GuardLayer::keyed), each key has its own. So `G` is a `Guard`, a `Breaker` or
/// [`KeyedGuards`]: the bounds `Policy` and `Admit` hold for these.
///
/// ```
/// use bulklink_breaker::{Guard, OpenCircuit};
/// use bulklink_tokio::Bulkhead;
/// use bulklink_tower::GuardLayer;
/// use std::time::Duration;
/// use tower::{Service, ServiceBuilder, ServiceExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), bulklink_tower::BoxError> {
/// let bulkhead = Bulkhead::builder("payments").parallelism(10).waiting_room(50).build()?;
/// let guard = Guard::builder(&bulkhead).run_limit(Duration::from_secs(2)).build()?;
///
/// let pay = async |amount: u32| Ok::<_, std::io::Error>(format!("paid {amount}"));
/// let mut payments = ServiceBuilder::new().layer(GuardLayer::new(&guard)).service_fn(pay);
///
/// match payments.ready().await?.call(42).await {
///     Ok(receipt) => assert_eq!(receipt, "paid 42"),
///     Err(error) => match error.downcast_ref::<OpenCircuit>() {
///         Some(open) => println!("try again in {:?}", open.retry_after),
///         None => println!("{error}"),
///     },
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The error of its services is a [`BoxError`], as that of all layers here, so that they nest in
/// any order. It is the service's own error, or one of these, which `downcast_ref` finds:
///
/// | the request | the error |
/// | --- | --- |
/// | comes while the circuit is open | [`OpenCircuit`] |
/// | is rejected by the guard's bulkhead | [`Rejection`](bulklink::Rejection) |
/// | runs longer than the guard's run limit | [`TimedOut`](bulklink_breaker::TimedOut) |
///
/// # What counts
///
/// The result of the service counts as the [classifier](bulklink_breaker::GuardBuilder::classify)
/// of the guard decides. A status such as 503 is an `Ok` of an HTTP service, so that needs
/// `ByHttpStatus`. A rejection or an open circuit of a layer inside counts for neither side, as an
/// error, and where both layers [respond](GuardLayer::respond), as a response: the dependency was
/// not asked.
///
/// # Deadlines
///
/// In a layer that responds or holds the body, a request whose [`Deadline`](crate::Deadline) a
/// layer outside has left, or a request of reqwest with a timeout, waits for its slot no longer
/// than that allows. It is not cancelled then, unless the layer outside does it. The time of the
/// wait is no part of the timeout that is left.
///
/// A failure when the deadline has passed counts as a call that is dropped, unless the deadline
/// left as long as the run limit (7/8 of it at least), or is the service's own: the default or the
/// ceiling of a [`TimeoutHeader`](crate::http::TimeoutHeader). Without a run limit, the timeout of
/// a request of reqwest is the service's own, too.
///
/// # When the call ends
///
/// The slot, and a probe of a half-open circuit, are held until the service has answered, which for
/// HTTP is the head of the response. With [`hold_body`](GuardLayer::hold_body) and
/// [`respond`](GuardLayer::respond), they are held until its body has ended, and a body that fails
/// is a failure:
///
/// | the body | the call counts as |
/// | --- | --- |
/// | ends | the head was classified |
/// | fails | failure |
/// | is dropped before its end | the head was classified: servers drop whole bodies |
///
/// The run limit is on the service's answer, and so on the head, and so is the time from which a
/// call is slow. A call with a head that is no
/// success has ended with it, and only its slot is held on. A probe with a body that takes longer
/// than the probe's lease can be joined by another.
#[derive(Clone)]
pub struct GuardLayer<G, O = Errors> {
    guard: G,
    /// For the timeouts of clients.
    clock: RequestClock,
    outcome: O,
}

/// A [`GuardLayer`] of a breaker alone.
///
/// ```
/// use bulklink_breaker::Breaker;
/// use bulklink_tokio::Tokio;
/// use bulklink_tower::BreakerLayer;
/// use tower::ServiceBuilder;
///
/// let breaker = Breaker::builder_on(Tokio, "search").build()?;
/// let search = ServiceBuilder::new()
///     .layer(BreakerLayer::new(&breaker))
///     .service_fn(async |query: String| Ok::<_, std::io::Error>(query));
/// # _ = search;
/// # Ok::<(), bulklink::InvalidArgument>(())
/// ```
pub type BreakerLayer<K = ErrorsFail, O = Errors> = GuardLayer<Breaker<K>, O>;

impl<G: Policy> GuardLayer<G> {
    /// Makes a layer of a guard or a breaker.
    #[must_use]
    pub fn new(guard: &G) -> Self {
        GuardLayer { guard: guard.clone(), clock: RequestClock::of_the_machine(), outcome: Errors }
    }
}

impl<Q: 'static, R: Runtime<Sleep: Send, Instant: Send>, C: Send + Sync + 'static> GuardLayer<KeyedGuards<Q, R, C>> {
    /// Makes a layer of [guards by key](Guards), such as one for each upstream host; `key` finds
    /// the key in a request. It is asked again for a request that is rejected.
    ///
    /// ```
    /// use bulklink_breaker::Guards;
    /// use bulklink_tokio::Partitions;
    /// use bulklink_tower::GuardLayer;
    /// use tower::{Service, ServiceBuilder, ServiceExt};
    ///
    /// struct Query {
    ///     host: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), bulklink_tower::BoxError> {
    /// let partitions = Partitions::<String>::builder("upstreams").parallelism(10);
    /// let upstreams = Guards::builder(&partitions.max_partitions(1_000).build()?).build()?;
    ///
    /// let ask = async |query: Query| Ok::<_, std::io::Error>(format!("from {}", query.host));
    /// let by_host = GuardLayer::keyed(&upstreams, |query: &Query| &*query.host);
    /// let mut search = ServiceBuilder::new().layer(by_host).service_fn(ask);
    ///
    /// let query = Query { host: "a.example.com".into() };
    /// assert_eq!(search.ready().await?.call(query).await?, "from a.example.com");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn keyed<L, K, S, F>(guards: &Guards<K, R, C, S>, key: F) -> Self
    where
        L: Lookup<K> + ?Sized,
        K: Send + Sync + 'static,
        S: BuildHasher + Send + Sync + 'static,
        F: Fn(&Q) -> &L + Send + Sync + 'static,
    {
        GuardLayer::new(&KeyedGuards::new(guards, key))
    }
}

#[cfg(feature = "http")]
impl<G, P> GuardLayer<G, P> {
    pub(crate) fn with_outcome<O>(self, outcome: impl FnOnce(&G) -> O) -> GuardLayer<G, O> {
        let outcome = outcome(&self.guard);
        GuardLayer { guard: self.guard, clock: self.clock, outcome }
    }
}

impl<S, G: Clone, O: Clone> Layer<S> for GuardLayer<G, O> {
    type Service = GuardService<S, G, O>;

    fn layer(&self, inner: S) -> Self::Service {
        GuardService { inner, layer: self.clone() }
    }
}

impl<G: fmt::Debug, O> fmt::Debug for GuardLayer<G, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardLayer").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// A service behind a guard or a breaker; made by a [`GuardLayer`].
///
/// It is always ready. Each request has its own clone of the service inside, which is asked whether
/// it is ready once the request is let through: a clone that is ready and never called holds
/// nothing. If it fails to become ready, that is the result of the request.
///
/// # Cancel safety
///
/// A future that is dropped drops the request or the service's future, and then gives back its
/// place in the queue, or its slot and its place as a probe.
#[derive(Clone)]
pub struct GuardService<S, G, O = Errors> {
    inner: S,
    layer: GuardLayer<G, O>,
}

impl<S, G, O> GuardService<S, G, O> {
    /// Returns the guard or the breaker.
    pub const fn guard(&self) -> &G {
        &self.layer.guard
    }

    /// Returns the service inside.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the service inside.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Returns the service inside, without its guard.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

/// How a guarded request is answered. Only this crate implements it.
pub trait Guarding<Q, A, E>: Answers<Q, A, E> {
    /// Answers a request that was not let through, or not within its run limit.
    fn refused(
        &self,
        protocol: Self::Protocol,
        error: GuardError<Infallible>,
        estimated_wait: impl FnOnce() -> Option<Duration>,
    ) -> Result<Self::Response, Self::Error>;

    /// Makes the response of a request that has succeeded so far.
    fn succeeded(response: A, held: Option<Self::Held>, call: Ongoing) -> Self::Response;

    /// Returns how long before the deadline the service is told to end.
    fn margin(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns whether the result is that of a layer inside, which has not called the service.
    fn is_refusal(result: Result<&A, &Self::Error>) -> bool;
}

/// A call whose answer is on its way.
#[derive(Debug)]
pub struct Ongoing {
    call: Unfinished,
    deadline: Option<ShortDeadline>,
}

impl Ongoing {
    /// Returns the label of the breaker.
    #[cfg(feature = "http")]
    pub(crate) fn label(&self) -> Option<std::sync::Arc<str>> {
        self.call.label()
    }

    /// The answer has ended, or has failed.
    pub(crate) fn end(self, has_failed: bool) {
        if has_failed && self.deadline.is_some_and(|deadline| deadline.has_passed()) {
            self.call.cancel();
        } else {
            self.call.end(has_failed);
        }
    }
}

/// Returns whether the error says that an operation has not begun.
pub(crate) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    find::<Rejection>(error).is_some() || find::<OpenCircuit>(error).is_some()
}

impl<Q, A, E: Into<BoxError>> Guarding<Q, A, E> for Errors {
    fn refused(
        &self,
        (): (),
        error: GuardError<Infallible>,
        _: impl FnOnce() -> Option<Duration>,
    ) -> Result<A, BoxError> {
        Err(error.into_boxed())
    }

    fn succeeded(response: A, held: Option<Self::Held>, call: Ongoing) -> A {
        call.end(false);
        drop(held);
        response
    }

    fn is_refusal(result: Result<&A, &BoxError>) -> bool {
        result.is_err_and(|error| is_refusal(&**error))
    }
}

impl<S, Q, G, O> Service<Q> for GuardService<S, G, O>
where
    S: Service<Q, Future: Send, Response: Send, Error: Send> + Clone + Send + 'static,
    Q: Send + 'static,
    G: Admit<Q> + Policy<Classifier: Classify<S::Response, S::Error>>,
    O: Guarding<Q, S::Response, S::Error, Held: Send, Protocol: Send> + Send + Sync + 'static,
{
    type Response = O::Response;
    type Error = O::Error;
    type Future = Pin<Box<dyn Future<Output = Result<O::Response, O::Error>> + Send>>;

    /// Is always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Q) -> Self::Future {
        let GuardService { inner: mut service, layer: GuardLayer { guard, clock, outcome } } = self.clone();
        Box::pin(async move {
            let protocol = outcome.protocol(&request);
            let deadline = outcome.deadline(&request, &clock, None);
            let ask = guard.ask(&request);
            let Admitted { call, slot } = match guard.admit(ask, deadline.as_ref().map(Deadline::left)).await {
                Ok(admitted) => admitted,
                Err(error) => return outcome.refused(protocol, error, || guard.estimated_wait(&request)),
            };
            let held = slot.map(|slot| admitted(&outcome, &mut request, slot));
            // Declared after what holds the slot, and so dropped before it.
            let mut call = call;
            let short = deadline.as_ref().and_then(|it| it.shorter_than(guard.run_limit(), outcome.margin()));
            let result = {
                let outcome = &outcome;
                let operation = pin!(async move {
                    poll_fn(|context| service.poll_ready(context)).await?;
                    if let Some(deadline) = deadline {
                        outcome.leave_deadline(&mut request, deadline, None);
                    }
                    service.call(request).await
                });
                guard.run(&mut call, operation).await
            };
            let result = match result {
                Ok(result) => result,
                Err(timed_out) => {
                    plumbing::time_out(call);
                    if let Some(held) = &held {
                        O::judged(held, |slot| slot.set_outcome(limit::Outcome::Overload));
                    }
                    drop(held);
                    return outcome.refused(protocol, GuardError::TimedOut(timed_out), || None);
                }
            };
            if let (Some(held), Ok(response)) = (&held, &result) {
                O::judged(held, |slot| slot.set_outcome(O::load(response)));
            }
            let verdict = guard.classifier().classify(&result);
            let result = result.map_err(O::failed);
            let verdict = if O::is_refusal(result.as_ref()) { Outcome::Ignore } else { verdict };
            match result {
                Ok(response) if verdict == Outcome::Success => {
                    let call = Ongoing { call: Unfinished::new(call), deadline: short };
                    Ok(O::succeeded(response, held, call))
                }
                result => {
                    if verdict == Outcome::Failure && short.is_some_and(|deadline| deadline.has_passed()) {
                        // As one that is dropped at its deadline.
                        drop(call);
                    } else {
                        call.settle(verdict);
                    }
                    result.map(|response| O::answered(response, held))
                }
            }
        })
    }
}

impl<S: fmt::Debug, G: fmt::Debug, O> fmt::Debug for GuardService<S, G, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("GuardService");
        debug.field("inner", &self.inner).field("guard", &self.layer.guard).finish_non_exhaustive()
    }
}
