//! The table in `docs/guide/metrics.md` is the one in the code.

use bulklink_metrics::{Kind, Metric, NAMES, Subject};

const GUIDE: &str = include_str!("../../../../docs/guide/metrics.md");

fn row(metric: &Metric) -> String {
    let unit = metric.unit.trim_matches(['{', '}']);
    let unit = match unit {
        "" => "0 or 1",
        "s" => "seconds",
        "1" => "ratio",
        "call}/s" => "calls per second",
        "process" => "processes",
        unit => &format!("{unit}s"),
    };
    let subject = match metric.subject {
        Subject::Bulkhead => "bulkhead",
        Subject::Partitions => "partitions",
        Subject::Both => "both",
        Subject::Breaker => "breaker",
        Subject::Share => "share",
        Subject::Settings => "settings",
        Subject::Exporter => "exporter",
        _ => unreachable!("there is no other"),
    };
    let label = metric.label.map_or(String::new(), |label| format!("`{label}`"));
    let Metric { name, kind, help, .. } = metric;
    format!("| `{name}` | {} | {unit} | {subject} | {label} | {help} |", kind.as_str())
}

#[test]
fn the_guide_has_the_table_of_the_code() {
    let expected: Vec<_> = NAMES.iter().map(row).collect();
    let found: Vec<_> = GUIDE.lines().filter(|line| line.starts_with("| `bulklink_")).collect();
    assert_eq!(found, expected, "the rows must be:\n{}", expected.join("\n"));
}

#[test]
fn a_collector_turns_the_name_of_open_telemetry_into_that_of_prometheus() {
    for metric in NAMES {
        let unit = metric.name_unit().map_or(String::new(), |unit| format!("_{unit}"));
        let total = if metric.kind == Kind::Counter { "_total" } else { "" };
        assert_eq!(format!("{}{unit}{total}", metric.otel_name.replace('.', "_")), metric.name);
    }
}

#[test]
fn help_texts_are_one_sentence_that_needs_no_escaping() {
    for metric in NAMES {
        let help = metric.help;
        assert!(help.ends_with('.') && !help.trim_end_matches('.').contains(['.', '"', '\\', '\n']), "{help}");
    }
}
