//! A request bound to the guard that it asks, or to the key of one.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::runtime::{Clock, Runtime};
use bulklink::{BoundRequest, OwnedSlot, Request};
use pin_project_lite::pin_project;

use super::slot::admit;
use super::{Execute, Guard, GuardError, run_limited};
use crate::breaker::{Ending, LiveLimit, RunLimit};
use crate::{Breaker, Call, Classify, ErrorsFail};

/// A [`Request`] bound to the guard that it asks: a call that has not been made yet.
///
/// [`Guard::with`] and [`Guard::within`] bind one to a guard, and
/// [`Guards::key`](crate::Guards::key) to the guard of a key. Each method is that of [`Guard`] with
/// the same name.
#[must_use = "a request does nothing until it asks"]
pub struct GuardRequest<'a, R: Clock, K> {
    way: Way<'a, R, K>,
}

enum Way<'a, R: Clock, K> {
    Guard(&'a Guard<R, K>, Request<R::Instant>),
    Key(KeyRequest<R>, Terms<&'a R, &'a K, &'a LiveLimit>),
}

/// The circuit of a key, and a request bound to its partition.
pub struct KeyRequest<R: Clock> {
    pub(crate) breaker: Breaker,
    pub(crate) request: BoundRequest<R>,
}

/// The parts that all calls of a guard share.
#[derive(Clone, Copy)]
pub(crate) struct Terms<R, K, L = Arc<LiveLimit>> {
    pub(crate) runtime: R,
    pub(crate) classify: K,
    pub(crate) live_limit: L,
    /// For while the configuration has none.
    pub(crate) own_limit: Option<RunLimit>,
}

impl<R, K, L: Deref<Target = LiveLimit>> Terms<R, K, L> {
    /// Returns how long an operation may run that begins now.
    pub(crate) fn run_limit(&self) -> Option<RunLimit> {
        self.live_limit.or(self.own_limit)
    }
}

/// A request with all that a call needs.
pub(super) struct Parts<'a, R: Clock, K> {
    pub(super) breaker: Breaker,
    pub(super) request: BoundRequest<R>,
    pub(super) terms: Terms<&'a R, &'a K, &'a LiveLimit>,
}

impl<'a, R: Clock, K> GuardRequest<'a, R, K> {
    #[inline]
    pub(super) const fn of_guard(guard: &'a Guard<R, K>, request: Request<R::Instant>) -> Self {
        GuardRequest { way: Way::Guard(guard, request) }
    }

    pub(crate) fn of_key(key: KeyRequest<R>, terms: &'a Terms<R, K>) -> Self {
        let Terms { runtime, classify, live_limit, own_limit } = terms;
        GuardRequest { way: Way::Key(key, Terms { runtime, classify, live_limit, own_limit: *own_limit }) }
    }

    /// Asks with this request in place of the present one.
    #[inline]
    pub fn with(self, request: Request<R::Instant>) -> Self {
        let way = match self.way {
            Way::Guard(guard, _) => Way::Guard(guard, request),
            Way::Key(key, terms) => Way::Key(key.with(request), terms),
        };
        GuardRequest { way }
    }

    /// Waits at most `limit`, and never longer than the bulkhead's own limit.
    #[inline]
    pub fn within(self, limit: Duration) -> Self {
        let way = match self.way {
            Way::Guard(guard, request) => Way::Guard(guard, request.within(limit)),
            Way::Key(KeyRequest { breaker, request }, terms) => {
                Way::Key(KeyRequest { breaker, request: request.within(limit) }, terms)
            }
        };
        GuardRequest { way }
    }
}

impl<R: Clock> KeyRequest<R> {
    pub(crate) fn with(self, request: Request<R::Instant>) -> Self {
        KeyRequest { request: self.request.with(request), ..self }
    }
}

impl<'a, R: Clock + Clone + Send + Sync + 'static, K> GuardRequest<'a, R, K> {
    pub(super) fn parts(self) -> Parts<'a, R, K> {
        match self.way {
            Way::Guard(guard, request) => {
                let Guard { bulkhead, breaker, own_limit } = guard;
                let terms = Terms {
                    runtime: bulkhead.runtime(),
                    classify: breaker.classifier(),
                    live_limit: &breaker.core().run_limit,
                    own_limit: *own_limit,
                };
                Parts { breaker: breaker.classified(ErrorsFail), request: bulkhead.with(request), terms }
            }
            Way::Key(KeyRequest { breaker, request }, terms) => Parts { breaker, request, terms },
        }
    }
}

impl<'a, R: Runtime, K> GuardRequest<'a, R, K> {
    /// Runs an operation behind the guard, as [`Guard::execute`].
    ///
    /// # Errors
    ///
    /// As [`Guard::execute`].
    #[inline]
    pub fn execute<T, E, F>(
        self,
        operation: F,
    ) -> impl Future<Output = Result<T, GuardError<E>>> + use<'a, T, E, F, R, K>
    where
        F: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        match self.way {
            Way::Guard(guard, request) => Either::Guard { run: Execute::with(guard, request, operation) },
            Way::Key(key, terms) => Either::Key { run: key.execute(terms, operation) },
        }
    }
}

impl<R: Runtime> KeyRequest<R> {
    async fn execute<T, E, F, K>(self, terms: Terms<&R, &K, &LiveLimit>, operation: F) -> Result<T, GuardError<E>>
    where
        F: Future<Output = Result<T, E>>,
        K: Classify<T, E>,
    {
        let KeyRequest { breaker, request } = self;
        // Dropped after the operation, the slot last.
        let _slot: OwnedSlot;
        let mut call: Call<'static>;
        let mut admitted = pin!(admit(&breaker, request));
        let mut operation = pin!(operation);
        let (admitted, slot) = admitted.as_mut().await?;
        _slot = slot.begin();
        call = admitted;
        match run_limited(terms.runtime, terms.run_limit(), &mut call, operation.as_mut()).await {
            Ok(result) => {
                call.end(Ending::Outcome(terms.classify.classify(&result)));
                result.map_err(GuardError::Operation)
            }
            Err(timed_out) => {
                call.end(Ending::TimedOut);
                Err(GuardError::TimedOut(timed_out))
            }
        }
    }
}

pin_project! {
    #[project = Projected]
    enum Either<G, K> {
        Guard { #[pin] run: G },
        Key { #[pin] run: K },
    }
}

impl<G: Future, K: Future<Output = G::Output>> Future for Either<G, K> {
    type Output = G::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<G::Output> {
        match self.project() {
            Projected::Guard { run } => run.poll(context),
            Projected::Key { run } => run.poll(context),
        }
    }
}

impl<R: Clock> fmt::Debug for KeyRequest<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRequest").field("breaker", &self.breaker).finish_non_exhaustive()
    }
}

impl<R: Clock, K> fmt::Debug for GuardRequest<'_, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = match &self.way {
            Way::Guard(guard, _) => guard.breaker.label(),
            Way::Key(key, _) => key.breaker.label(),
        };
        f.debug_struct("GuardRequest").field("guard", &label).finish_non_exhaustive()
    }
}
