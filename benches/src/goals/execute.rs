//! *execute*: an operation that is ready immediately runs in a slot, without waiters. Each peer is
//! called as its docs show.

use std::convert::Infallible;
use std::future::ready;
use std::hint::black_box;
use std::time::Duration;

use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_resilience_bulkhead::BulkheadLayer;

use super::uncontended::CAPACITY;
use crate::goal::{Goal, Row};
use crate::peers::{bulkhead, tokio_runtime};
use crate::scene::{Meter, Scene};
use crate::work::{now, repeat};

pub(crate) fn goal() -> Goal {
    let peers = [
        ("tower ConcurrencyLimit", concurrency_limit as fn() -> Scene, 0.4),
        ("async-bulkhead", async_bulkhead, 0.25),
        ("tower-resilience", tower_resilience, 0.08),
    ];
    let instructions = peers.map(|(name, peer, limit)| Row::instructions(WHAT, name, ours(), peer()).at_most(limit));
    let [tower, bulkhead, resilience] = peers.map(|(name, peer, ..)| Row::time(WHAT, name, ours(), peer()));
    let times = [tower.headline("Run an operation that is ready immediately"), bulkhead, resilience];
    Goal::new("execute", instructions.into_iter().chain(times).collect::<Vec<_>>())
}

const WHAT: &str = "execute(ready future)";

fn ours() -> Scene {
    Scene::new("execute/execute", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        repeat(operations, meter, || now(|| bulkhead.execute(ready(7))).expect("admitted"));
    })
}

fn concurrency_limit() -> Scene {
    Scene::new("execute/tower ConcurrencyLimit", |operations, meter| {
        let service = ServiceBuilder::new().concurrency_limit(CAPACITY).service(service_fn(answer));
        call(service, operations, meter);
    })
}

/// Must run inside a runtime, because it makes a timer for every call.
fn async_bulkhead() -> Scene {
    Scene::new("execute/async-bulkhead", |operations, meter| {
        let runtime = tokio_runtime();
        let _entered = runtime.enter();
        let builder = async_bulkhead::Bulkhead::builder().max_concurrent_calls(CAPACITY);
        let bulkhead = builder.max_wait_duration(Duration::from_secs(10)).build().expect("these are valid limits");
        repeat(operations, meter, || now(|| bulkhead.limit(ready(7))).expect("admitted"));
    })
}

fn tower_resilience() -> Scene {
    Scene::new("execute/tower-resilience", |operations, meter| {
        let layer = BulkheadLayer::builder().max_concurrent_calls(CAPACITY).name("bench").build();
        let service = ServiceBuilder::new().layer(layer.expect("these are valid limits")).service(service_fn(answer));
        call(service, operations, meter);
    })
}

fn answer(request: u32) -> std::future::Ready<Result<u32, Infallible>> {
    ready(Ok(request))
}

/// Waits for readiness and then calls, as tower requires.
fn call<S: Service<u32>>(mut service: S, operations: usize, meter: Meter<'_>) {
    meter(&mut || {
        for _ in 0..operations {
            let service = &mut service;
            let _ = black_box(now(move || async move { service.ready().await?.call(7).await }));
        }
    });
}
