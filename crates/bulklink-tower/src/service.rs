//! The service that admits its requests in `call`.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bulklink::runtime::Runtime;
use tower_service::Service;

use crate::ResponseFuture;
use crate::future::Config;
use crate::outcome::Outcome;

/// A service with its requests `Q` in a bulkhead; made by a
/// [`BulkheadLayer`](crate::BulkheadLayer).
///
/// It is always ready. A request takes a free slot in `call` or is rejected there, or it takes a
/// place in the queue when its future is first polled; and it is for a clone of the service inside
/// to be ready once there is a slot. So a clone of this that is ready and never called takes
/// nothing from the others.
pub struct BulkheadService<S, Q, R: Runtime, O> {
    inner: S,
    config: Arc<Config<Q, R, O>>,
}

impl<S, Q, R: Runtime, O> BulkheadService<S, Q, R, O> {
    pub(crate) fn new(inner: S, config: Arc<Config<Q, R, O>>) -> Self {
        BulkheadService { inner, config }
    }

    /// Returns the service inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the service inside.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Returns the service inside, without its bulkhead.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, Q, R, O> Service<Q> for BulkheadService<S, Q, R, O>
where
    S: Service<Q> + Clone,
    R: Runtime,
    O: Outcome<Q, S::Response, S::Error>,
{
    type Response = O::Response;
    type Error = O::Error;
    type Future = ResponseFuture<S, Q, R, O>;

    /// Is always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        ResponseFuture::new(&self.config, &self.inner, request)
    }
}

impl<S: Clone, Q, R: Runtime, O> Clone for BulkheadService<S, Q, R, O> {
    fn clone(&self) -> Self {
        BulkheadService { inner: self.inner.clone(), config: Arc::clone(&self.config) }
    }
}

impl<S: fmt::Debug, Q, R: Runtime, O> fmt::Debug for BulkheadService<S, Q, R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.config.admission.label();
        f.debug_struct("BulkheadService").field("label", &label).field("inner", &self.inner).finish()
    }
}
