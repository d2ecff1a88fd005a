//! How soon a process sees that another one has opened the circuit.

use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bulklink_breaker::{Settings, State};
use bulklink_fleet::circuits::CircuitStore;

use super::ground::{Member, postgres, redis, wait_until};
use super::{Effort, Ground, Kind, Scene};
use crate::report::{Limit, Row};

/// Far more than a notice takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(ground: &Ground, effort: &Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        let url = ground.url(kind);
        let mut times = match kind {
            Kind::Postgres => times(|| postgres(&url), effort.trips)?,
            Kind::Redis => times(|| redis(&url), effort.trips)?,
        };
        times.sort();
        let row = |what: &str, place: usize| {
            let what = format!("a peer sees a trip, {what} of {}, {}", times.len(), kind.name());
            Row::new(Scene::Peer.name(), what, times[place].as_secs_f64() * 1e3, "ms")
        };
        rows.push(row("p50", times.len() / 2).limit(Limit::AtMost(20.0)));
        rows.push(row("longest", times.len() - 1));
    }
    Ok(rows)
}

/// From before the call fails that opens the circuit in one process until it is open in the other.
fn times<S: CircuitStore>(connect: impl Fn() -> S, trips: usize) -> Result<Vec<Duration>> {
    let settings = Settings::consecutive(1).cool_down(Duration::from_hours(1));
    let [first, second] = [Member::join(connect(), "peer", settings)?, Member::join(connect(), "peer", settings)?];
    let (sender, seen) = channel();
    second.breaker.add_transition_handler(move |transition| {
        // The other end is gone when this scene is.
        let _ = sender.send((transition.to, Instant::now()));
    });
    let trip = |_| {
        let call = first.breaker.admit().ok().context("the circuit is not closed")?;
        let start = Instant::now();
        call.fail();
        let blind = || {
            format!(
                "the peer sees nothing: {:?}, {:?}",
                first.breaker.status().circuit,
                second.breaker.status().circuit
            )
        };
        let (state, at) = seen.recv_timeout(PATIENCE).with_context(blind)?;
        anyhow::ensure!(state == State::Open, "the peer sees {state}");
        first.breaker.force_closed();
        seen.recv_timeout(PATIENCE).context("the peer does not see that it is closed")?;
        let is_closed =
            || [&first, &second].iter().all(|member| member.breaker.status().circuit.state == State::Closed);
        wait_until(is_closed)?;
        // Until the store has answered that it is closed. Then trips begin at any time of the
        // interval in which outcomes are collected.
        sleep(Duration::from_millis(fastrand::u64(20..120)));
        Ok(at.saturating_duration_since(start))
    };
    (0..trips.max(1)).map(trip).collect()
}
