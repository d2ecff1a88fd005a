//! The row of a circuit breaker, or of those of keys together.

pub(super) mod json;
pub(super) mod text;

use std::sync::Arc;
use std::time::Duration;

use bulklink::Severity;
use bulklink_breaker::{Breaker, BreakerRegistry, BreakerStatus, BreakerTotals, KeysStatus, State};
use tokio::time::Instant;

use super::recent::Recent;
use super::row::{Finding, ratio, worst};
use super::worst::Rank;

/// Breakers that the page shows.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Registry(BreakerRegistry),
    One(Breaker),
}

pub(super) struct BreakerRow {
    pub(super) status: BreakerStatus,
    /// The recent calls, if the page was asked for lately.
    pub(super) recently: Option<Recently>,
    pub(super) severity: Severity,
    pub(super) findings: Vec<Finding>,
}

/// The calls of the recent past.
pub(super) struct Recently {
    pub(super) time: Duration,
    pub(super) totals: BreakerTotals,
}

impl Source {
    pub(super) fn status(&self) -> Vec<BreakerStatus> {
        match self {
            Source::Registry(registry) => registry.breaker_status(),
            Source::One(breaker) => vec![breaker.status()],
        }
    }
}

impl BreakerRow {
    /// Makes the row of a status; the page was asked for `now`.
    pub(super) fn new(status: BreakerStatus, earlier: &Recent<BreakerTotals>, now: Instant) -> Self {
        let before = earlier.before(status.instance, now, &status.totals);
        let recently = before.map(|(time, before)| Recently { time, totals: status.totals.since(&before) });
        let findings = findings(&status);
        BreakerRow { recently, severity: worst(&findings), findings, status }
    }

    pub(super) fn rank(&self) -> Rank {
        let is_open = |keys: &KeysStatus| ratio(keys.open as u64, keys.kept as u64);
        Rank {
            severity: self.severity,
            rejected_share: self.recently.as_ref().map_or(0.0, Recently::rejected_share),
            utilization: self.status.keys.as_ref().map_or(0.0, is_open),
            waiting_share: 0.0,
            label: Arc::clone(&self.status.label),
        }
    }
}

impl Recently {
    /// Of the calls that were rejected or ended.
    pub(super) fn rejected_share(&self) -> f64 {
        let rejected = self.totals.rejected;
        ratio(rejected, rejected.saturating_add(self.totals.ended()))
    }
}

fn findings(status: &BreakerStatus) -> Vec<Finding> {
    let is_out_of_reach = status.is_connected == Some(false);
    let store = is_out_of_reach.then(|| {
        let message = "the store of the circuit is out of reach".into();
        Finding { severity: Severity::Warning, code: "store_unreachable", message }
    });
    of_state(status).into_iter().chain(store).collect()
}

fn of_state(status: &BreakerStatus) -> Option<Finding> {
    let (state, is_forced) = (status.circuit.state, status.circuit.is_forced);
    let (severity, message) = match (&status.keys, state) {
        (_, State::Closed) => return None,
        (None, State::Open) if is_forced => (Severity::Critical, "all calls are rejected, by hand".into()),
        (None, State::Open) => (Severity::Critical, "all calls are rejected".into()),
        (None, State::HalfOpen) => (Severity::Warning, "only probes are let through".into()),
        (Some(keys), State::Open) => {
            // One host that is down is not the whole service.
            let severity = if keys.open == keys.kept { Severity::Critical } else { Severity::Warning };
            (severity, format!("{} of {} circuits are open", keys.open, keys.kept))
        }
        (Some(keys), State::HalfOpen) => {
            (Severity::Warning, format!("{} of {} circuits are half-open", keys.half_open, keys.kept))
        }
    };
    Some(Finding { severity, code: state.as_str(), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_out_of_reach_is_a_warning() {
        let mut status = Breaker::builder_on(bulklink::StdClock, "search").build().expect("valid").status();
        status.is_connected = Some(true);
        let row = |status: &BreakerStatus| BreakerRow::new(status.clone(), &Recent::new(), Instant::now());
        assert_eq!(row(&status).severity, Severity::Ok);
        status.is_connected = Some(false);
        let row = row(&status);
        assert_eq!((row.severity, row.findings[0].code), (Severity::Warning, "store_unreachable"));
    }
}
