//! The server's route, and the limits around it: limits that find themselves, and fixed ones. All
//! know the deadline, and those of bulkheads have the same waiting room and wait limit.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::error_handling::HandleErrorLayer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{BoxError, Router};
use bulklink_tokio::limit::{Knee, Limit};
use bulklink_tokio::{Builder, Bulkhead, Tokio};
use bulklink_tower::BulkheadLayer;
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower_resilience_adaptive::{AdaptiveLimiterLayer, Aimd, ConcurrencyAlgorithm};

use super::rules::Rule;
use super::scene::Scene;
use super::upstream::Upstream;
use crate::overload::DEADLINE;
use crate::overload::front::{CALL, LONGEST_WAIT, WAITING_ROOM, WORK, deadline, number};

/// The least and the greatest limit of all that find it, but for tower-resilience.
const BOUNDS: (usize, usize) = (2, 400);
/// By how much a fixed limit is wrong.
const WRONG: usize = 4;

/// The limit in front of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// A bulkhead with an adaptive limit, a [`Knee`].
    Adaptive,
    /// A bulkhead with a fixed limit.
    Fixed(usize),
    /// The adaptive layer of tower-resilience with its defaults, between load shedding and a
    /// timeout.
    TowerResilience,
    /// The rule of failsafe-go in our bulkhead.
    FailsafeGo,
    /// The rule of Netflix, with a sample a second, in our bulkhead.
    Gradient2,
    /// Load shedding, a global limit, and a timeout.
    Tower(usize),
}

/// Returns the limit at this moment.
pub type Probe = Arc<dyn Fn() -> usize + Send + Sync>;

impl Guard {
    /// Returns those that are compared in a scene.
    #[must_use]
    pub fn all(scene: Scene) -> [Guard; 8] {
        let best = scene.best_fixed();
        [
            Guard::Adaptive,
            Guard::Fixed(best),
            Guard::Fixed(best * WRONG),
            Guard::Fixed(best / WRONG),
            Guard::TowerResilience,
            Guard::FailsafeGo,
            Guard::Gradient2,
            Guard::Tower(best),
        ]
    }

    /// Returns whether it is a bulkhead of ours with a limit of ours.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(self, Guard::Adaptive | Guard::Fixed(_))
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Guard::Adaptive => "Bulklink, adaptive",
            Guard::Fixed(limit) => return write!(formatter, "Bulklink, fixed at {limit}"),
            Guard::TowerResilience => "tower-resilience, adaptive",
            Guard::FailsafeGo => "failsafe-go's rule",
            Guard::Gradient2 => "Netflix' Gradient2",
            Guard::Tower(limit) => return write!(formatter, "tower's three layers, at {limit}"),
        };
        formatter.write_str(name)
    }
}

/// Returns the route to the upstream behind the guard, and the guard's limit.
///
/// # Panics
///
/// Never: the limits are valid.
pub fn guarded(guard: Guard, upstream: &Arc<Upstream>) -> (Router, Probe) {
    let route = Router::new().route("/", get(serve)).with_state(Arc::clone(upstream));
    let rejected = || HandleErrorLayer::new(|_: BoxError| async { StatusCode::SERVICE_UNAVAILABLE });
    match guard {
        Guard::Adaptive => adaptive(route, Knee::between(BOUNDS.0, BOUNDS.1)),
        Guard::FailsafeGo => adaptive(route, Rule::failsafe_go(BOUNDS)),
        Guard::Gradient2 => adaptive(route, Rule::gradient2(BOUNDS)),
        Guard::Fixed(limit) => behind(route, bulkhead(limit)),
        Guard::Tower(limit) => {
            let layers = ServiceBuilder::new().layer(rejected()).load_shed();
            let layers = layers.layer(GlobalConcurrencyLimitLayer::new(limit)).timeout(DEADLINE);
            (route.layer(layers), Arc::new(move || limit))
        }
        Guard::TowerResilience => {
            let algorithm = Arc::new(Aimd::builder().build().expect("these are valid defaults"));
            let layers = ServiceBuilder::new().layer(rejected()).load_shed();
            let layers = layers.layer(AdaptiveLimiterLayer::new(Shown(Arc::clone(&algorithm)))).timeout(DEADLINE);
            (route.layer(layers), Arc::new(move || algorithm.limit()))
        }
    }
}

fn bulkhead(limit: usize) -> Builder<Tokio> {
    Bulkhead::builder("upstream").parallelism(limit).waiting_room(WAITING_ROOM).wait_limit(LONGEST_WAIT)
}

fn adaptive(route: Router, limit: impl Limit + Clone + Send + Sync + 'static) -> (Router, Probe) {
    behind(route, bulkhead(BOUNDS.1).adaptive(limit))
}

fn behind(route: Router, builder: Builder<Tokio>) -> (Router, Probe) {
    let bulkhead = builder.build().expect("these are valid limits");
    let layer = BulkheadLayer::new(&bulkhead).deadline_from(&deadline()).respond();
    (route.layer(layer), Arc::new(move || bulkhead.status().effective_capacity()))
}

async fn serve(State(upstream): State<Arc<Upstream>>, headers: HeaderMap) -> &'static str {
    let call = number(&headers, CALL).and_then(|call| usize::try_from(call).ok());
    let work = Duration::from_micros(number(&headers, WORK).unwrap_or_default());
    upstream.serve(call.unwrap_or(usize::MAX), work).await;
    "done"
}

/// An algorithm whose limit can be read.
struct Shown(Arc<Aimd>);

impl ConcurrencyAlgorithm for Shown {
    fn record_success(&self, latency: Duration) {
        self.0.record_success(latency);
    }

    fn record_success_with_load(&self, latency: Duration, in_flight: usize) {
        self.0.record_success_with_load(latency, in_flight);
    }

    fn record_failure(&self) {
        self.0.record_failure();
    }

    fn record_dropped(&self) {
        self.0.record_dropped();
    }

    fn limit(&self) -> usize {
        self.0.limit()
    }

    fn min_limit(&self) -> usize {
        self.0.min_limit()
    }

    fn max_limit(&self) -> usize {
        self.0.max_limit()
    }
}
