//! The gateway: an HTTP server that forwards each route to its upstream (`protect.rs`), and maps
//! each rejection to an HTTP status.

use std::{error::Error, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::get,
};
use bulklink_tokio::{Bulkhead, Reason, Rejection};
use hyper_util::client::legacy;

use crate::{
    http::Server,
    options::Options,
    outbound::Outbound,
    protect::{self, Forwarding},
    scenario::{PerRoute, Phase, Route},
};

#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) server: Server,
    outbound: Arc<Outbound>,
    bulkheads: Vec<Bulkhead>,
}

impl Gateway {
    /// Starts a gateway. Each phase has its own: new pool, new bulkheads, no connections left over.
    pub(crate) async fn start(
        phase: Phase,
        upstreams: &PerRoute<Server>,
        options: &Options,
    ) -> Result<Self, Box<dyn Error>> {
        let outbound = Arc::new(Outbound::new(options));
        let mut bulkheads = Vec::new();
        let mut router = Router::new();
        for route in Route::ALL {
            let bulkhead = phase.has_bulkheads().then(|| protect::bulkhead(route, options)).transpose()?;
            bulkheads.extend(bulkhead.clone());
            let upstream = format!("http://{}/", upstreams.of(route).address).parse()?;
            let forwarding = Arc::new(Forwarding { upstream, outbound: Arc::clone(&outbound), bulkhead });
            router = router.route(&format!("/{}", route.name()), get(forward).with_state(forwarding));
        }
        Ok(Self { server: Server::start(router).await?, outbound, bulkheads })
    }

    pub(crate) fn in_use(&self) -> usize {
        self.outbound.in_use()
    }

    /// Counts outbound lines and slots in use, and places in waiting rooms.
    pub(crate) fn held(&self) -> usize {
        let statuses = self.bulkheads.iter().map(Bulkhead::status);
        self.in_use() + statuses.map(|status| status.in_flight + status.waiting).sum::<usize>()
    }
}

async fn forward(State(forwarding): State<Arc<Forwarding>>) -> Result<Response, Refusal> {
    forwarding.forward().await
}

/// The reason why a request was not forwarded or not answered.
#[derive(Debug)]
pub(crate) enum Refusal {
    Bulkhead(Rejection),
    NoLine,
    UpstreamSilent,
    UpstreamFailed(legacy::Error),
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Bulkhead(rejection)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (unavailable, late) = (StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT);
        match self {
            Self::Bulkhead(rejection) if rejection.reason() == Reason::Expired => {
                (late, rejection.to_string()).into_response()
            }
            Self::Bulkhead(rejection) => (unavailable, [(RETRY_AFTER, "1")], rejection.to_string()).into_response(),
            Self::NoLine => (late, "no outbound line became free in time").into_response(),
            Self::UpstreamSilent => (late, "the upstream did not answer in time").into_response(),
            Self::UpstreamFailed(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        }
    }
}
