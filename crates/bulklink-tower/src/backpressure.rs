//! The layer that reserves a slot in `poll_ready`.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bulklink::runtime::Runtime;
use bulklink::{Bulkhead, OwnedSlot, OwnedSlotFuture, Rejection, plumbing};
use tower_layer::Layer;
use tower_service::Service;

use crate::admission::Admission;
use crate::future::Config;
use crate::outcome::{Outcome, admitted};
use crate::{Errors, ResponseFuture};

/// Puts a bulkhead around a service, and reserves the slot of the next request in `poll_ready`: for
/// callers that must not take on a request before there is room for it.
///
/// A reservation is of one unit. It is kept until the service is called or dropped: a clone that is
/// ready and never called keeps its slot from all others, and [closing](Bulkhead::close_and_wait)
/// from ending; so does a `Buffer` between two requests, once it has been ready. Where no caller
/// relies on `poll_ready`, use [`BulkheadLayer`](crate::BulkheadLayer) instead.
///
/// If the bulkhead rejects the reservation, the service is ready, and the next request is rejected;
/// unless `poll_ready` is called again before, and a slot is free then.
#[derive(Debug)]
pub struct BackpressureLayer<Q, R: Runtime, O = Errors> {
    bulkhead: Bulkhead<R>,
    config: Arc<Config<Q, R, O>>,
}

/// A service that is ready when it has a slot; made by a [`BackpressureLayer`].
pub struct BackpressureService<S, Q, R: Runtime, O> {
    inner: S,
    /// Dropped with the service, which gives it back.
    reservation: Reservation<R>,
    bulkhead: Bulkhead<R>,
    config: Arc<Config<Q, R, O>>,
}

enum Reservation<R: Runtime> {
    None,
    Acquiring(OwnedSlotFuture<R>),
    Acquired(OwnedSlot),
    Rejected(Rejection),
}

impl<Q, R: Runtime> BackpressureLayer<Q, R> {
    /// Makes a layer of a bulkhead.
    pub fn new(bulkhead: &Bulkhead<R>) -> Self {
        let config = Config { admission: Admission::new(bulkhead), outcome: Errors };
        BackpressureLayer { bulkhead: bulkhead.clone(), config: Arc::new(config) }
    }
}

impl<Q, R: Runtime, O> BackpressureLayer<Q, R, O> {
    #[cfg(feature = "http")]
    pub(crate) fn with_outcome<P>(self, outcome: impl FnOnce(&str) -> P) -> BackpressureLayer<Q, R, P> {
        let outcome = outcome(self.bulkhead.label());
        let config = Config { admission: self.config.admission.clone(), outcome };
        BackpressureLayer { bulkhead: self.bulkhead, config: Arc::new(config) }
    }
}

impl<S, Q, R, O> Service<Q> for BackpressureService<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    type Response = O::Response;
    type Error = O::Error;
    type Future = ResponseFuture<S, Q, R, O>;

    /// Is ready when a slot is reserved and the service inside is ready, or when the reservation
    /// was rejected.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if let Reservation::None = self.reservation {
            self.reservation = Reservation::Acquiring(self.bulkhead.owned().slot());
        }
        if let Reservation::Acquiring(slot) = &mut self.reservation {
            self.reservation = match ready!(Pin::new(slot).poll(context)) {
                Ok(slot) => reserved(slot),
                Err(rejection) => Reservation::Rejected(rejection),
            };
        }
        if let Reservation::Rejected(_) = self.reservation {
            // A service that was ready stays so. But a slot that is free by now is taken, if the
            // service inside is ready, too.
            if let Poll::Ready(Ok(())) = self.inner.poll_ready(context) {
                if let Some(slot) = plumbing::take_free_owned(&self.bulkhead) {
                    self.reservation = reserved(slot);
                }
            }
            return Poll::Ready(Ok(()));
        }
        let ready = ready!(self.inner.poll_ready(context));
        if ready.is_err() {
            self.reservation = Reservation::None;
        }
        Poll::Ready(ready.map_err(O::failed))
    }

    /// # Panics
    ///
    /// If `poll_ready` was not called before, or its slot is not there yet.
    fn call(&mut self, mut request: Q) -> Self::Future {
        let config = &self.config;
        match std::mem::replace(&mut self.reservation, Reservation::None) {
            Reservation::Acquired(slot) => {
                let is_judged = plumbing::is_judged(&slot);
                let held = admitted(&config.outcome, &mut request, slot);
                let deadline = config.deadline(&request);
                let protocol = is_judged.then(|| config.outcome.protocol(&request));
                let future = ResponseFuture::running(config.call(&mut self.inner, request, deadline), Some(held));
                match protocol {
                    Some(protocol) => future.judged(protocol, config),
                    None => future,
                }
            }
            Reservation::Rejected(rejection) => ResponseFuture::answered(config.reject(&request, rejection)),
            Reservation::None | Reservation::Acquiring(_) => panic!("called before `poll_ready` returned `Ready`"),
        }
    }
}

/// A reservation that no call uses says nothing about the load.
fn reserved<R: Runtime>(slot: OwnedSlot) -> Reservation<R> {
    if plumbing::is_judged(&slot) {
        plumbing::cancelled(&slot);
    }
    Reservation::Acquired(slot)
}

impl<S, Q, R: Runtime, O> Layer<S> for BackpressureLayer<Q, R, O> {
    type Service = BackpressureService<S, Q, R, O>;

    fn layer(&self, inner: S) -> Self::Service {
        let (bulkhead, config) = (self.bulkhead.clone(), Arc::clone(&self.config));
        BackpressureService { inner, reservation: Reservation::None, bulkhead, config }
    }
}

impl<Q, R: Runtime, O> Clone for BackpressureLayer<Q, R, O> {
    fn clone(&self) -> Self {
        BackpressureLayer { bulkhead: self.bulkhead.clone(), config: Arc::clone(&self.config) }
    }
}

/// The clone has no reservation.
impl<S: Clone, Q, R: Runtime, O> Clone for BackpressureService<S, Q, R, O> {
    fn clone(&self) -> Self {
        let (bulkhead, config) = (self.bulkhead.clone(), Arc::clone(&self.config));
        BackpressureService { inner: self.inner.clone(), reservation: Reservation::None, bulkhead, config }
    }
}

impl<S: fmt::Debug, Q, R: Runtime, O> fmt::Debug for BackpressureService<S, Q, R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reservation = match &self.reservation {
            Reservation::None => "none",
            Reservation::Acquiring(_) => "acquiring",
            Reservation::Acquired(_) => "acquired",
            Reservation::Rejected(_) => "rejected",
        };
        f.debug_struct("BackpressureService")
            .field("label", &self.bulkhead.label())
            .field("reservation", &reservation)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
