//! The data that the SDK of OpenTelemetry collects.

use std::thread;
use std::time::Duration;

use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, Registry};
use bulklink_metrics::{Exporter, Format, Kind, NAMES};
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, Instrument, PeriodicReader, SdkMeterProvider, Stream};

use crate::scene::Scene;
use crate::series::{OpenTelemetry, Output, Series};
use crate::text::full_scene;

#[test]
fn a_collection_has_the_names_units_and_values_of_the_table() {
    let (_scene, exporter) = full_scene();
    let telemetry = OpenTelemetry::new(&exporter);
    assert_eq!(telemetry.read(), Series::of(&exporter.render(Format::Prometheus)));
    let (_, units) = telemetry.collect();
    for metric in NAMES {
        let expected: &[_] = match metric.kind {
            Kind::Histogram => &[("bucket", counted(metric)), ("count", counted(metric)), ("sum", "s")],
            _ => &[("", metric.unit)],
        };
        for (part, unit) in expected {
            let name = format!("{}.{part}", metric.otel_name);
            assert_eq!(units[name.trim_end_matches('.')], *unit, "{name}");
        }
    }
}

fn counted(histogram: &bulklink_metrics::Metric) -> &'static str {
    if histogram.name.contains("hold") { "{operation}" } else { "{call}" }
}

#[test]
fn beyond_86_bulkheads_a_view_must_raise_the_limit_of_the_buckets() {
    let buckets = |bulkheads: usize, raised: bool| {
        let registry = Registry::new();
        for number in 0..bulkheads {
            let builder = Bulkhead::builder_on(FakeClock::new(), &number.to_string()).parallelism(1);
            registry.create(builder).unwrap();
        }
        let telemetry = OpenTelemetry::with(&Exporter::new(&registry), |provider| {
            if !raised {
                return provider;
            }
            provider.with_view(|instrument: &Instrument| {
                let is_bucket = instrument.name().ends_with(".bucket");
                is_bucket.then(|| Stream::builder().with_cardinality_limit(100_000).build().expect("a valid limit"))
            })
        });
        let (series, _) = telemetry.collect();
        series.0.into_keys().filter(|series| series.starts_with("bulklink.wait.bucket")).collect::<Vec<_>>()
    };
    let has_overflow = |series: &[String]| series.iter().any(|series| series.contains("otel.metric.overflow"));
    let (most, more, raised) = (buckets(86, false), buckets(87, false), buckets(87, true));
    assert_eq!((most.len(), has_overflow(&most)), (86 * 23, false));
    assert!(has_overflow(&more));
    assert_eq!((raised.len(), has_overflow(&raised)), (87 * 23, false));
}

#[test]
fn all_figures_of_a_collection_are_of_one_reading() {
    let scene = Scene::new();
    let telemetry = OpenTelemetry::new(&Exporter::new(&scene.registry));
    let labels = "{bulkhead=\"payments\",kind=\"bulkhead\"}";
    for round in 1..=3 {
        drop(scene.payments.try_slot().unwrap());
        let (series, _) = telemetry.collect();
        // A snapshot for each collection: this is the next one.
        assert_eq!(scene.payments.status().number, 2 * round);
        assert_eq!(series.count(&format!("bulklink.finished{labels}")), i64::try_from(round).ok());
    }
}

/// Not that the figures are of one reading: the SDK gives each observation to all readers.
#[test]
fn a_collection_reads_each_bulkhead_once_also_if_two_readers_collect_at_a_time() {
    let scene = Scene::new();
    let exporters = [(); 2].map(|()| InMemoryMetricExporter::default());
    let [one, other] = exporters
        .each_ref()
        .map(|exporter| PeriodicReader::builder(exporter.clone()).with_interval(Duration::from_millis(1)).build());
    let provider = SdkMeterProvider::builder().with_reader(one).with_reader(other).build();
    Exporter::new(&scene.registry).observe_with(&provider.meter("bulklink"));
    thread::sleep(Duration::from_millis(200));
    provider.shutdown().unwrap();
    let collections: usize = exporters.iter().map(|exporter| exporter.get_finished_metrics().unwrap().len()).sum();
    let readings = usize::try_from(scene.payments.status().number).unwrap() - 1;
    assert!(readings > 4 && readings <= collections + 2, "{readings} readings for {collections} collections");
}
