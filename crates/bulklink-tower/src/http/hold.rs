//! Holding a slot through a response: its body, or the connection that it is upgraded to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bulklink::limit;
use bulklink::plumbing::{is_judged, label};
use bulklink::{OwnedSlot, Rejection};
use http::{HeaderMap, Method, StatusCode, Version, header};

use super::{Body, TimeoutHeader, upstream};
use crate::admission::Extension;
use crate::deadline::{Deadline, RequestClock};
#[cfg(feature = "breaker")]
use crate::guard::Ongoing;
use crate::outcome::Outcome;
use crate::rejection::{self, is_timeout};
use crate::{BoxError, DeadlinePassed};

/// Rejections are errors, and the slot is held until the response has been read: for clients.
#[derive(Clone, Debug, Default)]
pub struct HoldBody {
    forward: Option<Arc<Forward>>,
}

/// Where a client writes its deadline.
#[derive(Debug)]
struct Forward {
    header: TimeoutHeader,
    margin: Duration,
}

impl HoldBody {
    /// Writes the time that is left to each request into a header, less this margin.
    pub(super) fn forwarding(header: &TimeoutHeader, margin: Duration) -> Self {
        HoldBody { forward: Some(Arc::new(Forward { header: header.clone(), margin })) }
    }

    /// Returns how long before its deadline a request that is forwarded has to end.
    #[cfg(feature = "breaker")]
    pub(super) fn margin(&self) -> Duration {
        /// The header is rounded down.
        const ROUNDED: Duration = Duration::from_millis(1);
        self.forward.as_deref().map_or(Duration::ZERO, |forward| forward.margin.saturating_add(ROUNDED))
    }
}

/// A response that can hold a slot until it has been read: that of `http`, and with the feature
/// `reqwest` that of reqwest. Only this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a slot",
    note = "responses of the crate `http` can, and with the feature `reqwest` of `bulklink-tower` those of reqwest"
)]
pub trait HoldSlot {
    /// The response that holds.
    type Holding;

    /// Returns the status of the response.
    #[doc(hidden)]
    fn status_of(&self) -> StatusCode;

    /// Logs a response that is an error of the upstream, unless a layer inside has logged it.
    #[doc(hidden)]
    fn log_error(&mut self, held: Option<&Held>);

    /// Returns the response, which holds `held` from now on: the slot and the call of a guard. Only
    /// layers can make one.
    #[doc(hidden)]
    fn hold(self, held: Option<Held>) -> Self::Holding;

    /// As [`hold`](HoldSlot::hold), for a client: a response that upgrades the connection has the
    /// [`HeldSlot`] among its extensions.
    #[doc(hidden)]
    fn hold_upgrade(self, held: Option<Held>) -> Self::Holding
    where
        Self: Sized,
    {
        self.hold(held)
    }
}

/// The slot of a request, to be held by the service for as long as its work really takes: while the
/// connection is used that the request is upgraded to, or by a thread or task that goes on after
/// the response.
///
/// It is among the extensions of each request that asks for an upgrade, and of all requests of a
/// layer that [shares its slots](crate::BulkheadLayer::share_slot). The response's body gives up
/// its part when it ends, which for an upgrade is immediately; the slot is given back when all
/// clones are dropped, too. Inside several layers, it holds the slots of all that share them. For
/// an exempt request, it holds nothing.
///
/// A client finds it among the extensions of a response that upgrades the connection.
#[derive(Clone, Debug)]
pub struct HeldSlot {
    slots: Arc<Slots>,
}

/// The slot of a layer, and those of the layers outside of it, which are given back later.
#[derive(Debug)]
struct Slots {
    own: Mutex<Own>,
    outer: Option<HeldSlot>,
}

#[derive(Debug)]
struct Own {
    /// `None` if the request is exempt, or while a part is being given back.
    slot: Option<OwnedSlot>,
    /// The units that are to be given back.
    owed: usize,
}

/// The slot of a request and the call of a guard, until the response has ended.
#[derive(Debug)]
pub struct Held {
    // The call first, because it ends before its slot is free. Boxed, so that a body without one
    // is small.
    pub(super) call: Option<Box<Ongoing>>,
    pub(super) slot: Option<SlotOf>,
}

/// Without guards there is no such call.
#[cfg(not(feature = "breaker"))]
#[derive(Debug)]
pub enum Ongoing {}

/// The holder of a slot until the response has ended.
#[derive(Debug)]
pub enum SlotOf {
    /// Usually only the body holds it.
    Body { slot: OwnedSlot },
    /// The service may hold it, too.
    Shared(HeldSlot),
    /// The same, for a request that asks for a tunnel.
    Tunnel(HeldSlot),
}

impl From<SlotOf> for Held {
    fn from(slot: SlotOf) -> Self {
        Held { call: None, slot: Some(slot) }
    }
}

/// Returns a status as a sign of the load of the server that chose it.
pub(super) fn load(status: StatusCode) -> limit::Outcome {
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::GATEWAY_TIMEOUT => limit::Outcome::Overload,
        // It failed for another reason, and perhaps much faster or slower than it works.
        _ if status.is_server_error() => limit::Outcome::Ignore,
        _ => limit::Outcome::Success,
    }
}

impl Held {
    /// Calls `change` with the slot, if its end is a sample for an adaptive limit.
    #[inline]
    pub(super) fn judged(&self, change: impl FnOnce(&OwnedSlot)) {
        match &self.slot {
            Some(SlotOf::Body { slot }) if is_judged(slot) => change(slot),
            Some(SlotOf::Shared(held) | SlotOf::Tunnel(held)) => {
                if let Some(slot) = held.slots.own().slot.as_ref().filter(|slot| is_judged(slot)) {
                    change(slot);
                }
            }
            _ => {}
        }
    }

    /// Returns the label of the bulkhead, or of the breaker.
    pub(super) fn label(&self) -> Option<Arc<str>> {
        match &self.slot {
            Some(SlotOf::Body { slot }) => Some(label(slot)),
            Some(SlotOf::Shared(held) | SlotOf::Tunnel(held)) => held.slots.own().slot.as_ref().map(label),
            None => match self.call.as_deref()? {
                #[cfg(feature = "breaker")]
                call => call.label(),
                #[cfg(not(feature = "breaker"))]
                none => match *none {},
            },
        }
    }

    /// The response has ended or has failed.
    pub(super) fn end(mut self, has_failed: bool) {
        if has_failed {
            self.judged(|slot| slot.set_outcome(limit::Outcome::Ignore));
        }
        self.end_call(has_failed);
    }

    /// Ends the call of a guard, if it has one.
    pub(super) fn end_call(&mut self, has_failed: bool) {
        match self.call.take().map(|call| *call) {
            #[cfg(feature = "breaker")]
            Some(call) => call.end(has_failed),
            #[cfg(not(feature = "breaker"))]
            Some(none) => match none {},
            None => _ = has_failed,
        }
    }
}

impl HeldSlot {
    pub(crate) fn new(slot: Option<OwnedSlot>, outer: Option<HeldSlot>) -> Self {
        HeldSlot { slots: Arc::new(Slots { own: Mutex::new(Own { slot, owed: 0 }), outer }) }
    }

    /// Gives back so many units of the slot in each layer, while the rest of it is held: when an
    /// answer turns out shorter than its [cost](crate::BulkheadLayer::cost). Of a slot with no
    /// more units than that, all but one are given back.
    ///
    /// The part is counted as [split](bulklink::Snapshot::split) and as finished, and goes to the
    /// next call at once.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use bulklink_tower::BulkheadLayer;
    /// use bulklink_tower::http::HeldSlot;
    /// use http::{Request, Response};
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tokens = Bulkhead::builder("tokens").capacity(10_000).build()?;
    /// let layer = BulkheadLayer::new(&tokens).cost(|_| 4_000).respond().share_slot();
    /// let model = layer.layer(service_fn(async |request: Request<()>| {
    ///     let held = request.extensions().get::<HeldSlot>().expect("it is shared");
    ///     // The answer to this prompt is short.
    ///     held.give_back(3_500);
    ///     Ok::<_, std::convert::Infallible>(Response::new(String::from("Yes.")))
    /// }));
    /// let answer = model.oneshot(Request::new(())).await?;
    /// assert_eq!(tokens.status().in_use, 500);
    /// # drop(answer);
    /// # Ok(())
    /// # }
    /// ```
    pub fn give_back(&self, units: usize) {
        let mut next = Some(self);
        while let Some(HeldSlot { slots }) = next {
            slots.give_back(units);
            next = slots.outer.as_ref();
        }
    }
}

impl Slots {
    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handlers of events are foreign code, and may come here again, so none runs under the lock:
    /// the thread that has the slot gives back the units that others owe meanwhile.
    fn give_back(&self, units: usize) {
        let mut own = self.own();
        own.owed = own.owed.saturating_add(units);
        let Some(mut slot) = own.slot.take() else { return };
        loop {
            let units = std::mem::take(&mut own.owed).min(slot.cost().saturating_sub(1));
            if units == 0 {
                own.slot = Some(slot);
                return;
            }
            drop(own);
            drop(slot.split(units));
            own = self.own();
        }
    }
}

/// A request in which a slot can be left for the service.
#[diagnostic::on_unimplemented(
    message = "no slot can be left in `{Self}`",
    note = "requests of the crate `http` can, and with the feature `reqwest` of `bulklink-tower` those of reqwest"
)]
pub trait ShareSlot {
    /// Returns the holder of the slot until the response has ended. Leaves a part of it to the
    /// service if `is_shared`, and for an upgrade.
    fn share(&mut self, slot: OwnedSlot, is_shared: bool) -> Held;

    /// Returns the deadline of the request, on this clock if it is only a time.
    fn deadline(&self, clock: &RequestClock) -> Option<Deadline>;

    /// Leaves a deadline in the request.
    fn leave_deadline(&mut self, deadline: Deadline);

    /// Returns the headers of the request.
    fn headers_to_send(&mut self) -> &mut HeaderMap;
}

impl<T> ShareSlot for http::Request<T> {
    fn share(&mut self, slot: OwnedSlot, is_shared: bool) -> Held {
        let is_tunnel = self.method() == Method::CONNECT;
        let is_upgrade = self.version() == Version::HTTP_11 && self.headers().contains_key(header::UPGRADE);
        if !is_tunnel && !is_upgrade && !is_shared {
            return SlotOf::Body { slot }.into();
        }
        let outer = self.extensions_mut().remove();
        let slot = HeldSlot::new(Some(slot), outer);
        self.extensions_mut().insert(slot.clone());
        if is_tunnel { SlotOf::Tunnel(slot) } else { SlotOf::Shared(slot) }.into()
    }

    #[inline]
    fn deadline(&self, _: &RequestClock) -> Option<Deadline> {
        self.extensions().get().cloned()
    }

    fn leave_deadline(&mut self, deadline: Deadline) {
        self.extensions_mut().insert(deadline);
    }

    fn headers_to_send(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }
}

impl<B: http_body::Body> HoldSlot for http::Response<B> {
    type Holding = http::Response<Body<B>>;

    fn status_of(&self) -> StatusCode {
        self.status()
    }

    fn log_error(&mut self, held: Option<&Held>) {
        let status = self.status();
        if status.is_server_error() {
            upstream::answered(None, status, self.extensions_mut(), held);
        }
    }

    fn hold(self, held: Option<Held>) -> http::Response<Body<B>> {
        self.map(|body| Body::holding(body, held))
    }

    fn hold_upgrade(mut self, held: Option<Held>) -> http::Response<Body<B>> {
        let upgraded = match held.as_ref().and_then(|held| held.slot.as_ref()) {
            Some(SlotOf::Shared(slot)) if self.status() == StatusCode::SWITCHING_PROTOCOLS => Some(slot),
            Some(SlotOf::Tunnel(slot)) if self.status().is_success() => Some(slot),
            _ => None,
        };
        if let Some(slot) = upgraded {
            // That of a layer inside holds this one's, too.
            self.extensions_mut().get_or_insert_with(|| slot.clone());
        }
        self.hold(held)
    }
}

impl<Q: ShareSlot, A: HoldSlot, E: Into<BoxError>> Outcome<Q, A, E> for HoldBody {
    type Response = A::Holding;
    type Error = BoxError;
    type Held = Held;
    type Protocol = ();

    fn protocol(&self, _: &Q) {}

    #[inline]
    fn deadline(&self, request: &Q, clock: &RequestClock, _: Option<&Extension<Q>>) -> Option<Deadline> {
        request.deadline(clock)
    }

    fn leave_deadline(&self, request: &mut Q, deadline: Deadline, _: Option<&Extension<Q>>) {
        if let Some(Forward { header, margin }) = self.forward.as_deref() {
            header.apply(request.headers_to_send(), deadline.left().saturating_sub(*margin));
        }
        request.leave_deadline(deadline);
    }

    fn admitted(&self, request: &mut Q, slot: OwnedSlot) -> Held {
        request.share(slot, false)
    }

    #[inline]
    fn judged(held: &Held, change: impl FnOnce(&OwnedSlot)) {
        held.judged(change);
    }

    fn load(response: &A) -> limit::Outcome {
        load(response.status_of())
    }

    fn load_of_failure(error: &BoxError) -> limit::Outcome {
        rejection::load(&**error)
    }

    fn answered(mut response: A, held: Option<Held>) -> A::Holding {
        response.log_error(held.as_ref());
        response.hold_upgrade(held)
    }

    fn failed(error: E) -> BoxError {
        error.into()
    }

    fn rejected(
        &self,
        _: &Q,
        rejection: Rejection,
        _: impl FnOnce() -> Option<Duration>,
    ) -> Result<A::Holding, BoxError> {
        Err(rejection.into())
    }

    fn is_timeout(answer: &Result<A::Holding, BoxError>) -> bool {
        answer.as_ref().is_err_and(|error| is_timeout(&**error))
    }

    fn cancelled(&self, (): (), error: DeadlinePassed) -> Result<A::Holding, BoxError> {
        Err(error.into())
    }
}
