//! Files of settings that are followed, and counters of the program itself.

use bulklink::Registry;
use bulklink::config::{Apply, FileStatus};
use bulklink::testing::FakeRuntime;
use bulklink_metrics::{Exporter, Format};

use crate::series::{Facade, Output, outputs};

#[test]
fn each_output_has_the_fate_of_the_file_of_a_registry() {
    let registry = Registry::new();
    let outputs = outputs(&Exporter::new(&registry));
    let names = ["outdated", "applied_total", "refused_total"];
    let name_of = |name: &str| format!("bulklink_settings_{name}{{bulkhead=\"app.toml\",kind=\"settings\"}}");
    for (name, output) in &outputs {
        assert!(names.iter().all(|figure| output.read().count(&name_of(figure)).is_none()), "{name}: no file");
    }
    let mut status = FileStatus::default();
    status.path = "app.toml".to_owned();
    for (applied, refused, refusal) in [(1, 0, None), (1, 1, Some("no".to_owned())), (2, 1, None)] {
        (status.applied, status.refused, status.refusal) = (applied, refused, refusal);
        Apply::<FakeRuntime>::report(&registry, &status);
        let expected = [u64::from(status.refusal.is_some()), applied, refused];
        for (name, output) in &outputs {
            let series = output.read();
            let found = names.map(|figure| series.count(&name_of(figure)).and_then(|count| u64::try_from(count).ok()));
            assert_eq!(found, expected.map(Some), "{name}");
        }
    }
}

#[test]
fn a_counter_of_the_program_has_its_name_in_both_formats() {
    let exporter = Exporter::default();
    exporter.add_counter("invalid_headers_total", "Headers \\ that\nno layer can read.", || 7).unwrap();
    let (head, end) = ("Headers \\\\ that\\nno layer can read.", "invalid_headers_total 7\n");
    for (format, family) in [(Format::Prometheus, "invalid_headers_total"), (Format::OpenMetrics, "invalid_headers")] {
        let expected = format!("# HELP {family} {head}\n# TYPE {family} counter\n{end}");
        let text = exporter.render(format);
        assert!(text.starts_with(&expected), "{text}");
    }
    for name in [
        "",
        "7_total",
        "a-b_total",
        "a:b_total",
        "headers",
        "_total",
        "bulklink_headers_total",
        "invalid_headers_total",
    ] {
        let error = exporter.add_counter(name, "Help.", || 1).unwrap_err().to_string();
        assert!(error.starts_with("name must ") && error.ends_with(&format!("got {name:?}")), "{error}");
    }
    assert_eq!(exporter.render(Format::Prometheus).matches("counter\n").count(), 1);
}

#[test]
fn the_counters_of_a_file_that_is_followed_again_go_on_through_the_facade() {
    let registry = Registry::new();
    let facade = Facade::new(Exporter::new(&registry));
    let mut status = FileStatus::default();
    status.path = "app.toml".to_owned();
    for (instance, applied, sum) in [(3, 2, 2), (4, 1, 3), (4, 2, 4), (5, 2, 6)] {
        (status.instance, status.applied) = (instance, applied);
        Apply::<FakeRuntime>::report(&registry, &status);
        let name = "bulklink_settings_applied_total{bulkhead=\"app.toml\",kind=\"settings\"}";
        assert_eq!(facade.read().count(name), Some(sum), "{instance}");
    }
}

#[test]
fn a_file_of_two_registries_is_exported_once_and_nothing_is_left_out() {
    let (one, other) = (Registry::new(), Registry::new());
    let exporter = Exporter::new(&one).registry(&other);
    let mut status = FileStatus::default();
    status.path = "app.toml".to_owned();
    for (instance, left_out) in [(0, 0), (1, 1)] {
        Apply::<FakeRuntime>::report(&one, &status);
        status.instance = instance;
        Apply::<FakeRuntime>::report(&other, &status);
        let text = exporter.render(Format::Prometheus);
        assert_eq!(text.matches("bulklink_settings_applied_total{").count(), 1, "{text}");
        assert!(text.contains(&format!("bulklink_left_out {left_out}\n")), "{text}");
    }
}
