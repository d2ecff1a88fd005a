//! Protects the gateway's routes from each other: the part to read. Each route has a bulkhead, and
//! all bulkheads together are no larger than the pool that the routes share. A request acquires a
//! slot before it uses anything shared, and releases it with the last byte of the response.

use std::sync::Arc;

use axum::{http::Uri, response::Response};
use bulklink_tokio::{Bulkhead, InvalidArgument, OwnedSlot, Rejection};

use crate::{gateway::Refusal, held::Held, options::Options, outbound::Outbound, scenario::Route};

#[derive(Debug)]
pub(crate) struct Forwarding {
    pub(crate) upstream: Uri,
    pub(crate) outbound: Arc<Outbound>,
    pub(crate) bulkhead: Option<Bulkhead>,
}

pub(crate) fn bulkhead(route: Route, options: &Options) -> Result<Bulkhead, InvalidArgument> {
    let builder = Bulkhead::builder(route.name()).parallelism(route.slots(options));
    match options.waiting_room {
        0 => builder.build(),
        room => builder.waiting_room(room).wait_limit(options.wait_limit).build(),
    }
}

impl Forwarding {
    /// Forwards a request. If the client disconnects, dropping this future leaves every queue and
    /// releases everything the request held.
    pub(crate) async fn forward(&self) -> Result<Response, Refusal> {
        let slot = self.slot().await?;
        let line = self.outbound.line().await?;
        let deadline = self.outbound.deadline();
        let answer = self.outbound.get(&self.upstream, deadline).await?;
        // Only the head has arrived, so the body keeps both until it ends. It releases the line
        // first, so that the next holder of the slot finds a free line.
        Ok(answer.map(|body| Held::until_sent(body, deadline, (line, slot))))
    }

    /// Acquires a slot, or nothing without bulkheads: the only difference between the phases.
    async fn slot(&self) -> Result<Option<OwnedSlot>, Rejection> {
        match &self.bulkhead {
            Some(bulkhead) => bulkhead.owned().slot().await.map(Some),
            None => Ok(None),
        }
    }
}
