//! What `metrics-exporter-prometheus` makes of what is recorded.

use bulklink_metrics::Format;
use metrics_exporter_prometheus::PrometheusBuilder;
use openmetrics_parser::prometheus::parse_prometheus;

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
