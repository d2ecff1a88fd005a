//! The dashboard is complete, and each of its expressions is one of Prometheus.

use std::collections::BTreeSet;

use bulklink_metrics::{NAMES, Subject};
use bulklink_servers::{Promtool, require};
use serde_json::Value;

use crate::names::{named, names, unknown};

const DASHBOARD: &str = include_str!("../../grafana/dashboard.json");

pub(crate) fn dashboard() -> Value {
    serde_json::from_str(DASHBOARD).expect("it is JSON")
}

/// The panels that are no rows.
fn panels(dashboard: &Value) -> Vec<&Value> {
    let all = dashboard["panels"].as_array().expect("there are panels").iter();
    all.filter(|panel| panel["type"] != "row").collect()
}

/// All expressions, with the variables replaced as Grafana does.
pub(crate) fn expressions() -> Vec<String> {
    let dashboard = dashboard();
    let targets = panels(&dashboard).into_iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let expressions = targets.map(|target| target["expr"].as_str().expect("an expression").to_owned());
    expressions.map(|text| replaced(&text)).collect()
}

fn replaced(text: &str) -> String {
    let text = text
        .replace("$__rate_interval", "1m")
        .replace("$job", ".*")
        .replace("$instance", ".*")
        .replace("$bulkhead", ".*");
    assert!(!text.contains('$'), "there is no such variable: {text}");
    text
}

#[test]
fn every_expression_names_metrics_and_labels_of_the_table() {
    for expression in expressions() {
        assert_eq!(unknown(&expression), [""; 0], "{expression}");
        assert!(names(&expression).next().is_some(), "{expression}");
        assert_eq!(
            expression.matches("{job=~\".*\",instance=~\".*\",bulkhead=~\".*\"").count(),
            names(&expression).count()
        );
    }
}

#[test]
fn every_metric_of_the_table_is_shown_but_those_that_another_says_better() {
    let all = expressions().join(" ");
    let shown: BTreeSet<_> = names(&all).map(|name| named(name).unwrap().name).collect();
    let missing: Vec<_> = NAMES.iter().map(|metric| metric.name).filter(|name| !shown.contains(name)).collect();
    let expected = [
        "bulklink_waiting_room_units",
        "bulklink_in_flight",
        "bulklink_waiting_units",
        "bulklink_utilization_ratio",
        "bulklink_partition_capacity",
        "bulklink_partition_waiting_room",
        "bulklink_left_out",
    ];
    assert_eq!(missing, expected);
    assert_eq!(NAMES.iter().filter(|metric| metric.subject == Subject::Exporter).count(), 1);
}

#[test]
fn the_variables_are_data_source_job_instance_and_bulkhead() {
    let dashboard = dashboard();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let of = |field| variables.iter().map(|variable| variable[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("name"), ["datasource", "job", "instance", "bulkhead"]);
    assert_eq!(of("type"), ["datasource", "query", "query", "query"]);
    for query in variables.iter().filter_map(|variable| variable["query"]["query"].as_str()) {
        assert!(names(query).all(|name| named(name).is_some()), "{query}");
    }
}

/// The sums of partitions depend on how many keys there are now.
#[test]
fn no_part_of_a_capacity_is_shown_of_partitions() {
    let all = expressions();
    let parts: Vec<_> =
        all.iter().filter(|text| text.contains("bulklink_capacity{") && text.contains("_in_use{")).collect();
    assert_eq!(parts.len(), 2);
    for expression in all.iter().filter(|text| text.contains("bulklink_capacity{") | text.contains("offered")) {
        assert_eq!(expression.matches(",kind=\"bulkhead\"").count(), names(expression).count(), "{expression}");
    }
}

#[test]
fn the_first_row_has_what_is_wrong_now() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    assert_eq!((&panels[0]["type"], &panels[0]["title"]), (&"row".into(), &"What is wrong now".into()));
    let first: Vec<_> = panels[1..].iter().take_while(|panel| panel["type"] != "row").collect();
    assert!(first.len() == 6 && first.iter().all(|panel| panel["type"] == "stat" && panel["gridPos"]["y"] == 1));
}

#[test]
fn panels_are_described_and_lie_beside_each_other() {
    let dashboard = dashboard();
    // That of Grafana 10.
    assert!(dashboard["schemaVersion"].as_u64() >= Some(38));
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "an id twice: {panel}");
        let place = |field: &str| panel["gridPos"][field].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24);
        for (x, y) in (0..place("w")).flat_map(|x| (0..place("h")).map(move |y| (x, y))) {
            assert!(cells.insert((place("x") + x, place("y") + y)), "they overlap: {panel}");
        }
    }
    for panel in panels(&dashboard) {
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{panel}");
        assert!(panel["title"].as_str().is_some_and(|text| !text.is_empty()));
        let sources = [&panel["datasource"]]
            .into_iter()
            .chain(panel["targets"].as_array().unwrap().iter().map(|target| &target["datasource"]));
        assert!(sources.into_iter().all(|source| source["uid"] == "${datasource}"), "{panel}");
    }
    let titles = dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] == "heatmap");
    assert_eq!(titles.count(), 2);
}

#[test]
fn promtool_accepts_every_expression() {
    let tool = require!(Promtool::find());
    // As rules, because the tool has no check of an expression by itself.
    let quoted = |expression: &String| Value::from(expression.as_str()).to_string();
    let expressions = expressions();
    let rules = expressions
        .iter()
        .enumerate()
        .map(|(number, expression)| format!("  - record: panel:{number}\n    expr: {}\n", quoted(expression)));
    let rules: String = rules.collect();
    let file = std::env::temp_dir().join(format!("bulklink-dashboard-{}.yaml", std::process::id()));
    std::fs::write(&file, format!("groups:\n- name: dashboard\n  rules:\n{rules}")).unwrap();
    let said = tool.run(&["check", "rules", file.to_str().unwrap()], "");
    std::fs::remove_file(&file).unwrap();
    let said = said.unwrap_or_else(|said| panic!("{said}"));
    assert!(said.contains(&format!("{} rules found", expressions.len())), "{said}");
}
