//! The keys of partitions that operators may see.

use bulklink::{OwnedSlot, Partitions, Request};
use bulklink_metrics::{Exporter, Format};
use openmetrics_parser::openmetrics::parse_openmetrics;
use openmetrics_parser::prometheus::parse_prometheus;

use crate::scene::{SECOND, Scene, Tenants};
use crate::series::{Facade, Output, outputs};
use crate::text::without_units_of_histograms;

fn hosts(scene: &Scene, show: impl Fn(&String) -> String + Send + Sync + 'static) -> Tenants {
    let builder = Partitions::builder_on(scene.executor.runtime(), "hosts").capacity(100).waiting_room(1);
    scene.registry.create_partitions(builder.max_partitions(2_000).show_keys(show)).unwrap()
}

fn hold(hosts: &Tenants, host: &str, units: usize) -> OwnedSlot {
    hosts.key(host).with(Request::new().cost(units)).try_slot().unwrap()
}

fn of(name: &str, key: &str) -> String {
    format!("bulklink_key_{name}{{bulkhead=\"hosts\",key=\"{key}\",kind=\"partitions\"}}")
}

fn values(output: &dyn Output, name: &str) -> Vec<(String, f64)> {
    let all = output.read().0.into_iter();
    all.filter(|(series, _)| series.starts_with(&format!("bulklink_key_{name}{{"))).collect()
}

#[test]
fn the_ten_keys_with_the_most_load_are_exported_where_keys_are_shown() {
    let mut scene = Scene::new();
    let _tenant = scene.tenants.key("secret").try_slot().unwrap();
    let hosts = hosts(&scene, String::clone);
    let exporter = Exporter::new(&scene.registry);
    let outputs = outputs(&exporter);
    let _held: Vec<_> = (1..=12).map(|number| hold(&hosts, &format!("host-{number:02}"), number)).collect();
    let expected = (3..=12).map(|number| (of("in_use", &format!("host-{number:02}")), f64::from(number)));
    let expected: Vec<_> = expected.collect();
    for (name, output) in &outputs {
        assert_eq!(values(&**output, "in_use"), expected, "{name}");
        assert_eq!(values(&**output, "rejections_per_second"), [], "{name}: no earlier scrape");
        assert!(output.read().0.keys().all(|series| !series.contains("secret")), "{name}");
    }
    scene.executor.clock().advance(4 * SECOND);
    let _waiting = scene.executor.spawn(hosts.key("host-01").with(Request::new().cost(100)).slot());
    scene.executor.run_until_idle();
    for _ in 0..6 {
        hosts.key("host-02").with(Request::new().cost(99)).try_slot().unwrap_err();
    }
    for (name, output) in &outputs {
        assert_eq!(values(&**output, "waiting"), [(of("waiting", "host-01"), 1.0)], "{name}");
        let rejections = [(of("rejections_per_second", "host-02"), 1.5)];
        assert_eq!(values(&**output, "rejections_per_second"), rejections, "{name}");
    }
}

#[test]
fn hostile_keys_break_no_output_and_equal_ones_are_one_series() {
    let scene = Scene::new();
    let hosts = hosts(&scene, |key| key.trim_end_matches('=').to_owned());
    let exporter = Exporter::new(&scene.registry);
    let hostile = ["a\"b", "a\\b", "a\nb", "} 1", "\n# EOF\n", "", "ü💥", "\\", "same=", "same=="];
    let _held: Vec<_> = hostile.iter().map(|key| hold(&hosts, key, 1)).collect();
    let long = ["x".repeat(1 << 20), "x".repeat((1 << 20) + 1)];
    for (name, output) in outputs(&exporter) {
        assert_eq!(values(&*output, "in_use").len(), 9, "{name}");
    }
    let _longest = long.each_ref().map(|key| hold(&hosts, key, 2));
    let (plain, open) = (exporter.render(Format::Prometheus), exporter.render(Format::OpenMetrics));
    assert!(plain.len() < 50_000);
    let plain = parse_prometheus(&plain).unwrap_or_else(|error| panic!("{error}\n{plain}"));
    let open = parse_openmetrics(&without_units_of_histograms(&open)).unwrap_or_else(|error| panic!("{error}\n{open}"));
    // Ten, of which two are equal.
    assert_eq!(plain.families["bulklink_key_in_use"].iter_samples().count(), 10 - 1);
    assert_eq!(open.families["bulklink_key_in_use"].iter_samples().count(), 10 - 1);
    assert!(exporter.render(Format::Prometheus).contains(",key=\"a\\nb\"} 1\n"));
}

/// A recorder cannot forget a series, so whatever keys clients choose, there are not more and more.
#[test]
fn the_facade_zeroes_keys_that_are_no_more_and_records_a_thousand_at_most() {
    let scene = Scene::new();
    let hosts = hosts(&scene, String::clone);
    let facade = Facade::new(Exporter::new(&scene.registry));
    let first = hold(&hosts, "first", 7);
    assert_eq!(values(&facade, "in_use"), [(of("in_use", "first"), 7.0)]);
    drop(first);
    assert_eq!(values(&facade, "in_use"), [(of("in_use", "first"), 0.0)]);
    for ten in 0..150 {
        let _held: Vec<_> = (0..10).map(|one| hold(&hosts, &format!("{ten}-{one}"), 1)).collect();
        metrics::with_local_recorder(facade.recorder(), || facade.exporter.record());
    }
    let _first = hold(&hosts, "first", 7);
    let found = values(&facade, "in_use");
    assert_eq!(found.len(), 1_000);
    assert_eq!(found.iter().find(|(_, units)| *units > 0.0), Some(&(of("in_use", "first"), 7.0)));
}
