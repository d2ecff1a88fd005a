//! A budget of tokens for each tenant and minute: a limit on a rate, which a bulkhead is not.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bulklink_tower::http::KeyHeader;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::price::Cost;

/// From how many tenants on those are forgotten that have their whole budget again.
const MANY: usize = 10_000;

pub(crate) struct Budgets {
    limiter: DefaultKeyedRateLimiter<String>,
    tenant: KeyHeader,
}

impl Budgets {
    pub(crate) fn new(per_minute: NonZeroU32, tenant: KeyHeader) -> Self {
        Budgets { limiter: RateLimiter::keyed(Quota::per_minute(per_minute)), tenant }
    }
}

pub(crate) async fn within_budget(
    State(budgets): State<Arc<Budgets>>,
    Extension(Cost { tokens }): Extension<Cost>,
    request: Request,
    next: Next,
) -> Response {
    if budgets.limiter.len() > MANY {
        budgets.limiter.retain_recent();
    }
    let tenant = budgets.tenant.read(request.headers()).to_owned();
    let tokens = NonZeroU32::new(tokens.try_into().unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN);
    match budgets.limiter.check_key_n(&tenant, tokens) {
        Ok(Ok(())) => next.run(request).await,
        Ok(Err(not_until)) => {
            let seconds = not_until.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)]).into_response()
        }
        Err(_) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
    }
}
