//! The alert rules name metrics of the table, and pass their tests.

use bulklink_servers::{Promtool, require};

use crate::names::{named, names, unknown};

pub(crate) const ALERTS: &str = include_str!("../../grafana/alerts.yaml");
const TESTS: &str = include_str!("../../grafana/alerts_test.yaml");

/// The values of a key, each of one line or of those that are indented below it.
pub(crate) fn values<'a>(yaml: &'a str, key: &str) -> Vec<String> {
    let mut lines = yaml.lines().peekable();
    let mut values = Vec::new();
    while let Some(line) = lines.next() {
        let Some(value) = line.trim_start_matches([' ', '-']).strip_prefix(key) else { continue };
        let indentation = |line: &&'a str| line.len() - line.trim_start().len();
        let mut value = value.trim().trim_start_matches('>').to_owned();
        let depth = indentation(&line);
        while let Some(more) =
            lines.next_if(|line| value.is_empty() | value.starts_with(' ') && indentation(line) > depth)
        {
            value.push(' ');
            value.push_str(more.trim());
        }
        values.push(value.trim().to_owned());
    }
    values
}

#[test]
fn every_rule_names_metrics_and_labels_of_the_table() {
    let expressions = values(ALERTS, "expr:");
    assert_eq!((expressions.len(), values(ALERTS, "alert:").len()), (18, 18));
    for expression in expressions {
        assert!(!names(&expression).collect::<Vec<_>>().is_empty(), "{expression}");
        assert_eq!(unknown(&expression), [""; 0], "{expression}");
    }
    assert!(names(ALERTS).chain(names(TESTS)).all(|name| named(name).is_some()));
}

#[test]
fn every_alert_has_a_severity_a_time_and_a_text() {
    let count = values(ALERTS, "alert:").len();
    for key in ["for:", "severity:", "summary:", "description:"] {
        assert_eq!(values(ALERTS, key).len(), count, "{key}");
    }
    assert!(values(ALERTS, "severity:").iter().all(|severity| ["info", "warning", "critical"].contains(&&**severity)));
}

#[test]
fn every_alert_is_tested_to_fire_and_not_to_fire_before_its_time() {
    for alert in values(ALERTS, "alert:") {
        let cases: Vec<_> =
            TESTS.split("alertname: ").skip(1).filter(|case| case.lines().next() == Some(&alert)).collect();
        let silent = |case: &&&str| case.lines().nth(1).is_some_and(|line| line.trim() == "exp_alerts: []");
        let quiet = cases.iter().filter(silent).count();
        assert!(quiet >= 1 && cases.len() > quiet, "{alert}");
    }
}

#[test]
fn promtool_accepts_the_rules_and_their_tests_hold() {
    let tool = require!(Promtool::find());
    let path = |name: &str| format!("{}/grafana/{name}", env!("CARGO_MANIFEST_DIR"));
    let said =
        tool.run(&["check", "rules", "--lint-fatal", &path("alerts.yaml")], "").unwrap_or_else(|said| panic!("{said}"));
    assert!(said.contains("18 rules found"), "{said}");
    let said = tool.run(&["test", "rules", &path("alerts_test.yaml")], "").unwrap_or_else(|said| panic!("{said}"));
    assert!(said.contains("SUCCESS"), "{said}");
}
