//! The layers around the routes: limits, and values from a request.

use axum::extract::Request;
use axum::http::StatusCode;
use bulklink_metrics::Exporter;
use bulklink_tokio::{Bulkhead, InvalidArgument, Partitions, Tokio};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{KeyHeader, Respond, Responses, TimeoutHeader};

/// The headers for the identity of a client, and for how long it waits for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    pub(crate) timeout: TimeoutHeader,
    pub(crate) tenant: KeyHeader,
}

/// Limits one route: each needs a bulkhead of its own.
pub(crate) fn limit(bulkhead: &Bulkhead) -> BulkheadLayer<Request, Tokio, Respond> {
    BulkheadLayer::new(bulkhead).respond().share_slot()
}

impl Headers {
    pub(crate) fn new() -> Result<Self, InvalidArgument> {
        Ok(Headers {
            timeout: TimeoutHeader::millis("x-timeout-ms")?,
            tenant: KeyHeader::new("x-tenant", "anonymous")?,
        })
    }

    /// Limits each tenant, over all routes, and cancels late requests. Layers inside keep the same
    /// deadline.
    pub(crate) fn limit_each(&self, tenants: &Partitions<String>) -> BulkheadLayer<Request, Tokio, Respond> {
        let responses = Responses::new().status(StatusCode::TOO_MANY_REQUESTS);
        BulkheadLayer::keyed_by_header(tenants, &self.tenant)
            .deadline_from(&self.timeout)
            .cancel_at_deadline()
            .respond_with(&responses)
            .share_slot()
    }

    /// Exports how many values are invalid.
    pub(crate) fn count_invalid(&self, exporter: &Exporter) -> Result<(), InvalidArgument> {
        let Headers { timeout, tenant } = self.clone();
        exporter.add_counter("invalid_timeouts_total", "Invalid values of x-timeout-ms.", move || timeout.invalid())?;
        exporter.add_counter("invalid_tenants_total", "Invalid values of x-tenant.", move || tenant.invalid())
    }
}
