//! The future of a request: its slot, the readiness of the service, and the answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bulklink::runtime::{Instant, Runtime};
use bulklink::{OwnedSlotFuture, Rejection};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::DeadlinePassed;
use crate::admission::{Admission, Ask};
use crate::outcome::Outcome;

/// What all clones of a service share.
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
        state: State<S, Q, R, S::Future, O::Held>,
        cancellation: Option<Cancellation<R, O::Protocol>>,
        config: Arc<Config<Q, R, O>>,
    }
}

pin_project! {
    /// In each state, what holds the slot comes last, because the rest must be dropped before it.
    #[project = StateProjection]
    enum State<S, Q, R, F, H>
    where
        R: Runtime,
    {
        /// The call asks for its slot. The request and the service are taken when it has it.
        Acquiring { call: Option<(S, Q)>, slot: OwnedSlotFuture<R> },
        /// The service, in its slot, is not ready yet.
        Readying { call: Option<(S, Q)>, held: Option<H> },
        Running { #[pin] future: F, held: Option<H> },
        Rejected { rejection: Option<(Q, Rejection)> },
        Done,
    }
}

/// The end of a request that is cancelled at its deadline.
struct Cancellation<R: Runtime, P> {
    at: Instant,
    /// Made if the first poll does not complete. Boxed, because most requests have none.
    sleep: Option<Pin<Box<R::Sleep>>>,
    protocol: P,
}

impl<R: Runtime, P> Cancellation<R, P> {
    /// Completes at the deadline.
    fn poll(&mut self, runtime: &R, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(runtime.sleep_until(self.at)));
            ready!(sleep.as_mut().poll(context));
            self.sleep = None;
            // The clock decides, not the timer.
            if runtime.now() >= self.at {
                return Poll::Ready(());
            }
        }
    }
}

impl<S, Q, R, O> ResponseFuture<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    /// The future of a request that asks for a slot, or is exempt.
    pub(crate) fn new(config: Arc<Config<Q, R, O>>, service: S, request: Q) -> Self {
        let asked = config.admission.admit(&request);
        let cancel_at = asked.as_ref().and_then(|asked| asked.cancel_at);
        let cancellation =
            cancel_at.map(|at| Cancellation { at, sleep: None, protocol: config.outcome.protocol(&request) });
        let call = Some((service, request));
        let state = match asked {
            Some(Ask { slot, .. }) => State::Acquiring { call, slot },
            None => State::Readying { call, held: None },
        };
        ResponseFuture { state, cancellation, config }
    }

    /// The future of a request to a service that was ready and is running.
    pub(crate) fn running(config: Arc<Config<Q, R, O>>, future: S::Future, held: Option<O::Held>) -> Self {
        ResponseFuture { state: State::Running { future, held }, cancellation: None, config }
    }

    /// The future of a request whose slot was refused before.
    pub(crate) fn rejected(config: Arc<Config<Q, R, O>>, request: Q, rejection: Rejection) -> Self {
        let state = State::Rejected { rejection: Some((request, rejection)) };
        ResponseFuture { state, cancellation: None, config }
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
        if let Poll::Ready(answer) = self.as_mut().poll_answer(context) {
            return Poll::Ready(answer);
        }
        let mut this = self.project();
        // A call that waits is rejected in time, by its bulkhead.
        let waits = matches!(*this.state, State::Acquiring { .. });
        let Some(cancellation) = this.cancellation.as_mut().filter(|_| !waits) else { return Poll::Pending };
        let admission = &this.config.admission;
        ready!(cancellation.poll(admission.runtime(), context));
        this.state.set(State::Done);
        let protocol = this.cancellation.take().expect("it was there just now").protocol;
        Poll::Ready(this.config.outcome.cancelled(protocol, DeadlinePassed::new(admission.label())))
    }
}

impl<S, Q, R, O> ResponseFuture<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    fn poll_answer(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<O::Response, O::Error>> {
        let mut this = self.project();
        let outcome = &this.config.outcome;
        loop {
            match this.state.as_mut().project() {
                StateProjection::Acquiring { call, slot } => {
                    let admitted = ready!(Pin::new(slot).poll(context));
                    let (service, mut request) = call.take().expect("taken once, here");
                    match admitted {
                        Ok(slot) => {
                            let held = Some(outcome.admitted(&mut request, slot));
                            this.state.set(State::Readying { call: Some((service, request)), held });
                        }
                        Err(rejection) => {
                            this.state.set(State::Rejected { rejection: Some((request, rejection)) });
                        }
                    }
                }
                StateProjection::Readying { call, held } => {
                    let (service, _) = call.as_mut().expect("taken once, below");
                    if let Err(error) = ready!(service.poll_ready(context)) {
                        this.state.set(State::Done);
                        return Poll::Ready(Err(outcome.failed(error)));
                    }
                    let (mut service, request) = call.take().expect("taken once, here");
                    let held = held.take();
                    let future = service.call(request);
                    this.state.set(State::Running { future, held });
                }
                StateProjection::Running { future, held } => {
                    let answer = ready!(future.poll(context));
                    let held = held.take();
                    // The service's future ends before its slot is free.
                    this.state.set(State::Done);
                    return Poll::Ready(match answer {
                        Ok(response) => Ok(outcome.answered(response, held)),
                        Err(error) => Err(outcome.failed(error)),
                    });
                }
                StateProjection::Rejected { rejection } => {
                    let (request, rejection) = rejection.take().expect("taken once, here");
                    this.state.set(State::Done);
                    let cost = rejection.cost();
                    let estimated_wait = || this.config.admission.estimated_wait(&request, cost);
                    return Poll::Ready(outcome.rejected(&request, rejection, estimated_wait));
                }
                StateProjection::Done => panic!("polled again after it had completed"),
            }
        }
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
            State::Acquiring { .. } => "acquiring",
            State::Readying { .. } => "waiting for the service",
            State::Running { .. } => "running",
            State::Rejected { .. } => "rejected",
            State::Done => "done",
        };
        let label = self.config.admission.label();
        f.debug_struct("ResponseFuture").field("label", &label).field("state", &state).finish_non_exhaustive()
    }
}
