//! The rows of *observe* about figures that an exporter reads: an exported bulkhead costs nothing
//! more, a scrape is linear, and waits are counted by their length for little.

use std::alloc::System;
use std::future::Future;
use std::hint::black_box;
use std::time::Duration;

use bulklink::testing::FakeClock;
use bulklink_metrics::{Exporter, Format};
use bulklink_tokio::{Bulkhead, Figures, Partitions};
use metrics::{counter, gauge, histogram};
use stats_alloc::{Region, StatsAlloc};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use super::uncontended::{self, CAPACITY};
use crate::goal::{Figure, Limit, NO_PEER, Row};
use crate::measure::float;
use crate::peers::{Answer, bulkhead, tokio_runtime};
use crate::scene::{Pace, Scene};
use crate::work::{cycle, now, poll, repeat, take};

/// Names of readings of the heap.
const FIRST_WAIT: &str = "the first wait: bytes";
const SHARED_WAIT: &str = "the first wait of a partition: bytes";
const SCRAPE: &str = "a scrape: allocations";

const FEW: usize = 1_000;
const MANY: usize = 10_000;

pub(super) fn rows() -> [Row; 10] {
    let exported = "slot + drop of a bulkhead that is exported, instructions more";
    let exported = Row::instructions(exported, "our own, never read", exported_slot(), uncontended::slot());
    let each = "a scrape of 1,000 bulkheads, each";
    let each = Row::time(each, "their status alone", scrape(FEW), statuses(FEW));
    let linear = "a scrape of 10,000 bulkheads, each";
    let counted = Row::instructions(linear, "of 1,000", scrape(MANY), scrape(FEW));
    let timed = Row::time(linear, "of 1,000", scrape(MANY), scrape(FEW));
    let rendered = "10,000 bulkheads as text for Prometheus, each";
    let rendered = Row::instructions(rendered, "of 1,000", text(MANY), text(FEW));
    let text_of_each = "1,000 bulkheads as text for Prometheus, each";
    let text_of_each = Row::time(text_of_each, "the scrape alone", text(FEW), scrape(FEW));
    let histogram = "release, grant, poll, queue again: instructions more with a histogram";
    let histogram = Row::new(histogram, "our own build without", Figure::Builds(a_wait()));
    let first = Figure::Memory(FIRST_WAIT.to_owned(), Some(SHARED_WAIT.to_owned()), "bytes");
    let first =
        Row::new("what the end of the first wait allocates, bytes more", "of a partition, which shares it", first);
    let allocations = Figure::Memory(SCRAPE.to_owned(), None, "allocations");
    let allocations = Row::new("a scrape of a bulkhead", NO_PEER, allocations);
    let holds = "slot + drop, holds measured";
    let holds = Row::time(holds, "tower-resilience with its metrics", measured_holds(), resilience_with_metrics());
    [
        exported.limit(Limit::More(0.0)),
        each.limit(Limit::Ours(3_000.0)),
        counted.at_most(1.05),
        // The histograms of so many do not fit the caches, so a ratio would be that of the memory.
        timed.limit(Limit::Ours(3_000.0)),
        rendered.at_most(1.05),
        text_of_each,
        histogram.limit(Limit::More(20.0)),
        first.limit(Limit::More(2_048.0)),
        allocations.limit(Limit::Ours(0.0)),
        holds.at_most(0.3),
    ]
}

fn exported_slot() -> Scene {
    Scene::new("observe/slot, exported", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        bulkhead.handle().figures(&mut Figures::new());
        take(operations, meter, || bulkhead.slot());
    })
}

/// Bulkheads in which a call has waited.
fn bulkheads(number: usize) -> Vec<Bulkhead> {
    let builder = |number| Bulkhead::builder(&format!("bench {number}")).parallelism(1).waiting_room(1);
    let bulkheads: Vec<_> = (0..number).map(|number| builder(number).build().expect("valid")).collect();
    for bulkhead in &bulkheads {
        cycle(1, 1, &mut |work| work(), || bulkhead.slot());
    }
    bulkheads
}

fn scrape(number: usize) -> Scene {
    let scene = Scene::new(format!("observe/scrape, {number}"), move |_, meter| {
        let (bulkheads, mut figures) = (bulkheads(number), Figures::new());
        meter(&mut || {
            for bulkhead in &bulkheads {
                bulkhead.handle().figures(&mut figures);
                black_box(&figures);
            }
        });
    });
    scene.pace(Pace::Fixed(number))
}

fn statuses(number: usize) -> Scene {
    let scene = Scene::new(format!("observe/status, {number}"), move |_, meter| {
        let bulkheads = bulkheads(number);
        meter(&mut || bulkheads.iter().for_each(|bulkhead| _ = black_box(bulkhead.status())));
    });
    scene.pace(Pace::Fixed(number))
}

/// What an exporter writes of them, the second time: then its memory is there.
fn text(number: usize) -> Scene {
    let scene = Scene::new(format!("observe/text, {number}"), move |_, meter| {
        let (bulkheads, exporter, mut text) = (bulkheads(number), Exporter::default(), String::new());
        for bulkhead in &bulkheads {
            exporter.add(bulkhead);
        }
        exporter.render_into(Format::Prometheus, &mut text);
        meter(&mut || {
            text.clear();
            exporter.render_into(Format::Prometheus, &mut text);
            black_box(&text);
        });
    });
    scene.pace(Pace::Fixed(number))
}

/// A wait on a clock that gives every build the same times.
fn a_wait() -> Scene {
    Scene::new("observe/wait", |operations, meter| {
        let clock = FakeClock::new();
        let builder = bulklink::Bulkhead::builder_on(clock.clone(), "bench").parallelism(1).waiting_room(2);
        let bulkhead = builder.build().expect("these are valid limits");
        cycle(1, operations, meter, || {
            clock.advance(Duration::from_micros(3));
            bulkhead.slot()
        });
    })
}

pub(super) fn measured_holds() -> Scene {
    Scene::new("observe/slot, holds measured", |operations, meter| {
        let bulkhead = Bulkhead::builder("bench").parallelism(CAPACITY).measure_holds(true).build().expect("valid");
        take(operations, meter, || bulkhead.slot());
    })
}

/// A call through the layer, and what its feature `metrics` adds to a call, written out: the
/// feature itself would be on for the goal *layer* too. There is no recorder, so this is the least
/// that it costs.
fn resilience_with_metrics() -> Scene {
    Scene::new("observe/tower-resilience", |operations, meter| {
        let runtime = tokio_runtime();
        let _entered = runtime.enter();
        let layer = tower_resilience_bulkhead::BulkheadLayer::builder().max_concurrent_calls(CAPACITY);
        let layer = layer.reject_when_full().name("bench").build().expect("these are valid limits");
        let echo = service_fn(|number: u32| std::future::ready(Ok::<_, std::convert::Infallible>(number)));
        let service = ServiceBuilder::new().layer(layer).service(echo);
        let name = String::from("bench");
        repeat(operations, meter, || {
            counter!("bulkhead_calls_permitted_total", "bulkhead" => name.clone()).increment(1);
            gauge!("bulkhead_concurrent_calls", "bulkhead" => name.clone()).set(1.0);
            histogram!("bulkhead_wait_duration_seconds", "bulkhead" => name.clone()).record(0.0);
            let mut service = service.clone();
            let answer = now(|| async { service.ready().await.expect("ready").call(1).await }).expect("admitted");
            counter!("bulkhead_calls_finished_total", "bulkhead" => name.clone()).increment(1);
            histogram!("bulkhead_call_duration_seconds", "bulkhead" => name.clone()).record(1.0);
            gauge!("bulkhead_concurrent_calls", "bulkhead" => name.clone()).set(0.0);
            answer
        });
    })
}

pub(super) fn read(heap: &StatsAlloc<System>) -> [(String, f64); 3] {
    let bulkhead = bulkhead(1);
    let first = first_wait(heap, || bulkhead.owned().slot());
    let builder = Partitions::<u32>::builder("bench").parallelism(1).waiting_room(1).max_partitions(1);
    let partitions = builder.build().expect("these are valid limits");
    let shared = first_wait(heap, || partitions.key(&1).slot());
    let mut figures = Figures::new();
    let region = Region::new(heap);
    for _ in 0..100 {
        bulkhead.handle().figures(&mut figures);
    }
    let change = region.change();
    let allocations = float((change.allocations + change.reallocations) as u128) / 100.0;
    [(FIRST_WAIT.to_owned(), first), (SHARED_WAIT.to_owned(), shared), (SCRAPE.to_owned(), allocations)]
}

/// Returns the bytes that the end of a first wait leaves on the heap.
fn first_wait<F: Future<Output: Answer>>(heap: &StatsAlloc<System>, acquire: impl Fn() -> F) -> f64 {
    let held = now(&acquire).permit();
    let mut first = Box::pin(acquire());
    assert!(poll(first.as_mut()).is_pending(), "it waits");
    let region = Region::new(heap);
    drop(held);
    let change = region.change();
    float(change.bytes_allocated as u128) - float(change.bytes_deallocated as u128)
}
