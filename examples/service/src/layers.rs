//! The layers around the routes: what limits them, and what they read in a request.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use bulklink_tokio::{Bulkhead, InvalidArgument, Partitions, Rejection, Tokio};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{KeyHeader, Respond, Responses, TimeoutHeader};
use tracing::info;

/// The headers in which clients say who they are, and how long they wait for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    pub(crate) timeout: TimeoutHeader,
    pub(crate) tenant: KeyHeader,
}

impl Headers {
    pub(crate) fn new() -> Result<Self, InvalidArgument> {
        Ok(Headers {
            timeout: TimeoutHeader::millis("x-timeout-ms")?,
            tenant: KeyHeader::new("x-tenant", "anonymous")?,
        })
    }

    /// Limits one route: each needs a bulkhead of its own.
    pub(crate) fn limit(&self, bulkhead: &Bulkhead) -> BulkheadLayer<Request, Tokio, Respond> {
        let responses = Responses::new().attach_rejections();
        BulkheadLayer::new(bulkhead).deadline_from(&self.timeout).respond_with(&responses).share_slot()
    }

    /// Limits each tenant, over all routes, and cancels what is late.
    pub(crate) fn limit_each(&self, tenants: &Partitions<String>) -> BulkheadLayer<Request, Tokio, Respond> {
        let responses = Responses::new().status(StatusCode::TOO_MANY_REQUESTS).attach_rejections();
        BulkheadLayer::keyed_by_header(tenants, &self.tenant)
            .deadline_from(&self.timeout)
            .cancel_at_deadline()
            .respond_with(&responses)
            .share_slot()
    }
}

/// Logs a response that a bulkhead gave.
pub(crate) async fn log(response: Response) -> Response {
    if let Some(rejection) = response.extensions().get::<Rejection>() {
        let (bulkhead, reason) = (rejection.label(), rejection.reason().as_str());
        info!(bulkhead, reason, waited = ?rejection.waited(), "rejected");
    }
    response
}
