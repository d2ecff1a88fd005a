//! The layer that admits in `call`, and its settings.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use bulklink::partitions::{Class, Lookup};
use bulklink::runtime::Runtime;
use bulklink::{Bulkhead, Partitions, Request};
use tower_layer::Layer;
use tower_service::Service;

use crate::admission::Admission;
#[cfg(feature = "http")]
use crate::admission::Extension;
use crate::deadline::Origin;
use crate::future::Config;
use crate::outcome::Outcome;
use crate::{BulkheadService, Errors};

/// Puts a bulkhead around a service: each request `Q` runs in a slot of it.
///
/// All services that one layer makes share the bulkhead, and so do all layers that are made of its
/// clones. For a limit of its own, a route needs a bulkhead of its own.
///
/// | the layer | methods |
/// | --- | --- |
/// | finds the bulkhead | [`new`](BulkheadLayer::new), [`keyed`], `keyed_by_header` |
/// | reads the call's own limits | [`cost`], [`class`], [`wait_limit`], [`deadline_after`], `deadline_from` |
/// | reads other settings | [`exempt`](BulkheadLayer::exempt), [`request`](BulkheadLayer::request) |
/// | ends late requests | [`cancel_at_deadline`](BulkheadLayer::cancel_at_deadline) |
/// | answers, for a server | `respond`, `respond_with`, `share_slot` |
/// | holds the slot, for a client | `hold_body`, `forward_deadline` |
///
/// [`cost`]: BulkheadLayer::cost
/// [`class`]: BulkheadLayer::class
/// [`wait_limit`]: BulkheadLayer::wait_limit
/// [`deadline_after`]: BulkheadLayer::deadline_after
/// [`keyed`]: BulkheadLayer::keyed
///
/// ```
/// use bulklink_tokio::Bulkhead;
/// use bulklink_tower::BulkheadLayer;
/// use std::time::Duration;
/// use tower::{ServiceBuilder, ServiceExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), bulklink_tower::BoxError> {
/// let reports = Bulkhead::builder("reports").capacity(100).waiting_room(20).build()?;
/// let layer = BulkheadLayer::new(&reports)
///     .cost(|pages: &usize| *pages)
///     .wait_limit(|_| Some(Duration::from_secs(2)));
///
/// let print = async |pages: usize| Ok::<_, std::io::Error>(format!("{pages} pages"));
/// let printer = ServiceBuilder::new().layer(layer).service_fn(print);
/// assert_eq!(printer.oneshot(3).await?, "3 pages");
/// # Ok(())
/// # }
/// ```
///
/// # Adaptive limits
///
/// Where the bulkhead has an [adaptive limit](bulklink::Builder::adaptive), this and the other
/// layers set how each call ended. An overload is a timeout, a rejection by a bulkhead inside, a
/// call that is dropped or cancelled at its deadline, and, for HTTP, the statuses 408, 429, 503 and
/// 504. Other errors, other statuses from 500 on, bodies that fail and calls that are dropped
/// earlier are ignored. The rest are successes. The status of gRPC is not read.
#[derive(Debug)]
pub struct BulkheadLayer<Q, R: Runtime, O = Errors> {
    admission: Admission<Q, R>,
    outcome: O,
}

impl<Q, R: Runtime> BulkheadLayer<Q, R> {
    /// Makes a layer of a bulkhead.
    pub fn new(bulkhead: &Bulkhead<R>) -> Self {
        BulkheadLayer { admission: Admission::new(bulkhead), outcome: Errors }
    }

    /// Makes a layer of partitions, such as one for each tenant; `key` finds the key in a request.
    /// It is asked again for a request that is rejected.
    ///
    /// A key that must be computed is put into the request by a layer outside of this one.
    pub fn keyed<L, K, S, G>(partitions: &Partitions<K, R, S>, key: G) -> Self
    where
        L: Lookup<K> + ?Sized,
        K: Send + 'static,
        S: BuildHasher + Send + Sync + 'static,
        G: Fn(&Q) -> &L + Send + Sync + 'static,
    {
        BulkheadLayer { admission: Admission::keyed(partitions, key), outcome: Errors }
    }
}

impl<Q, R: Runtime, O> BulkheadLayer<Q, R, O> {
    /// Lets the requests through for which `is_exempt` returns `true`, without a slot: health
    /// checks, for example.
    #[must_use]
    pub fn exempt(self, is_exempt: impl Fn(&Q) -> bool + Send + Sync + 'static) -> Self {
        self.rule(move |request, call| (!is_exempt(request)).then_some(call))
    }

    /// Sets the cost of a request, in units of capacity; one, without this.
    #[must_use]
    pub fn cost(self, cost: impl Fn(&Q) -> usize + Send + Sync + 'static) -> Self {
        self.rule(move |request, call| Some(call.cost(cost(request))))
    }

    /// Sets the class of a request, in partitions that [share a
    /// capacity](Partitions::class); without this, it is the class that the partitions were given.
    /// It has no effect in a bulkhead, and it is asked again for a request that is rejected.
    ///
    /// The class comes before the turns of keys, so the service decides on it: by the route, by an
    /// extension that its own code has put into the request, or by a header if the clients are its
    /// own.
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// use bulklink_tokio::partitions::Class;
    /// use bulklink_tower::BulkheadLayer;
    ///
    /// # let builder = Partitions::builder("models").shared_capacity(4).max_partitions(10);
    /// # let models: Partitions<String> = builder.build()?;
    /// struct Ask {
    ///     tenant: String,
    ///     is_batch: bool,
    /// }
    ///
    /// let layer = BulkheadLayer::keyed(&models, |ask: &Ask| &ask.tenant).class(|ask| {
    ///     if ask.is_batch { Class::Background } else { Class::Normal }
    /// });
    /// # let _: BulkheadLayer<_, _> = layer;
    /// # Ok::<(), bulklink_tower::BoxError>(())
    /// ```
    #[must_use]
    pub fn class(mut self, class: impl Fn(&Q) -> Class + Send + Sync + 'static) -> Self {
        self.admission.set_class(class);
        self
    }

    /// Sets how long a request waits at most for its slot, where `limit` returns a limit.
    #[must_use]
    pub fn wait_limit(self, limit: impl Fn(&Q) -> Option<Duration> + Send + Sync + 'static) -> Self {
        self.rule(move |request, call| {
            Some(match limit(request) {
                Some(limit) => call.within(limit),
                None => call,
            })
        })
    }

    /// Sets in what time the whole request is to be over, with its work, where `time` returns one:
    /// its wait then ends early enough, as with [`Request::deadline_after`].
    ///
    /// A request that is admitted goes on after its deadline, unless it is
    /// [cancelled](BulkheadLayer::cancel_at_deadline) then. For requests of HTTP, the time begins
    /// at the outermost layer that reads one. This replaces an earlier `deadline_after`.
    #[must_use]
    pub fn deadline_after(self, time: impl Fn(&Q) -> Option<Duration> + Send + Sync + 'static) -> Self {
        self.with_deadline(move |request| Some((time(request)?, Origin::Caller)))
    }

    /// As [`deadline_after`](BulkheadLayer::deadline_after), with a note in the request.
    pub(crate) fn with_deadline(
        mut self,
        time: impl Fn(&mut Q) -> Option<(Duration, Origin)> + Send + Sync + 'static,
    ) -> Self {
        self.admission.set_deadline(time);
        self
    }

    /// Cancels requests at their [deadline](BulkheadLayer::deadline_after): the service's future is
    /// dropped, the slot is given back, and the answer is
    /// [`DeadlinePassed`](crate::DeadlinePassed), or the status 504. A response with its head there
    /// in time is not cut off, and requests that are exempt are not cancelled; nor are those with a
    /// deadline that is set by [`request`](BulkheadLayer::request).
    ///
    /// That is 2 ms after the deadline, so that a client inside which has [the
    /// same](crate::Deadline::attach) ends first: its error is logged, and counted by its guard.
    ///
    /// A request with a deadline then has a timer, which is made if its first poll does not
    /// complete. Outside of a runtime with timers, that poll panics as the runtime's own timers do.
    #[must_use]
    pub fn cancel_at_deadline(mut self) -> Self {
        self.admission.cancel_at_deadline();
        self
    }

    #[cfg(feature = "http")]
    pub(crate) fn with_extension(mut self, extension: Extension<Q>) -> Self {
        self.admission.set_extension(extension);
        self
    }

    /// Sets up the call for the slot: any of the settings of a [`Request`]. A deadline that is set
    /// here replaces that of the layer and of the request.
    #[must_use]
    pub fn request<F>(self, adjust: F) -> Self
    where
        F: Fn(&Q, Request<R::Instant>) -> Request<R::Instant> + Send + Sync + 'static,
    {
        self.rule(move |request, call| Some(adjust(request, call)))
    }

    fn rule<F>(mut self, rule: F) -> Self
    where
        F: Fn(&Q, Request<R::Instant>) -> Option<Request<R::Instant>> + Send + Sync + 'static,
    {
        self.admission.add_rule(rule);
        self
    }

    #[cfg(feature = "http")]
    pub(crate) fn with_outcome<P>(self, outcome: impl FnOnce(&str) -> P) -> BulkheadLayer<Q, R, P> {
        let outcome = outcome(self.admission.label());
        BulkheadLayer { admission: self.admission, outcome }
    }

    #[cfg(feature = "http")]
    pub(crate) fn map_outcome(self, change: impl FnOnce(O) -> O) -> Self {
        BulkheadLayer { admission: self.admission, outcome: change(self.outcome) }
    }
}

/// The bounds are those of the service, so that the compiler names what is missing here.
impl<S, Q, R, O> Layer<S> for BulkheadLayer<Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    type Service = BulkheadService<S, Q, R, O>;

    fn layer(&self, inner: S) -> Self::Service {
        let config = Config { admission: self.admission.clone(), outcome: self.outcome.clone() };
        BulkheadService::new(inner, Arc::new(config))
    }
}

impl<Q, R: Runtime, O: Clone> Clone for BulkheadLayer<Q, R, O> {
    fn clone(&self) -> Self {
        BulkheadLayer { admission: self.admission.clone(), outcome: self.outcome.clone() }
    }
}
