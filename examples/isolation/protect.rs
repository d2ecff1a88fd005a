//! How the gateway protects its routes from each other: the part to copy. One bulkhead for each route, together no
//! larger than what the routes share; a slot is taken before anything shared is touched, and given back only with the
//! last byte of the answer.

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
    Bulkhead::builder(route.name())
        .parallelism(route.slots(options))
        .waiting_room(options.waiting_room)
        .wait_limit(options.wait_limit)
        .build()
}

impl Forwarding {
    /// Dropped half-way, because the client has gone, it leaves every queue and gives back all it held.
    pub(crate) async fn forward(&self) -> Result<Response, Refusal> {
        let slot = self.slot().await?;
        let line = self.outbound.line().await?;
        let deadline = self.outbound.deadline();
        let answer = self.outbound.get(&self.upstream, deadline).await?;
        // Only the head has arrived. The body takes both along and gives back the line first, so that whoever gets the
        // slot finds a line.
        Ok(answer.map(|body| Held::until_sent(body, deadline, (line, slot))))
    }

    /// Without bulkheads, and only then, everybody is let in: the one difference between the phases.
    async fn slot(&self) -> Result<Option<OwnedSlot>, Rejection> {
        match &self.bulkhead {
            Some(bulkhead) => bulkhead.slot_owned().await.map(Some),
            None => Ok(None),
        }
    }
}
