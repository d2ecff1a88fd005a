//! A layer that puts a guard around a service.
//!
//! ```
//! use bulklink_breaker::tower::GuardLayer;
//! use bulklink_breaker::{Guard, GuardError, Settings};
//! use bulklink_tokio::Bulkhead;
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bulkhead = Bulkhead::builder("payments").parallelism(10).waiting_room(50).build()?;
//! let guard = Guard::builder(&bulkhead)
//!     .settings(Settings::of_last(20).failures(10))
//!     .run_limit(Duration::from_secs(2))
//!     .build()?;
//!
//! let pay = async |amount: u32| Ok::<_, std::io::Error>(format!("paid {amount}"));
//! let mut payments = ServiceBuilder::new().layer(GuardLayer::new(&guard)).service_fn(pay);
//!
//! match payments.ready().await?.call(42).await {
//!     Ok(receipt) => assert_eq!(receipt, "paid 42"),
//!     Err(GuardError::Open(open)) => println!("try again in {:?}", open.retry_after),
//!     Err(other) => println!("{other}"),
//! }
//! # Ok(())
//! # }
//! # use tower::Service;
//! ```

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bulklink::runtime::Runtime;
use tower_layer::Layer;
use tower_service::Service;

use crate::{Classify, ErrorsFail, Guard, GuardError};

/// Puts a [`Guard`] around a service: each request is a call of the guard.
///
/// All services that it makes, and their clones, share the guard.
///
/// # When the slot is free again
///
/// The slot, and a probe of a half-open circuit, are held until the service's future has completed.
/// That of an HTTP service completes with the head of the response, while its body may still be on
/// its way: the body is neither limited nor counted. Where it matters, the body is collected inside
/// the guard, or `bulklink-tower`'s layer, whose slots are held through the body, goes around it.
///
/// A status such as 503 is an `Ok` of an HTTP service. The guard needs a
/// [classifier](crate::GuardBuilder::classify) to count it as a failure.
#[derive(Clone)]
pub struct GuardLayer<R, K = ErrorsFail> {
    guard: Guard<R, K>,
}

impl<R: Clone, K: Clone> GuardLayer<R, K> {
    /// Makes a layer of a guard.
    #[must_use]
    pub fn new(guard: &Guard<R, K>) -> Self {
        GuardLayer { guard: guard.clone() }
    }
}

impl<S, R, K> Layer<S> for GuardLayer<R, K>
where
    Guard<R, K>: Clone,
{
    type Service = GuardService<S, R, K>;

    fn layer(&self, inner: S) -> Self::Service {
        GuardService { inner, guard: self.guard.clone() }
    }
}

impl<R, K> fmt::Debug for GuardLayer<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardLayer").field("guard", &self.guard).finish()
    }
}

/// A service behind a guard; made by a [`GuardLayer`].
///
/// It is always ready. Each request has its own clone of the service inside, which is asked whether
/// it is ready in the slot: a clone that is ready and never called holds nothing. If it fails to
/// become ready, that is the result of the request.
#[derive(Clone)]
pub struct GuardService<S, R, K = ErrorsFail> {
    inner: S,
    guard: Guard<R, K>,
}

impl<S, R, K> GuardService<S, R, K> {
    /// Returns the guard.
    pub const fn guard(&self) -> &Guard<R, K> {
        &self.guard
    }

    /// Returns the service inside, without its guard.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, Q, R, K> Service<Q> for GuardService<S, R, K>
where
    S: Service<Q, Future: Send, Response: Send, Error: Send> + Clone + Send + 'static,
    Q: Send + 'static,
    R: Runtime<Sleep: Send, Instant: Send>,
    K: Classify<S::Response, S::Error> + Clone + Send + Sync + 'static,
{
    type Response = S::Response;
    type Error = GuardError<S::Error>;
    type Future = GuardFuture<S::Response, S::Error>;

    /// Is always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let (guard, mut service) = (self.guard.clone(), self.inner.clone());
        let call = async move {
            let operation = async move {
                poll_fn(|context| service.poll_ready(context)).await?;
                service.call(request).await
            };
            guard.execute(operation).await
        };
        GuardFuture { call: Box::pin(call) }
    }
}

impl<S: fmt::Debug, R, K> fmt::Debug for GuardService<S, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardService").field("inner", &self.inner).field("guard", &self.guard).finish()
    }
}

/// The future of a request to a [`GuardService`].
///
/// # Cancel safety
///
/// As that of [`Guard::execute`].
#[must_use = "futures do nothing unless polled"]
pub struct GuardFuture<T, E> {
    call: Pin<Box<dyn Future<Output = Result<T, GuardError<E>>> + Send>>,
}

impl<T, E> Future for GuardFuture<T, E> {
    type Output = Result<T, GuardError<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.call.as_mut().poll(context)
    }
}

impl<T, E> fmt::Debug for GuardFuture<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardFuture").finish_non_exhaustive()
    }
}
