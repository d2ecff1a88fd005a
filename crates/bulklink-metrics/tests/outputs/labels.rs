//! Labels that are hostile to an exposition.

use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, Partitions, Registry};
use bulklink_metrics::{Exporter, Format, MAX_LABEL};
use openmetrics_parser::openmetrics::parse_openmetrics;
use openmetrics_parser::prometheus::parse_prometheus;

use crate::series::{Facade, outputs};
use crate::text::without_units_of_histograms;

fn create(registry: &Registry, label: &str) {
    registry.create(Bulkhead::builder_on(FakeClock::new(), label).parallelism(1)).unwrap();
}

#[test]
fn hostile_labels_break_no_output_and_stay_apart() {
    let registry = Registry::new();
    let hostile = ["a\"b", "a\\b", "a\\\"b", "} 1", "a,b=\"c\"", "# EOF", "ü💥", "a\\nb", "{le=\"+Inf\"}", "\\"];
    for label in hostile {
        create(&registry, label);
    }
    // A bulkhead refuses this one itself.
    assert!(Bulkhead::builder_on(FakeClock::new(), "a\nb").parallelism(1).build().is_err());
    let exporter = Exporter::new(&registry);
    let text = exporter.render(Format::OpenMetrics);
    let parsed =
        parse_openmetrics(&without_units_of_histograms(&text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let family = &parsed.families["bulklink_capacity"];
    assert_eq!(family.iter_samples().count(), hostile.len());
    parse_prometheus(&exporter.render(Format::Prometheus)).unwrap();
    // The exporter of the facade takes a backslash before a quotation mark as an escape, so these
    // two would be one series there.
    let facade = |(name, _): &(&str, _)| *name != "facade";
    for (name, output) in outputs(&exporter).into_iter().filter(facade) {
        let series = output.read();
        let capacities = series.0.keys().filter(|series| series.starts_with("bulklink_capacity{"));
        assert_eq!(capacities.count(), hostile.len(), "{name}");
    }
    futures_util::FutureExt::now_or_never(registry.remove("a\\\"b")).expect("it has drained").unwrap();
    let text = Facade::new(exporter).text();
    parse_prometheus(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(text.matches("bulklink_capacity{").count(), hostile.len() - 1);
}

#[test]
fn labels_of_a_megabyte_are_cut_and_stay_apart() {
    let registry = Registry::new();
    let long = "x".repeat(1 << 20);
    for end in ["a", "b"] {
        create(&registry, &format!("{long}{end}"));
        let partitions = Partitions::<u8, _>::builder_on(FakeClock::new(), &format!("{long}{end}p"));
        registry.create_partitions(partitions.parallelism(1).max_partitions(1)).unwrap();
    }
    create(&registry, &"y".repeat(MAX_LABEL));
    let exporter = Exporter::new(&registry);
    for (name, output) in outputs(&exporter) {
        let series = output.read();
        let of = |metric: &str| series.0.keys().filter(|series| series.starts_with(metric)).count();
        assert_eq!((of("bulklink_capacity{"), of("bulklink_max_partitions{")), (5, 2), "{name}");
        assert!(series.0.keys().all(|series| series.len() < MAX_LABEL + 150), "{name}");
        let whole = format!("\"{}\"", "y".repeat(MAX_LABEL));
        assert!(series.0.keys().any(|series| series.contains(&whole)), "{name}");
        assert_eq!(series.count("bulklink_left_out"), Some(0), "{name}");
    }
    assert!(exporter.render(Format::Prometheus).len() < 200_000);
}

#[test]
fn a_label_that_equals_the_cut_form_of_another_is_left_out() {
    let registry = Registry::new();
    create(&registry, &"x".repeat(1_000));
    let text = Exporter::new(&registry).render(Format::Prometheus);
    let cut = text.split("bulkhead=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(cut.len(), MAX_LABEL);
    create(&registry, cut);
    for (name, output) in outputs(&Exporter::new(&registry)) {
        assert_eq!(output.read().count("bulklink_left_out"), Some(1), "{name}");
    }
}
