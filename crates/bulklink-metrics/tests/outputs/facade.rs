//! The text that `metrics-exporter-prometheus` makes of the records.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use bulklink::Bulkhead;
use bulklink::testing::FakeClock;
use bulklink_metrics::{Exporter, Format};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use openmetrics_parser::prometheus::parse_prometheus;

use crate::scene::Scene;
use crate::series::{Facade, Output, Series};
use crate::text::full_scene;

#[test]
fn a_scrape_of_the_facade_shows_the_names_values_and_labels_of_the_table() {
    let (_scene, exporter) = full_scene();
    let text = Series::of(&exporter.render(Format::Prometheus));
    assert_eq!(Facade::new(exporter).read(), text);
}

#[test]
fn recommended_naming_adds_only_the_suffix_of_the_counters_that_are_parts_of_a_histogram() {
    let (_scene, exporter) = full_scene();
    let text = exporter.render(Format::Prometheus);
    let text =
        text.replace("_seconds_bucket", "_seconds_bucket_total").replace("_seconds_count", "_seconds_count_total");
    let facade = Facade::with(exporter, PrometheusBuilder::new().with_recommended_naming(true));
    assert_eq!(facade.read(), Series::of(&text));
}

#[test]
fn descriptions_and_types_reach_the_recorder() {
    let (_scene, exporter) = full_scene();
    let text = Facade::new(exporter).text();
    parse_prometheus(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for line in [
        "# HELP bulklink_rejected_total Calls rejected, by reason; each is counted once.",
        "# TYPE bulklink_rejected_total counter",
        "# TYPE bulklink_in_use gauge",
        "# TYPE bulklink_wait_seconds_bucket counter",
        "# TYPE bulklink_wait_seconds_sum gauge",
        "# HELP bulklink_busy_unit_seconds_total Units in use, summed over time; absent unless holds are measured.",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn gauges_of_a_bulkhead_that_is_gone_are_zero_once_and_then_left_alone() {
    let (scene, exporter) = full_scene();
    let facade = Facade::new(exporter);
    let capacity = "bulklink_capacity{bulkhead=\"payments\",kind=\"bulkhead\"}";
    let finished = "bulklink_finished_total{bulkhead=\"payments\",kind=\"bulkhead\"}";
    assert_eq!(facade.read().count(capacity), Some(1));
    futures_util::FutureExt::now_or_never(scene.registry.remove("payments")).expect("it has drained").unwrap();
    let series = facade.read();
    assert_eq!((series.count(capacity), series.count(finished)), (Some(0), Some(2)));
    // The program may set it from elsewhere.
    metrics::with_local_recorder(facade.recorder(), || {
        metrics::gauge!("bulklink_capacity", "bulkhead" => "payments", "kind" => "bulkhead").set(7.0);
    });
    assert_eq!(facade.read().count(capacity), Some(7));
}

#[test]
fn the_gauge_of_a_limit_that_is_lifted_does_not_keep_it() {
    let (scene, exporter) = full_scene();
    let facade = Facade::new(exporter);
    let limit = "bulklink_wait_limit_seconds{bulkhead=\"payments\",kind=\"bulkhead\"}";
    assert_eq!(facade.read().count(limit), Some(5));
    let limits = scene.payments.limits();
    scene.payments.reconfigure(limits.with_wait_limit(None)).unwrap();
    assert_eq!(facade.read().count(limit), Some(0));
    scene.payments.reconfigure(limits).unwrap();
    assert_eq!(facade.read().count(limit), Some(5));
}

/// Zero: no unit is withheld.
#[test]
fn the_gauge_of_a_ceiling_that_is_lifted_is_zero() {
    let scene = Scene::new();
    scene.payments.resize(9).unwrap();
    let facade = Facade::new(Exporter::new(&scene.registry));
    let series = "bulklink_withheld_units{bulkhead=\"payments\",kind=\"bulkhead\",set_by=\"other\"}";
    let other = scene.payments.handle().ceiling("other");
    for (units, withheld) in [(4, 5), (0, 9), (9, 0), (3, 6)] {
        other.set(units);
        assert_eq!(facade.read().count(series), Some(withheld));
    }
    drop(other);
    assert_eq!(facade.read().count(series), Some(0));
}

/// Panics at the metric of this name, once.
struct Panicking<'a>(&'a PrometheusRecorder, Mutex<Option<&'static str>>);

impl Panicking<'_> {
    fn enter(&self, key: &Key) {
        let name = self.1.lock().unwrap().take_if(|name| *name == key.name());
        assert!(name.is_none(), "as the test wants");
    }
}

impl Recorder for Panicking<'_> {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        self.enter(key);
        self.0.register_counter(key, metadata)
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.enter(key);
        self.0.register_gauge(key, metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.0.register_histogram(key, metadata)
    }
}

#[test]
fn a_recorder_that_panics_makes_no_counter_begin_again() {
    let scene = Scene::new();
    let facade = Facade::new(Exporter::new(&scene.registry));
    let replace = || {
        futures_util::FutureExt::now_or_never(scene.registry.remove("payments")).expect("it has drained").unwrap();
        scene.registry.create(Bulkhead::builder_on(FakeClock::new(), "payments").parallelism(3)).unwrap()
    };
    for _ in 0..3 {
        drop(scene.payments.try_slot().unwrap());
    }
    facade.text();
    let second = replace();
    drop(second.try_slot().unwrap());
    facade.text();
    let recorder = Panicking(facade.recorder(), Mutex::new(Some("bulklink_admitted_total")));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        metrics::with_local_recorder(&recorder, || facade.exporter.record());
    }));
    assert!(panicked.is_err());
    drop(second.try_slot().unwrap());
    let direct = "bulklink_admitted_total{bulkhead=\"payments\",kind=\"bulkhead\",path=\"direct\"}";
    assert_eq!(facade.read().count(direct), Some(5));
}
