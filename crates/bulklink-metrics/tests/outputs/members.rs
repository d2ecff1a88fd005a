//! Which bulkheads are exported, and when.

use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, EventFilter, Registry};
use bulklink_metrics::Exporter;
use futures_util::FutureExt;
use opentelemetry_sdk::metrics::{InMemoryMetricExporterBuilder, Temporality};

use crate::scene::{SECOND, Scene};
use crate::series::{OpenTelemetry, Output, Text, outputs};

fn builder(label: &str) -> bulklink::Builder<FakeClock> {
    Bulkhead::builder_on(FakeClock::new(), label).parallelism(3)
}

fn of(name: &str, label: &str) -> String {
    format!("bulklink_{name}{{bulkhead=\"{label}\",kind=\"bulkhead\"}}")
}

#[test]
fn bulkheads_created_later_appear_and_removed_ones_are_forgotten() {
    let registry = Registry::new();
    let exporter = Exporter::new(&registry);
    let outputs = outputs(&exporter);
    for (name, output) in &outputs {
        assert_eq!(output.read().names(), ["bulklink_left_out"], "{name}");
    }
    let late = registry.create(builder("late")).unwrap();
    let slot = late.try_slot().unwrap();
    for (name, output) in &outputs {
        let series = output.read();
        assert_eq!(series.count(&of("capacity", "late")), Some(3), "{name}");
        assert_eq!(series.count(&of("in_use", "late")), Some(1), "{name}");
    }
    drop(slot);
    registry.remove("late").now_or_never().expect("it has drained").unwrap();
    for (name, output) in &outputs {
        let left = output.read();
        // The facade cannot forget: its gauges are zero, once, and its counters stay.
        let expected = if *name == "facade" { Some(0) } else { None };
        assert_eq!(left.count(&of("capacity", "late")), expected, "{name}");
        assert_eq!(left.names().len(), if *name == "facade" { left.names().len() } else { 1 }, "{name}");
    }
}

#[test]
fn a_new_bulkhead_under_an_old_label_begins_again_or_goes_on_as_the_output_needs() {
    let registry = Registry::new();
    let outputs = outputs(&Exporter::new(&registry));
    let direct = "bulklink_admitted_total{bulkhead=\"a\",kind=\"bulkhead\",path=\"direct\"}";
    for (round, expected) in [(1, [3, 3, 3]), (2, [2, 5, 2]), (3, [4, 9, 6])] {
        let bulkhead = registry.create(builder("a")).unwrap();
        for _ in 0..expected[0] {
            drop(bulkhead.try_slot().unwrap());
        }
        for ((name, output), expected) in outputs.iter().zip(expected) {
            for reading in 1..=2 {
                let found = output.read().count(direct);
                assert_eq!(found, Some(expected), "{name}, round {round}, reading {reading}");
            }
        }
        registry.remove("a").now_or_never().expect("it has drained").unwrap();
        drop(bulkhead);
        // In the second round, no output sees that it is gone.
        if round == 1 {
            for (_, output) in &outputs {
                output.read();
            }
        }
    }
}

/// A backend that asks for what came since the last collection gets no difference below zero.
#[test]
fn the_counters_of_open_telemetry_never_run_back() {
    let registry = Registry::new();
    let collected = InMemoryMetricExporterBuilder::new().with_temporality(Temporality::Delta).build();
    let output = OpenTelemetry::to(&Exporter::new(&registry), collected, |provider| provider);
    let direct = "bulklink_admitted_total{bulkhead=\"a\",kind=\"bulkhead\",path=\"direct\"}";
    for calls in [3, 2, 4, 0] {
        // In one of the rounds, a collection sees that it is gone.
        if calls == 4 {
            output.read();
        }
        let bulkhead = registry.create(builder("a").measure_holds(true)).unwrap();
        for _ in 0..calls {
            drop(bulkhead.try_slot().unwrap());
        }
        let series = output.read();
        assert_eq!(series.count(direct), Some(calls));
        assert!(series.0.values().all(|value| *value >= 0.0), "{series:?}");
        registry.remove("a").now_or_never().expect("it has drained").unwrap();
    }
}

#[test]
fn of_two_bulkheads_with_one_label_the_first_is_exported_and_the_other_counted() {
    let (registry, other) = (Registry::new(), Registry::new());
    let first = registry.create(builder("a")).unwrap();
    let slot = first.try_slot().unwrap();
    other.create(builder("a")).unwrap();
    other.create(builder("b")).unwrap();
    let exporter = Exporter::new(&registry).registry(&other);
    exporter.add(&first);
    for (name, output) in outputs(&exporter) {
        let series = output.read();
        assert_eq!(series.count(&of("in_use", "a")), Some(1), "{name}");
        assert_eq!(series.count(&of("in_use", "b")), Some(0), "{name}");
        assert_eq!(series.count("bulklink_left_out"), Some(2), "{name}");
    }
    drop(slot);
}

#[test]
fn a_bulkhead_and_partitions_with_one_label_are_both_exported() {
    let (registry, scene) = (Registry::new(), Scene::new());
    registry.create(builder("tenants")).unwrap();
    let exporter = Exporter::new(&registry).registry(&scene.registry);
    for (name, output) in outputs(&exporter) {
        let series = output.read();
        let partitions = "bulklink_max_partitions{bulkhead=\"tenants\",kind=\"partitions\"}";
        assert_eq!(series.count(&of("capacity", "tenants")), Some(3), "{name}");
        assert_eq!(series.count(partitions), Some(2), "{name}");
        assert_eq!(series.count("bulklink_left_out"), Some(0), "{name}");
    }
}

#[test]
fn single_handles_are_exported_until_they_are_removed() {
    let scene = Scene::new();
    let exporter = Exporter::default();
    exporter.add(&scene.payments);
    exporter.add_partitions(&scene.tenants.handle());
    let text = Text(exporter.clone());
    let partitions = "bulklink_max_partitions{bulkhead=\"tenants\",kind=\"partitions\"}";
    assert_eq!(text.read().count(&of("capacity", "payments")), Some(1));
    assert_eq!(text.read().count(partitions), Some(2));
    assert!(exporter.remove("tenants") && !exporter.remove("tenants"));
    assert_eq!(text.read().count(partitions), None);
    assert!(exporter.remove("payments"));
    assert_eq!(text.read().names(), ["bulklink_left_out"]);
    // Those of a registry stay.
    let exporter = exporter.registry(&scene.registry);
    assert!(!exporter.remove("payments"));
    assert_eq!(text.read().count(&of("capacity", "payments")), Some(1));
    assert!(format!("{exporter:?}").contains("payments"));
}

#[test]
fn no_output_adds_an_event_handler_so_calls_keep_the_fast_path() {
    let scene = Scene::new();
    let outputs = outputs(&Exporter::new(&scene.registry));
    for (_, output) in &outputs {
        output.read();
        drop(scene.payments.try_slot().unwrap());
        drop(scene.tenants.key("ann").try_slot().unwrap());
    }
    // Only observed events have a number: these two are the first.
    let mut events = [
        scene.payments.handle().subscribe(EventFilter::ALL, 9).unwrap(),
        scene.tenants.handle().subscribe(EventFilter::ALL, 9).unwrap(),
    ];
    drop((scene.payments.try_slot().unwrap(), scene.tenants.key("ann").try_slot().unwrap()));
    assert_eq!(events.each_mut().map(|events| events.try_recv().unwrap().number), [1, 1]);
}

#[test]
fn ten_thousand_calls_of_which_a_third_is_cancelled_leave_all_gauges_at_zero() {
    let mut executor = Executor::new(FakeClock::new());
    let registry = Registry::new();
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "busy").parallelism(7).waiting_room(10_000);
    let bulkhead = registry.create(bulkhead).unwrap();
    let outputs = outputs(&Exporter::new(&registry));
    let mut tasks = Vec::new();
    for number in 0_u64..10_000 {
        let bulkhead = bulkhead.clone();
        tasks.push(executor.spawn(async move {
            let slot = bulkhead.owned().slot().await.unwrap();
            let held = bulkhead.runtime().clone();
            bulklink::runtime::Timer::sleep_until(&held, bulklink::runtime::Clock::now(&held) + SECOND * 2).await;
            drop((slot, number));
        }));
    }
    executor.run_until_idle();
    for (_, output) in &outputs {
        let series = output.read();
        assert_eq!(series.count(&of("in_use", "busy")), Some(7));
        assert_eq!(series.count(&of("waiting", "busy")), Some(9_993));
    }
    for (number, task) in tasks.iter().enumerate() {
        if number % 3 == 0 {
            task.cancel();
        }
        if number % 100 == 0 {
            executor.advance(SECOND);
        }
    }
    executor.advance(SECOND * 10_000);
    for (name, output) in &outputs {
        let series = output.read();
        for gauge in ["in_use", "in_flight", "waiting", "waiting_units", "utilization_ratio", "uncollected"] {
            assert_eq!(series.count(&of(gauge, "busy")), Some(0), "{name}: {gauge}");
        }
        let status = bulkhead.status();
        let counts =
            ["cancelled_total", "abandoned_total", "finished_total"].map(|name| series.count(&of(name, "busy")));
        let totals = [status.totals.cancelled, status.totals.abandoned, status.totals.finished];
        assert_eq!(counts, totals.map(|count| Some(i64::try_from(count).unwrap())), "{name}");
        assert!(status.totals.cancelled > 3_000 && status.totals.finished > 6_000, "{status:?}");
    }
}
