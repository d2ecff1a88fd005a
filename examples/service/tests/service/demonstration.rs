//! The demonstration, scraped by a private Prometheus as its own configuration says.

use std::process::Command;

use bulklink_servers::{Prometheus, require};
use serde_json::Value;

use crate::harness::Service;

const DASHBOARD: &str = include_str!("../../../../crates/bulklink-metrics/grafana/dashboard.json");
const ALERTS: &str = include_str!("../../../../crates/bulklink-metrics/grafana/alerts.yaml");

/// The service has no circuit breaker, no fleet, and no adaptive limit, which its file could not
/// set; and its tenants have limits of their own, so no classes. The tests of `bulklink-metrics`
/// show these in a scrape.
const OF_OTHERS: [&str; 4] = ["bulklink_breaker_", "bulklink_class_", "bulklink_limit", "bulklink_share_"];

/// Those of keys are there only while a key has any load.
const OF_KEYS: &str = "bulklink_key_";

/// The words that are names of metrics.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("bulklink_"))
}

/// The expressions of the dashboard, with its variables replaced as Grafana does.
fn expressions() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expression = |target: &Value| target["expr"].as_str().unwrap().to_owned();
    let expressions = targets.map(expression).map(|expression| {
        let expression = expression.replace("$__rate_interval", "1m").replace("$job", "service");
        expression.replace("$instance", ".*").replace("$bulkhead", ".*")
    });
    expressions.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demonstration_has_all_that_the_dashboard_and_the_alerts_ask_for() {
    let mut service = Service::demonstration().await;
    let prometheus = require!(Prometheus::start(&service.prometheus_config()));
    // The load has a burst every five seconds.
    for (metric, bulkhead) in [
        ("rejected_total{reason=\"saturated\"", "tenants"),
        ("wait_seconds_count{", "orders"),
        ("cancelled_total{", "tenants"),
    ] {
        let metric = metric.replace('{', &format!("{{bulkhead=\"{bulkhead}\",job=\"service\","));
        prometheus.wait_for(&format!("increase(bulklink_{metric}}}[1m]) > 0"), |samples| samples.len() == 1);
    }

    let scraped = prometheus.get("/api/v1/label/__name__/values");
    let scraped: Vec<_> = scraped["data"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let asked = names(DASHBOARD).chain(names(ALERTS));
    let is_sure = |text: &str| !OF_OTHERS.iter().any(|other| text.contains(other)) && !text.contains(OF_KEYS);
    let asked: Vec<_> = asked.filter(|name| is_sure(name)).collect();
    assert!(asked.len() > 50, "{asked:?}");
    for name in asked {
        assert!(scraped.contains(&name), "{name} is not in {scraped:?}");
    }
    for expression in expressions().iter().filter(|expression| is_sure(expression)) {
        // A threshold would leave nothing.
        let expression = expression.trim_end_matches(" > 0");
        assert!(!prometheus.query(expression).is_empty(), "{expression}");
    }
    let rules = &prometheus.get("/api/v1/rules")["data"]["groups"][0]["rules"];
    let health: Vec<_> = rules.as_array().unwrap().iter().map(|rule| rule["health"].as_str()).collect();
    assert_eq!(health, [Some("ok"); 18], "{rules}");

    service.signal("-INT");
    service.logged("drained").await;
    assert_eq!(service.ended().await.code(), Some(0));
}

/// The program of the test stands for `cargo run`.
#[tokio::test]
async fn the_command_for_prometheus_has_the_settings_of_the_demonstration() {
    let command = Service::printed_command("it's a demo.toml").await;
    let arguments = command.strip_prefix("cargo run -qp bulklink-examples-service -- ").expect("by cargo");
    let arguments = arguments.strip_suffix(" > prometheus.yml").expect("into a file");
    let script = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_service"));
    let config = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
    let config = String::from_utf8(config).unwrap();
    assert!(config.contains("targets: [\"127.0.0.1:0\"]"), "{script}: {config}");
}
