//! The server's route, and the protections around it. Each protection lets in the same number of
//! calls at a time, is made as its docs show, and knows the deadline.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::error_handling::HandleErrorLayer;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{BoxError, Router};
use bulklink_tokio::{Bulkhead, Partitions, Tokio, partitions};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{KeyHeader, Respond, TimeoutHeader};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower_resilience_bulkhead::BulkheadServiceError;

use super::DEADLINE;
use super::scene::TENANTS;
use super::upstream::{Upstream, WORKERS};

/// The header with the number of the call.
pub const CALL: &str = "x-call";
/// The header with the time that is left, in milliseconds.
pub const TIMEOUT: &str = "x-timeout-ms";
/// The header with the tenant.
pub const TENANT: &str = "x-tenant";
/// The header with the time of the work, in microseconds; 0 if the upstream decides.
pub const WORK: &str = "x-work-us";

/// The calls in the upstream at a time. Two more than it has workers, because an answer needs time
/// to leave, and the next call to come.
const SLOTS: usize = WORKERS + 2;
/// The slots of a tenant where each has some of its own and then one of [`SLOTS`]: fewer than all,
/// and more than an equal part.
const TENANT_SLOTS: usize = 4;
/// More than the upstream can serve in the time of a call.
pub(super) const WAITING_ROOM: usize = 64;
/// Where there is a limit on the wait: half of the deadline, which leaves the other half to the
/// work.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The protection in front of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// A [`BulkheadLayer`] with the deadline from a header; a call waits up to half of it.
    Bulklink,
    /// The same without the limit on the wait, so that a call waits as long as its deadline allows.
    BulklinkByDeadline,
    /// Partitions that share the capacity and the waiting room, with the same limit on the wait.
    BulklinkShared,
    /// A partition for each tenant, with an equal part of the slots and no limit for all.
    BulklinkPart,
    /// The first, behind the layer of a partition for each tenant with the same limits on the wait.
    BulklinkPartitions,
    /// No limit.
    Nothing,
    /// A semaphore of tokio; waiting and work together are given up at the deadline.
    Semaphore,
    /// A semaphore of tokio for each tenant, and then one for all. A call waits for both up to half
    /// of the deadline.
    SemaphorePerTenant,
    /// Load shedding, a global limit, and a timeout.
    Tower,
    /// Its bulkhead; a call waits up to half of the deadline.
    TowerResilience,
}

impl Protection {
    /// Returns whether it is not ours.
    #[must_use]
    pub fn is_peer(self) -> bool {
        use Protection::{Nothing, Semaphore, SemaphorePerTenant, Tower, TowerResilience};
        matches!(self, Nothing | Semaphore | SemaphorePerTenant | Tower | TowerResilience)
    }

    /// Returns its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protection::Bulklink => "Bulklink",
            Protection::BulklinkByDeadline => "Bulklink, by deadline alone",
            Protection::BulklinkShared => "Bulklink, one capacity in turns",
            Protection::BulklinkPart => "Bulklink, an equal part each",
            Protection::BulklinkPartitions => "Bulklink, caps and one queue",
            Protection::Nothing => "nothing",
            Protection::Semaphore => "tokio Semaphore + timeout",
            Protection::SemaphorePerTenant => "tokio Semaphores, caps and one queue",
            Protection::Tower => "tower's three layers",
            Protection::TowerResilience => "tower-resilience",
        }
    }
}

/// Returns the route to the upstream behind the protection.
///
/// # Panics
///
/// Never: the limits are valid.
pub fn protected(protection: Protection, upstream: &Arc<Upstream>) -> Router {
    let route = Router::new().route("/", get(serve)).with_state(Arc::clone(upstream));
    match protection {
        Protection::Bulklink => route.layer(ours(Some(LONGEST_WAIT))),
        Protection::BulklinkByDeadline => route.layer(ours(None)),
        Protection::BulklinkShared => {
            route.layer(keyed(Partitions::builder("tenants").shared_capacity(SLOTS).shared_waiting_room(WAITING_ROOM)))
        }
        Protection::BulklinkPart => route.layer(each(SLOTS / TENANTS)),
        Protection::BulklinkPartitions => route.layer(ours(Some(LONGEST_WAIT))).layer(each(TENANT_SLOTS)),
        Protection::Nothing => route,
        Protection::Semaphore => {
            route.layer(middleware::from_fn_with_state(Arc::new(Semaphore::new(SLOTS)), in_permit))
        }
        Protection::SemaphorePerTenant => {
            route.layer(middleware::from_fn_with_state(Arc::new(Semaphores::new()), in_both_permits))
        }
        Protection::Tower => route.layer(
            ServiceBuilder::new()
                .layer(HandleErrorLayer::new(|_: BoxError| async { StatusCode::SERVICE_UNAVAILABLE }))
                .load_shed()
                .layer(GlobalConcurrencyLimitLayer::new(SLOTS))
                .timeout(DEADLINE),
        ),
        Protection::TowerResilience => {
            let layer = tower_resilience_bulkhead::BulkheadLayer::builder().max_concurrent_calls(SLOTS);
            // With the handle, the services that the layer makes share its limit.
            let layer = layer.max_wait_duration(LONGEST_WAIT).name("upstream").build_with_handle();
            let rejected = |_: BulkheadServiceError<Infallible>| async { StatusCode::SERVICE_UNAVAILABLE };
            let (layer, _) = layer.expect("these are valid limits");
            route.layer(ServiceBuilder::new().layer(HandleErrorLayer::new(rejected)).layer(layer))
        }
    }
}

fn ours(wait_limit: Option<Duration>) -> BulkheadLayer<Request, Tokio, Respond> {
    let builder = Bulkhead::builder("upstream").parallelism(SLOTS).waiting_room(WAITING_ROOM);
    let builder = if let Some(limit) = wait_limit { builder.wait_limit(limit) } else { builder };
    let bulkhead = builder.build().expect("these are valid limits");
    BulkheadLayer::new(&bulkhead).deadline_from(&deadline()).respond()
}

fn each(slots: usize) -> BulkheadLayer<Request, Tokio, Respond> {
    keyed(Partitions::builder("tenants").parallelism(slots).waiting_room(WAITING_ROOM))
}

fn keyed(builder: partitions::Builder<String, Tokio>) -> BulkheadLayer<Request, Tokio, Respond> {
    let partitions = builder.wait_limit(LONGEST_WAIT).max_partitions(100).build().expect("these are valid limits");
    let tenant = KeyHeader::new(TENANT, "anonymous").expect("a valid name");
    BulkheadLayer::keyed_by_header(&partitions, &tenant).deadline_from(&deadline()).respond()
}

pub(super) fn deadline() -> TimeoutHeader {
    TimeoutHeader::millis(TIMEOUT).expect("a valid name")
}

async fn serve(State(upstream): State<Arc<Upstream>>, headers: HeaderMap) -> &'static str {
    let call = number(&headers, CALL).and_then(|call| usize::try_from(call).ok());
    let work = number(&headers, WORK).filter(|micros| *micros > 0).map(Duration::from_micros);
    upstream.serve(call.unwrap_or(usize::MAX), work).await;
    "done"
}

/// The usual code without a library.
async fn in_permit(State(semaphore): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    let time = number(request.headers(), TIMEOUT).map_or(DEADLINE, Duration::from_millis);
    let work = async {
        let _permit = semaphore.acquire().await;
        next.run(request).await
    };
    timeout(time, work).await.unwrap_or_else(|_| StatusCode::SERVICE_UNAVAILABLE.into_response())
}

/// The same with a limit for each tenant.
struct Semaphores {
    each: Mutex<HashMap<String, Arc<Semaphore>>>,
    all: Semaphore,
}

impl Semaphores {
    fn new() -> Self {
        Semaphores { each: Mutex::default(), all: Semaphore::new(SLOTS) }
    }

    fn of(&self, tenant: &str) -> Arc<Semaphore> {
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        let semaphore = each.entry(tenant.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(TENANT_SLOTS)));
        Arc::clone(semaphore)
    }
}

async fn in_both_permits(State(semaphores): State<Arc<Semaphores>>, request: Request, next: Next) -> Response {
    let time = number(request.headers(), TIMEOUT).map_or(DEADLINE, Duration::from_millis);
    let tenant = request.headers().get(TENANT).and_then(|tenant| tenant.to_str().ok()).unwrap_or_default();
    let own = semaphores.of(tenant);
    let work = async {
        let permits = async { (own.acquire().await, semaphores.all.acquire().await) };
        let Ok(_permits) = timeout(LONGEST_WAIT, permits).await else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        next.run(request).await
    };
    timeout(time, work).await.unwrap_or_else(|_| StatusCode::SERVICE_UNAVAILABLE.into_response())
}

pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}
