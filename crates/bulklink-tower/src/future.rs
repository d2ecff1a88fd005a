//! The future of a request: its slot, the readiness of the service, and the answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bulklink::runtime::Runtime;
use bulklink::{OwnedSlotFuture, Rejection};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::admission::Admission;
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

impl<S, Q, R, O> ResponseFuture<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    /// The future of a request that asks for a slot, or is exempt.
    pub(crate) fn new(config: Arc<Config<Q, R, O>>, service: S, request: Q) -> Self {
        let call = Some((service, request));
        let state = match call.as_ref().and_then(|(_, request)| config.admission.admit(request)) {
            Some(slot) => State::Acquiring { call, slot },
            None => State::Readying { call, held: None },
        };
        ResponseFuture { state, config }
    }

    /// The future of a request to a service that was ready and is running.
    pub(crate) fn running(config: Arc<Config<Q, R, O>>, future: S::Future, held: Option<O::Held>) -> Self {
        ResponseFuture { state: State::Running { future, held }, config }
    }

    /// The future of a request whose slot was refused before.
    pub(crate) fn rejected(config: Arc<Config<Q, R, O>>, request: Q, rejection: Rejection) -> Self {
        ResponseFuture { state: State::Rejected { rejection: Some((request, rejection)) }, config }
    }
}

impl<S, Q, R, O> Future for ResponseFuture<S, Q, R, O>
where
    S: Service<Q>,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    type Output = Result<O::Response, O::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
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
