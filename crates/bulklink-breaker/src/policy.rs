//! The needs of a layer of `bulklink-tower` from a guard or a breaker. Not for users.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bulklink::partitions::Lookup;
use bulklink::plumbing::discard;
use bulklink::runtime::{Clock, Runtime};
use bulklink::{BoundRequest, OwnedSlot, Request};

use crate::breaker::RunLimit;
use crate::guard::{KeyRequest, Terms, admit, run_limited};
use crate::{Breaker, Call, ErrorsFail, Guard, GuardError, Guards, TimedOut};

/// A guard, a breaker or guards by key, as a layer sees them.
pub trait Policy: Clone + Send + Sync + 'static {
    /// The type of its classifier.
    type Classifier;

    /// Returns the classifier.
    fn classifier(&self) -> &Self::Classifier;

    /// Returns the name.
    fn label(&self) -> &str;

    /// Returns how long an operation may run, if there is a limit.
    fn run_limit(&self) -> Option<Duration>;

    /// Polls the operation of a call until it ends, or the run limit has passed.
    fn run<F: Future + Send>(
        &self,
        call: &mut Call<'static>,
        operation: Pin<&mut F>,
    ) -> impl Future<Output = Result<F::Output, TimedOut>> + Send;
}

/// A policy for requests `Q`.
pub trait Admit<Q>: Policy {
    /// The part of a request that it needs before it lets it through.
    type Ask: Send;

    /// Finds the guard of a request.
    fn ask(&self, request: &Q) -> Self::Ask;

    /// Waits until a call is let through, with a deadline after this time. Its operation begins
    /// then.
    fn admit(
        &self,
        ask: Self::Ask,
        time: Option<Duration>,
    ) -> impl Future<Output = Result<Admitted, GuardError<Infallible>>> + Send;

    /// Returns in what time there may be a slot, if that is known.
    fn estimated_wait(&self, request: &Q) -> Option<Duration>;
}

/// A call that was let through.
#[derive(Debug)]
pub struct Admitted {
    /// Counts its outcome.
    pub call: Call<'static>,
    /// `None` without a bulkhead.
    pub slot: Option<OwnedSlot>,
}

/// A call after the success of its operation, with an answer that is on its way.
///
/// It is slow if its operation was, however long the reader takes.
///
/// If it is dropped before the answer has ended, it counts as the operation has, unless the thread
/// is panicking: servers drop a body that they have sent, without asking for its end.
#[derive(Debug)]
pub struct Unfinished(Option<Call<'static>>);

impl Unfinished {
    /// Makes it of a call that has not ended.
    #[must_use]
    pub fn new(call: Call<'static>) -> Self {
        Unfinished(Some(call.answered()))
    }

    /// Returns the label of the breaker.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.as_ref().map(Call::label)
    }

    /// The answer has ended, or has failed.
    pub fn end(mut self, has_failed: bool) {
        match self.0.take() {
            Some(call) if has_failed => call.fail(),
            Some(call) => call.succeed(),
            None => {}
        }
    }

    /// The answer has failed, which says nothing of the dependency: as a call that is dropped.
    pub fn cancel(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        match self.0.take() {
            Some(call) if !thread::panicking() => call.succeed(),
            dropped => drop(dropped),
        }
    }
}

fn request_in<I: Copy>(time: Option<Duration>) -> Request<I> {
    time.map_or_else(Request::new, |time| Request::new().deadline_after(time))
}

async fn admitted<R>(breaker: &Breaker<impl Sync>, request: BoundRequest<R>) -> Result<Admitted, GuardError<Infallible>>
where
    R: Runtime<Sleep: Send, Instant: Send>,
{
    let (call, slot) = admit(breaker, request).await?;
    Ok(Admitted { call, slot: Some(slot.begin()) })
}

impl<R, K> Policy for Guard<R, K>
where
    R: Runtime<Sleep: Send, Instant: Send>,
    K: Clone + Send + Sync + 'static,
{
    type Classifier = K;

    fn classifier(&self) -> &K {
        self.breaker().classifier()
    }

    fn label(&self) -> &str {
        self.bulkhead().label()
    }

    fn run_limit(&self) -> Option<Duration> {
        self.run_limit()
    }

    async fn run<F: Future + Send>(
        &self,
        call: &mut Call<'static>,
        operation: Pin<&mut F>,
    ) -> Result<F::Output, TimedOut> {
        run_limited(self.bulkhead().runtime(), self.limit_now(), call, operation).await
    }
}

impl<Q, R, K> Admit<Q> for Guard<R, K>
where
    R: Runtime<Sleep: Send, Instant: Send>,
    K: Clone + Send + Sync + 'static,
{
    type Ask = ();

    fn ask(&self, _: &Q) {}

    async fn admit(&self, (): (), time: Option<Duration>) -> Result<Admitted, GuardError<Infallible>> {
        admitted(self.breaker(), self.bulkhead().with(request_in(time))).await
    }

    fn estimated_wait(&self, _: &Q) -> Option<Duration> {
        self.bulkhead().estimated_wait(1)
    }
}

impl<K: Clone + Send + Sync + 'static> Policy for Breaker<K> {
    type Classifier = K;

    fn classifier(&self) -> &K {
        self.classifier()
    }

    fn label(&self) -> &str {
        self.label()
    }

    fn run_limit(&self) -> Option<Duration> {
        None
    }

    async fn run<F: Future + Send>(
        &self,
        call: &mut Call<'static>,
        operation: Pin<&mut F>,
    ) -> Result<F::Output, TimedOut> {
        Ok(call.run(operation).await)
    }
}

impl<Q, K: Clone + Send + Sync + 'static> Admit<Q> for Breaker<K> {
    type Ask = ();

    fn ask(&self, _: &Q) {}

    async fn admit(&self, (): (), _: Option<Duration>) -> Result<Admitted, GuardError<Infallible>> {
        Ok(Admitted { call: self.ask_owned_operation().await?, slot: None })
    }

    fn estimated_wait(&self, _: &Q) -> Option<Duration> {
        None
    }
}

/// Guards by the key of a request `Q`, in a layer that `GuardLayer::keyed` of `bulklink-tower`
/// makes. The types of keys and closures do not show in it.
pub struct KeyedGuards<Q, R: Clock, C = ErrorsFail> {
    entrance: Arc<dyn Entrance<Q, R>>,
    terms: Arc<Terms<R, C>>,
    label: Arc<str>,
}

trait Entrance<Q, R: Clock>: Send + Sync {
    fn ask(&self, request: &Q) -> KeyRequest<R>;

    fn estimated_wait(&self, request: &Q) -> Option<Duration>;
}

struct ByKey<K, R, C, S, G> {
    guards: Guards<K, R, C, S>,
    key: G,
}

impl<Q, R: Runtime, C> KeyedGuards<Q, R, C> {
    /// Finds the key of each request by `key`.
    pub fn new<L, K, S, G>(guards: &Guards<K, R, C, S>, key: G) -> Self
    where
        L: Lookup<K> + ?Sized,
        K: Send + Sync + 'static,
        C: Send + Sync + 'static,
        S: BuildHasher + Send + Sync + 'static,
        G: Fn(&Q) -> &L + Send + Sync + 'static,
    {
        let entrance = Arc::new(ByKey { guards: guards.clone(), key });
        KeyedGuards { entrance, terms: Arc::clone(guards.terms()), label: guards.label().into() }
    }
}

impl<Q, L, K, R, C, S, G> Entrance<Q, R> for ByKey<K, R, C, S, G>
where
    L: Lookup<K> + ?Sized,
    K: Send + Sync + 'static,
    R: Runtime,
    C: Send + Sync,
    S: BuildHasher + Send + Sync + 'static,
    G: Fn(&Q) -> &L + Send + Sync,
{
    fn ask(&self, request: &Q) -> KeyRequest<R> {
        self.guards.enter((self.key)(request))
    }

    fn estimated_wait(&self, request: &Q) -> Option<Duration> {
        let partition = self.guards.partitions().partition((self.key)(request))?;
        let estimate = partition.estimated_wait(1);
        // It may have been evicted meanwhile, and its handlers are foreign.
        discard(partition);
        estimate
    }
}

impl<Q, R, C> Policy for KeyedGuards<Q, R, C>
where
    Q: 'static,
    R: Runtime<Sleep: Send, Instant: Send>,
    C: Send + Sync + 'static,
{
    type Classifier = C;

    fn classifier(&self) -> &C {
        &self.terms.classify
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn run_limit(&self) -> Option<Duration> {
        self.terms.run_limit().map(RunLimit::duration)
    }

    async fn run<F: Future + Send>(
        &self,
        call: &mut Call<'static>,
        operation: Pin<&mut F>,
    ) -> Result<F::Output, TimedOut> {
        run_limited(&self.terms.runtime, self.terms.run_limit(), call, operation).await
    }
}

impl<Q, R, C> Admit<Q> for KeyedGuards<Q, R, C>
where
    Q: 'static,
    R: Runtime<Sleep: Send, Instant: Send>,
    C: Send + Sync + 'static,
{
    type Ask = KeyRequest<R>;

    fn ask(&self, request: &Q) -> KeyRequest<R> {
        self.entrance.ask(request)
    }

    async fn admit(&self, key: KeyRequest<R>, time: Option<Duration>) -> Result<Admitted, GuardError<Infallible>> {
        let KeyRequest { breaker, request } = key.with(request_in(time));
        admitted(&breaker, request).await
    }

    fn estimated_wait(&self, request: &Q) -> Option<Duration> {
        self.entrance.estimated_wait(request)
    }
}

impl<Q, R: Clock, C> Clone for KeyedGuards<Q, R, C> {
    fn clone(&self) -> Self {
        let KeyedGuards { entrance, terms, label } = self;
        KeyedGuards { entrance: Arc::clone(entrance), terms: Arc::clone(terms), label: Arc::clone(label) }
    }
}

impl<Q, R: Clock, C> fmt::Debug for KeyedGuards<Q, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedGuards").field("label", &self.label).finish_non_exhaustive()
    }
}
