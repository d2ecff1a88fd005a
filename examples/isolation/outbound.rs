//! The resource that the gateway's routes share and exhaust: a fixed pool of outbound lines.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, http::Uri, response::Response};
use hyper_util::client::legacy;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    gateway::Refusal,
    http::{self, Client},
    options::Options,
};

/// Permission for one outbound call; dropping it returns it to the pool.
pub(crate) type Line = OwnedSemaphorePermit;

#[derive(Debug)]
pub(crate) struct Outbound {
    client: Client,
    lines: Arc<Semaphore>,
    size: usize,
    wait: Duration,
    call_timeout: Duration,
}

impl Outbound {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            client: http::client(),
            lines: Arc::new(Semaphore::new(options.pool)),
            size: options.pool,
            wait: options.pool_wait,
            call_timeout: options.upstream_timeout,
        }
    }

    /// Waits for a line in FIFO order, whichever route it is for.
    pub(crate) async fn line(&self) -> Result<Line, Refusal> {
        let line = timeout(self.wait, Arc::clone(&self.lines).acquire_owned()).await;
        line.ok().and_then(Result::ok).ok_or(Refusal::NoLine)
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.call_timeout
    }

    /// Returns as soon as the head of the response has arrived; the body streams.
    pub(crate) async fn get(&self, uri: &Uri, deadline: Instant) -> Result<Response, Refusal> {
        let head = timeout_at(deadline, self.client.get(uri.clone())).await;
        Ok(head.map_err(|_| Refusal::UpstreamSilent)??.map(Body::new))
    }

    pub(crate) fn in_use(&self) -> usize {
        self.size - self.lines.available_permits()
    }
}

impl From<legacy::Error> for Refusal {
    fn from(error: legacy::Error) -> Self {
        Self::UpstreamFailed(error)
    }
}
