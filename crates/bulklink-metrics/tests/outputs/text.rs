//! The text of Prometheus and OpenMetrics, read by a parser and by Prometheus' own tool.

use bulklink::Bulkhead;
use bulklink::config::{Apply, FileStatus};
use bulklink::limit::Knee;
use bulklink::testing::FakeRuntime;
use bulklink_breaker::{Breaker, BreakerRegistry, Guards};
use bulklink_fleet::circuits::Circuits;
use bulklink_fleet::{Fleet, MemoryStore};
use bulklink_metrics::{Exporter, Format, Kind, NAMES};
use bulklink_servers::{Promtool, require};
use openmetrics_parser::openmetrics::parse_openmetrics;
use openmetrics_parser::prometheus::parse_prometheus;

use crate::scene::{SECOND, Scene, Tenants};
use crate::series::Series;

/// All metrics have a sample: also those that need a limit, a ceiling, a hold, a store or keys.
pub(crate) fn full_scene() -> (Scene, Exporter) {
    let mut scene = Scene::new();
    let limits = scene.payments.limits();
    scene.payments.reconfigure(limits.with_waiting_room_units(Some(5))).unwrap();
    let (payments, tenants) = (scene.payments.clone(), scene.tenants.clone());
    let running = (payments.owned().try_slot().unwrap(), tenants.key("ann").try_slot().unwrap());
    let one = scene.executor.spawn({
        let payments = payments.clone();
        async move { payments.owned().slot().await.map(drop) }
    });
    let other = scene.executor.spawn(async move { tenants.key("ann").slot().await.map(drop) });
    scene.executor.advance(SECOND / 4);
    drop(running);
    scene.executor.advance(SECOND / 4);
    assert!(one.output().unwrap().is_ok() && other.output().unwrap().is_ok());
    scene.ceiling.set(0);
    let mut file = FileStatus::default();
    (file.path, file.applied) = ("app.toml".to_owned(), 1);
    Apply::<FakeRuntime>::report(&scene.registry, &file);
    let exporter = Exporter::new(&scene.registry);
    load_a_key(&mut scene, &exporter);
    let search = Bulkhead::builder_on(scene.executor.runtime(), "search").parallelism(8);
    scene.registry.create(search.adaptive(Knee::between(2, 8))).unwrap();
    let store = MemoryStore::new(scene.executor.clock());
    let fleet = Fleet::builder(store.clone(), scene.executor.runtime()).namespace("test").build().unwrap();
    let share = fleet.share(&scene.payments).limit(1).connect();
    scene.executor.block_on(share).unwrap();
    let circuits = Circuits::builder(store, scene.executor.runtime()).namespace("test").build().unwrap();
    exporter.add_breaker(&circuits.share(Breaker::builder_on(scene.executor.clock(), "payments")).unwrap());
    let by_key = BreakerRegistry::new();
    by_key.add_guards(&Guards::builder(&scene.tenants).build().unwrap()).unwrap();
    (scene, exporter.breakers(&by_key).fleet(&fleet))
}

/// Rejections of a key are known from an earlier scrape on.
fn load_a_key(scene: &mut Scene, exporter: &Exporter) {
    let hosts = Tenants::builder_on(scene.executor.runtime(), "hosts").shared_capacity(1).waiting_room(1);
    let hosts = scene.registry.create_partitions(hosts.max_partitions(1).show_keys(String::clone)).unwrap();
    let _ = exporter.render(Format::Prometheus);
    scene.executor.clock().advance(SECOND);
    scene.held.push(hosts.key("a").try_slot().unwrap());
    scene.executor.spawn(hosts.key("a").slot());
    scene.executor.run_until_idle();
    hosts.key("a").try_slot().unwrap_err();
}

#[test]
fn both_formats_are_accepted_by_a_parser_and_say_the_same() {
    let (_scene, exporter) = full_scene();
    let (plain, open) = (exporter.render(Format::Prometheus), exporter.render(Format::OpenMetrics));
    assert_eq!(Series::of(&plain), Series::of(&open));
    let plain = parse_prometheus(&plain).unwrap_or_else(|error| panic!("{error}\n{plain}"));
    let open = parse_openmetrics(&without_units_of_histograms(&open)).unwrap_or_else(|error| panic!("{error}\n{open}"));
    assert_eq!((plain.families.len(), open.families.len()), (NAMES.len(), NAMES.len()));
    for metric in NAMES {
        assert_eq!(plain.families[metric.name].help, metric.help);
        let family = &open.families[metric.family()];
        assert_eq!(family.family_type.to_string(), metric.kind.as_str(), "{}", metric.name);
        let unit = metric.name_unit().filter(|_| metric.kind != Kind::Histogram);
        assert_eq!(family.unit, unit.unwrap_or_default(), "{}", metric.name);
    }
}

/// The parser refuses them. The specification allows them, and so does Prometheus itself, which
/// `tests/scrape.rs` shows.
pub(crate) fn without_units_of_histograms(text: &str) -> String {
    let histograms = NAMES.iter().filter(|metric| metric.kind == Kind::Histogram);
    histograms.fold(text.to_owned(), |text, metric| {
        let line = format!("# UNIT {} seconds\n", metric.name);
        text.replace(&line, "")
    })
}

#[test]
fn only_open_metrics_ends_with_its_end() {
    let exporter = Exporter::default();
    assert!(exporter.render(Format::OpenMetrics).ends_with("bulklink_left_out 0\n# EOF\n"));
    assert!(exporter.render(Format::Prometheus).ends_with("bulklink_left_out 0\n"));
}

#[test]
fn promtool_finds_nothing_to_improve() {
    let (_scene, exporter) = full_scene();
    let tool = require!(Promtool::find());
    assert_eq!(tool.run(&["check", "metrics"], &exporter.render(Format::Prometheus)), Ok(String::new()));
}

#[test]
fn a_scrape_has_every_name_of_the_table() {
    let (_scene, exporter) = full_scene();
    let series = Series::of(&exporter.render(Format::Prometheus));
    let mut expected: Vec<_> = NAMES
        .iter()
        .flat_map(|metric| match metric.kind {
            Kind::Histogram => ["_bucket", "_count", "_sum"].map(|part| format!("{}{part}", metric.name)).to_vec(),
            _ => vec![metric.name.to_owned()],
        })
        .collect();
    expected.sort();
    let mut found = series.names();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn what_a_ceiling_withholds_is_there_while_it_binds() {
    let scene = Scene::new();
    let exporter = Exporter::new(&scene.registry);
    scene.payments.resize(9).unwrap();
    let other = scene.payments.handle().ceiling("a \"b\" \\");
    let withheld = || {
        let text = exporter.render(Format::OpenMetrics);
        let lines = text.lines().filter(|line| line.starts_with("bulklink_withheld_units{"));
        lines.map(|line| line.split_once("kind=\"bulkhead\",").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(withheld(), [""; 0]);
    scene.ceiling.set(4);
    other.set(6);
    assert_eq!(withheld(), [r#"set_by="fleet"} 5"#]);
    other.set(0);
    assert_eq!(withheld(), [r#"set_by="a \"b\" \\"} 9"#], "of the one that binds");
    drop(other);
    scene.payments.resize(4).unwrap();
    assert_eq!(withheld(), [""; 0]);
}

#[test]
fn a_wait_is_in_its_bucket_and_in_those_above() {
    let (_scene, exporter) = full_scene();
    let series = Series::of(&exporter.render(Format::OpenMetrics));
    for (label, kind) in [("payments", "bulkhead"), ("tenants", "partitions")] {
        let labels = format!("bulkhead=\"{label}\",kind=\"{kind}\"");
        let up_to = |edge| series.count(&format!("bulklink_wait_seconds_bucket{{{labels},le=\"{edge}\"}}"));
        assert_eq!(["0.2", "0.5", "1.0", "100.0", "+Inf"].map(up_to), [0, 1, 1, 1, 1].map(Some), "{kind}");
        assert_eq!(series.count(&format!("bulklink_wait_seconds_count{{{labels}}}")), Some(1));
        assert_eq!(series.0[&format!("bulklink_wait_seconds_sum{{{labels}}}")].to_string(), "0.25");
        // One operation held its slot for a quarter of a second, the other for no time.
        assert_eq!(series.count(&format!("bulklink_hold_seconds_count{{{labels}}}")), Some(2));
        assert_eq!(series.0[&format!("bulklink_hold_seconds_sum{{{labels}}}")].to_string(), "0.25");
        assert_eq!(series.0[&format!("bulklink_busy_unit_seconds_total{{{labels}}}")].to_string(), "0.25");
    }
}

#[test]
fn the_memory_of_a_text_is_reused() {
    let (_scene, exporter) = full_scene();
    let mut text = String::new();
    exporter.render_into(Format::Prometheus, &mut text);
    let (first, capacity) = (text.clone(), text.capacity());
    text.clear();
    exporter.render_into(Format::Prometheus, &mut text);
    assert_eq!((text, capacity), (first.clone(), first.capacity().max(capacity)));
}
