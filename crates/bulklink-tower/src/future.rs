//! The future of a request: its slot, the readiness of the service, and the answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bulklink::limit;
use bulklink::runtime::{Instant, Runtime};
use bulklink::{OwnedSlotFuture, Rejection, plumbing};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::DeadlinePassed;
use crate::admission::{Admission, Ask};
use crate::deadline::Deadline;
use crate::outcome::{Outcome, admitted};

/// The state that all clones of a service share.
#[derive(Debug)]
pub(crate) struct Config<Q, R: Runtime, O> {
    pub(crate) admission: Admission<Q, R>,
    pub(crate) outcome: O,
}

pin_project! {
    /// The future of a request through a [`BulkheadLayer`](crate::BulkheadLayer) or a
    /// [`BackpressureLayer`](crate::BackpressureLayer).
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops the request or the service's future, and then gives back the slot or the
    /// place in the queue.
    ///
    /// # Panics
    ///
    /// If polled again after it has completed.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, Q, R, O>
    where
        S: Service<Q>,
        R: Runtime,
        O: Outcome<Q, S::Response, S::Error>,
    {
        #[pin]
        state: State<Calling<S, Q, R, O, O::Held>, S::Future, O::Held, Result<O::Response, O::Error>, Arc<Config<Q, R, O>>>,
        cancellation: Option<Box<Cancellation<Q, R, O, O::Protocol>>>,
    }
}

pin_project! {
    /// In each state, what holds the slot comes last, because the rest must be dropped before it.
    #[project = StateProjection]
    enum State<C, F, H, A, G> {
        /// Boxed, because a request is large, and most are answered at once and never get here.
        Calling { calling: Box<C> },
        Running { #[pin] future: F, held: Option<H> },
        /// A rejection has the configuration, for a task that tries again in a loop: it must yield.
        Answered { answer: Option<A>, config: Option<G> },
        Done,
    }
}

/// A request that the service has not got yet.
struct Calling<S, Q, R: Runtime, O, H> {
    /// `None` once the service is called.
    call: Option<(S, Q)>,
    stage: Stage<R, H>,
    deadline: Option<Deadline>,
    config: Arc<Config<Q, R, O>>,
}

enum Stage<R: Runtime, H> {
    /// The call asks for its slot.
    Acquiring(OwnedSlotFuture<R>),
    /// The service, in its slot, is not ready yet.
    Readying(Option<H>),
}

/// The end of a request that is cancelled at its deadline, or that an adaptive limit judges.
struct Cancellation<Q, R: Runtime, O, P> {
    /// The far future if it is not cancelled.
    at: Instant,
    /// Made if the first poll does not complete.
    sleep: Option<Pin<Box<R::Sleep>>>,
    protocol: P,
    config: Arc<Config<Q, R, O>>,
}

impl<Q, R: Runtime, O, P> Cancellation<Q, R, O, P> {
    /// Returns whether the deadline has passed. The clock decides, not the timer.
    fn is_due(&self) -> bool {
        self.config.admission.runtime().now() >= self.at
    }

    /// Completes at the deadline, or a moment after it: a client inside that has the same one, and
    /// ends by itself, comes first, whichever timer is the faster. So its error is always counted
    /// and logged.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        /// Timers have a precision of a millisecond, and a client begins its own a little later.
        const MOMENT: Duration = Duration::from_millis(2);
        let (runtime, end) = (self.config.admission.runtime(), self.at.saturating_add(MOMENT));
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(runtime.sleep_until(end)));
        ready!(sleep.as_mut().poll(context));
        if runtime.now() >= end {
            return Poll::Ready(());
        }
        // The timer completed early. The next poll makes another one; a loop here might not end.
        self.sleep = None;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S, Q, R, O> ResponseFuture<S, Q, R, O>
where
    S: Service<Q> + Clone,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    /// The future of a request that asks for a slot, or is exempt. If a slot is free, and a clone
    /// of the service is ready, the request goes to it now, and is never stored.
    #[inline]
    pub(crate) fn new(config: &Arc<Config<Q, R, O>>, service: &S, mut request: Q) -> Self {
        let outer = config.deadline(&request);
        if outer.is_none() {
            if let Some(slot) = config.admission.take_free() {
                // A slot of an adaptive limit never comes this way.
                let held = config.outcome.admitted(&mut request, slot);
                return ResponseFuture::ready_to_call(Some(held), config, service.clone(), request, None);
            }
        }
        ResponseFuture::ask(config, service, request, outer)
    }

    /// The future of a request that the fast path of [`new`](ResponseFuture::new) did not admit.
    fn ask(config: &Arc<Config<Q, R, O>>, service: &S, mut request: Q, outer: Option<Deadline>) -> Self {
        let Config { admission, outcome } = &**config;
        let Ask { slot, deadline } = admission.admit(&mut request, outer.as_ref());
        let Some(mut slot) = slot else {
            outcome.exempted(&mut request);
            return ResponseFuture::ready_to_call(None, config, service.clone(), request, deadline);
        };
        let judged = plumbing::has_adaptive_limit(&slot);
        let decided = match plumbing::decide(&mut slot) {
            Some(Err(rejection)) => {
                let answer = Some(config.reject(&request, rejection));
                let state = State::Answered { answer, config: Some(Arc::clone(config)) };
                return ResponseFuture { state, cancellation: None };
            }
            Some(Ok(slot)) => Some(slot),
            None => None,
        };
        let judged = judged.then_some(Instant::FAR_FUTURE);
        let cancellation = admission.cancel_at(deadline.as_ref()).or(judged).map(|at| {
            let protocol = outcome.protocol(&request);
            Box::new(Cancellation { at, sleep: None, protocol, config: Arc::clone(config) })
        });
        let future = if let Some(slot) = decided {
            let held = admitted(&config.outcome, &mut request, slot);
            ResponseFuture::ready_to_call(Some(held), config, service.clone(), request, deadline)
        } else {
            ResponseFuture::calling(config, service.clone(), request, Stage::Acquiring(slot), deadline)
        };
        ResponseFuture { cancellation, ..future }
    }

    /// The future of a request that has its slot. That comes first, because it is dropped last if
    /// the service fails or panics.
    #[inline]
    fn ready_to_call(
        held: Option<O::Held>,
        config: &Arc<Config<Q, R, O>>,
        mut service: S,
        request: Q,
        deadline: Option<Deadline>,
    ) -> Self {
        // If it is not ready, it is asked again with the task's waker.
        match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => ResponseFuture::running(config.call(&mut service, request, deadline), held),
            Poll::Ready(Err(error)) => ResponseFuture::answered(Err(O::failed(error))),
            Poll::Pending => ResponseFuture::calling(config, service, request, Stage::Readying(held), deadline),
        }
    }

    #[cold]
    fn calling(
        config: &Arc<Config<Q, R, O>>,
        service: S,
        request: Q,
        stage: Stage<R, O::Held>,
        deadline: Option<Deadline>,
    ) -> Self {
        let config = Arc::clone(config);
        let calling = Box::new(Calling { call: Some((service, request)), stage, deadline, config });
        ResponseFuture { state: State::Calling { calling }, cancellation: None }
    }
}

impl<S, Q, R, O> ResponseFuture<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    /// The future of a request to a service that was ready and is running.
    #[inline]
    pub(crate) fn running(future: S::Future, held: Option<O::Held>) -> Self {
        ResponseFuture { state: State::Running { future, held }, cancellation: None }
    }

    /// Has an adaptive limit judge the answer.
    #[cold]
    pub(crate) fn judged(self, protocol: O::Protocol, config: &Arc<Config<Q, R, O>>) -> Self {
        let (at, config) = (Instant::FAR_FUTURE, Arc::clone(config));
        ResponseFuture { cancellation: Some(Box::new(Cancellation { at, sleep: None, protocol, config })), ..self }
    }

    /// The future of a request that the service does not get.
    pub(crate) fn answered(answer: Result<O::Response, O::Error>) -> Self {
        ResponseFuture { state: State::Answered { answer: Some(answer), config: None }, cancellation: None }
    }

    /// Polls for the answer. `JUDGES` is whether an adaptive limit may judge it.
    fn poll_answer<const JUDGES: bool>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<O::Response, O::Error>> {
        let mut this = self.as_mut().project();
        if let StateProjection::Calling { calling } = this.state.as_mut().project() {
            if let Err(rejection) = ready!(calling.poll_slot(context)) {
                let answer = calling.reject(rejection);
                this.state.set(State::Done);
                return Poll::Ready(answer);
            }
            // A task that was slow to take its slot begins nothing that is cancelled anyway.
            if this.cancellation.as_ref().is_some_and(|cancellation| cancellation.is_due()) {
                return Poll::Ready(self.cancel());
            }
            let next = match ready!(calling.poll_call(context)) {
                Ok((future, held)) => State::Running { future, held },
                Err(error) => State::Answered { answer: Some(Err(O::failed(error))), config: None },
            };
            this.state.set(next);
        }
        let (held, answer) = match this.state.as_mut().project() {
            StateProjection::Running { future, held } => {
                let answer = ready!(future.poll(context));
                (held.take(), answer)
            }
            StateProjection::Answered { answer, config } => {
                if let Some(config) = config {
                    ready!(config.admission.runtime().cooperate(context, 1, |_| Poll::Ready(())));
                }
                return Poll::Ready(answer.take().expect("polled again after it had completed"));
            }
            StateProjection::Calling { .. } | StateProjection::Done => panic!("polled again after it had completed"),
        };
        // The service's future ends before its slot is free.
        this.state.set(State::Done);
        Poll::Ready(match answer {
            Ok(response) => {
                if let Some(held) = held.as_ref().filter(|_| JUDGES) {
                    O::judged(held, |slot| slot.set_outcome(O::load(&response)));
                }
                Ok(O::answered(response, held))
            }
            Err(error) => {
                let error = O::failed(error);
                if let Some(held) = held.as_ref().filter(|_| JUDGES) {
                    O::judged(held, |slot| slot.set_outcome(O::load_of_failure(&error)));
                }
                Err(error)
            }
        })
    }

    /// Drops the request, or the service's future, and answers in its place.
    #[cold]
    fn cancel(self: Pin<&mut Self>) -> Result<O::Response, O::Error> {
        let mut this = self.project();
        if let StateProjection::Running { held: Some(held), .. } = this.state.as_mut().project() {
            O::judged(held, |slot| slot.set_outcome(limit::Outcome::Overload));
        }
        this.state.set(State::Done);
        let Cancellation { protocol, config, .. } = *this.cancellation.take().expect("it is due");
        config.outcome.cancelled(protocol, DeadlinePassed::new(config.admission.label()))
    }
}

impl<S, Q, R: Runtime, O, H> Calling<S, Q, R, O, H> {
    /// Completes when the request has its slot.
    fn poll_slot<A, E>(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Rejection>>
    where
        O: Outcome<Q, A, E, Held = H>,
    {
        if let Stage::Acquiring(slot) = &mut self.stage {
            let slot = ready!(Pin::new(slot).poll(context))?;
            let (_, request) = self.call.as_mut().expect("it has not been called");
            self.stage = Stage::Readying(Some(admitted(&self.config.outcome, request, slot)));
        }
        Poll::Ready(Ok(()))
    }

    /// Calls the service, once it is ready. The request must have its slot.
    #[expect(clippy::type_complexity, reason = "two parts of a state")]
    fn poll_call(&mut self, context: &mut Context<'_>) -> Poll<Result<(S::Future, Option<H>), S::Error>>
    where
        S: Service<Q>,
        O: Outcome<Q, S::Response, S::Error>,
    {
        let (service, _) = self.call.as_mut().expect("it has not been called");
        ready!(service.poll_ready(context))?;
        let Stage::Readying(held) = &mut self.stage else { unreachable!("the request has its slot") };
        let (held, (mut service, request)) = (held.take(), self.call.take().expect("it was there just now"));
        Poll::Ready(Ok((self.config.call(&mut service, request, self.deadline.take()), held)))
    }

    fn reject<A, E>(&self, rejection: Rejection) -> Result<O::Response, O::Error>
    where
        O: Outcome<Q, A, E>,
    {
        let (_, request) = self.call.as_ref().expect("it has not been called");
        self.config.reject(request, rejection)
    }
}

impl<Q, R: Runtime, O> Config<Q, R, O> {
    /// Answers a request that was rejected.
    #[inline]
    pub(crate) fn reject<A, E>(&self, request: &Q, rejection: Rejection) -> Result<O::Response, O::Error>
    where
        O: Outcome<Q, A, E>,
    {
        let cost = rejection.cost();
        self.outcome.rejected(request, rejection, || self.admission.estimated_wait(request, cost))
    }

    /// Returns the deadline that the request has already.
    #[inline]
    pub(crate) fn deadline<A, E>(&self, request: &Q) -> Option<Deadline>
    where
        O: Outcome<Q, A, E>,
    {
        self.outcome.deadline(request, self.admission.clock(), self.admission.extension())
    }

    /// Calls the service, which is ready.
    #[inline]
    pub(crate) fn call<S>(&self, service: &mut S, mut request: Q, deadline: Option<Deadline>) -> S::Future
    where
        S: Service<Q>,
        O: Outcome<Q, S::Response, S::Error>,
    {
        if let Some(deadline) = deadline {
            self.outcome.leave_deadline(&mut request, deadline, self.admission.extension());
        }
        service.call(request)
    }
}

impl<S, Q, R, O> Future for ResponseFuture<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    type Output = Result<O::Response, O::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Of most requests: so the answer is moved once.
        if self.cancellation.is_none() {
            return self.poll_answer::<false>(context);
        }
        if let Poll::Ready(answer) = self.as_mut().poll_answer::<true>(context) {
            let cancellation = self.cancellation.as_ref();
            let is_late = cancellation.is_some_and(|cancellation| O::is_timeout(&answer) && cancellation.is_due());
            return Poll::Ready(if is_late { self.cancel() } else { answer });
        }
        let this = self.as_mut().project();
        let Some(cancellation) = this.cancellation.as_mut().filter(|it| it.at < Instant::FAR_FUTURE) else {
            return Poll::Pending;
        };
        if let State::Calling { calling } = &*this.state {
            if let Stage::Acquiring(_) = calling.stage {
                // A call that waits is rejected in time, by its bulkhead.
                return Poll::Pending;
            }
        }
        ready!(cancellation.poll(context));
        Poll::Ready(self.cancel())
    }
}

impl<S, Q, R, O> fmt::Debug for ResponseFuture<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Calling { .. } => "calling",
            State::Running { .. } => "running",
            State::Answered { .. } => "answered",
            State::Done => "done",
        };
        f.debug_struct("ResponseFuture").field("state", &state).finish_non_exhaustive()
    }
}
