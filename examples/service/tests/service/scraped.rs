//! A private Prometheus scrapes the service: its API has what the load has sent.

use std::collections::BTreeMap;
use std::time::Duration;

use bulklink_servers::{Missing, Prometheus, Promtool, Sample, require};
use tokio::time::interval;

use crate::MINUTE;
use crate::harness::{Section, Service, Settings, rejected, roomy, slots, toml};
use crate::reloading::changed;

const ANN: &[(&str, &str)] = &[("x-tenant", "ann")];
const BOB: &[(&str, &str)] = &[("x-tenant", "bob")];

/// Calls that find a slot free, one after the other.
const PACED: u32 = 60;

/// A range that holds the whole test.
const WINDOW: &str = "[5m]";

fn scrape(service: &Service) -> Result<Prometheus, Missing> {
    Prometheus::start(&format!(
        "global:\n  scrape_interval: 250ms\n  scrape_timeout: 250ms\n\
         scrape_configs:\n- job_name: service\n  static_configs:\n  - targets: [{:?}]\n",
        service.address(),
    ))
}

/// Waits until the answer is one sample of this value.
fn is(prometheus: &Prometheus, expression: &str, value: f64) {
    prometheus.wait_for(expression, |samples| matches!(samples, [sample] if (sample.value - value).abs() < 1e-9));
}

/// What a query answers, by the labels of a bulkhead and one other; without zeros.
fn by_label(prometheus: &Prometheus, expression: &str, label: &str) -> BTreeMap<(String, String), f64> {
    let key = |sample: &Sample| (sample.label("bulkhead").to_owned(), sample.label(label).to_owned());
    let samples = prometheus.query(expression);
    samples.iter().filter(|sample| sample.value > 0.0).map(|sample| (key(sample), sample.value)).collect()
}

/// A counter as of the last scrape that was in time.
fn latest(name: &str) -> String {
    format!("last_over_time(bulklink_{name}_total{WINDOW})")
}

fn table(rows: &[(&str, &str, u32)]) -> BTreeMap<(String, String), f64> {
    rows.iter().map(|&(bulkhead, label, value)| ((bulkhead.to_owned(), label.to_owned()), value.into())).collect()
}

/// Sends calls of every outcome, whose numbers the test has.
async fn send(service: &Service, prometheus: &Prometheus) {
    let mut held = Vec::from([(); 2].map(|()| service.spawn("/orders/held", ANN)));
    service.shows("in_use", "orders", 2).await;
    held.extend([(); 3].map(|()| service.spawn("/orders/held", ANN)));
    service.shows("waiting", "orders", 3).await;
    is(prometheus, "bulklink_waiting{bulkhead=\"orders\"}", 3.0);
    for _ in 0..4 {
        rejected(service.get("/orders/1", ANN).await, "orders", "saturated", 503).await;
    }
    // A client that goes away.
    held.pop().unwrap().abort();
    service.shows("waiting", "orders", 2).await;
    let unread = service.get("/export/1000000", BOB).await;
    for _ in 0..2 {
        rejected(service.get("/export/1", BOB).await, "export", "expired", 503).await;
    }
    for _ in 0..3 {
        rejected(service.get("/orders/1", &[("x-tenant", "cid")]).await, "tenants", "partition_limit", 503).await;
    }
    for _ in 0..2 {
        let late = [("x-tenant", "ann"), ("x-timeout-ms", "0")];
        rejected(service.get("/orders/1", &late).await, "tenants", "expired", 504).await;
    }
    service.open();
    drop(unread);
    for call in held {
        assert_eq!(call.await.unwrap().status(), 200);
    }
    let mut pace = interval(Duration::from_millis(50));
    for _ in 0..PACED {
        pace.tick().await;
        assert_eq!(service.get("/orders/1", ANN).await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prometheus_has_exactly_what_the_load_has_sent() {
    let orders = Section { parallelism: 2, waiting_room: 3, wait_limit: MINUTE };
    let export = Section { parallelism: 1, waiting_room: 2, wait_limit: Some("100ms") };
    let settings = Settings { orders, export, max_tenants: 2, ..roomy() };
    let mut service = Service::start(settings).await;
    let prometheus = require!(scrape(&service));
    // All counters begin at 0 in Prometheus, too.
    is(&prometheus, "sum(bulklink_admitted_total) + sum(bulklink_rejected_total)", 0.0);
    send(&service, &prometheus).await;

    // Two direct, one cancelled, two from the queue, and those that came one after the other.
    let admitted = [("export", "direct", 1), ("orders", "direct", 2 + PACED), ("orders", "queued", 2)];
    // The calls that the routes' bulkheads admit, reject, or lose, have a slot of their tenant.
    let admitted = table(&[&admitted[..], &[("tenants", "direct", 3 + 2 + 2 + 4 + 1 + PACED)]].concat());
    let rejections = table(&[
        ("export", "expired", 2),
        ("orders", "saturated", 4),
        ("tenants", "expired_before_queue", 2),
        ("tenants", "partition_limit", 3),
    ]);
    let gauges = "{__name__=~\"bulklink_(in_use|in_flight|waiting|waiting_units|owed_units|uncollected)\"}";
    is(&prometheus, &format!("count({gauges})"), 24.0);
    is(&prometheus, &format!("sum({gauges})"), 0.0);
    is(&prometheus, "sum(bulklink_finished_total)", admitted.values().sum());
    assert_eq!(by_label(&prometheus, &latest("admitted"), "path"), admitted);
    assert_eq!(by_label(&prometheus, &latest("rejected"), "reason"), rejections);
    is(&prometheus, "sum(bulklink_rejected_total)", 4.0 + 2.0 + 3.0 + 2.0);
    is(&prometheus, "sum(bulklink_cancelled_total)", 1.0);
    is(&prometheus, "sum(bulklink_abandoned_total)", 0.0);
    is(&prometheus, "sum(bulklink_wait_seconds_count)", 2.0);
    is(&prometheus, "sum(bulklink_active_partitions)", 0.0);

    // Every counter was 0 at the first scrape, so Prometheus extrapolates an increase only beyond
    // the last one: by at most 1.1 of the mean time between two scrapes. With n of them, that time
    // is the sampled time divided by n - 1.
    let scrapes = prometheus.query(&format!("sum_over_time(up{WINDOW})"))[0].value;
    assert!(scrapes >= 10.0, "{scrapes}");
    let most = 1.0 + 1.1 / (scrapes - 1.0);
    for (name, label, totals) in [("admitted", "path", &admitted), ("rejected", "reason", &rejections)] {
        let increases = by_label(&prometheus, &format!("increase(bulklink_{name}_total{WINDOW})"), label);
        let rates = by_label(&prometheus, &format!("rate(bulklink_{name}_total{WINDOW}) * 300"), label);
        for increases in [increases, rates] {
            assert!(increases.keys().eq(totals.keys()), "{increases:?}");
            for (key, sent) in totals {
                let factor = increases[key] / sent;
                assert!((1.0 - 1e-9..=most).contains(&factor), "{key:?}: {factor} of {sent}, at most {most}");
            }
        }
    }
    // All series of a target have the same factor, so a share has none.
    let rate = |name| format!("sum(rate(bulklink_{name}_total{{bulkhead=\"orders\"}}{WINDOW}))");
    let (rejected, admitted) = (rate("rejected"), rate("admitted"));
    is(&prometheus, &format!("{rejected} / ({rejected} + {admitted})"), 4.0 / (4.0 + 4.0 + f64::from(PACED)));

    reload(&service, &prometheus, &settings).await;
    drain(&mut service, &prometheus).await;
}

/// The capacity in Prometheus follows the file, and a broken one changes nothing.
async fn reload(service: &Service, prometheus: &Prometheus, settings: &Settings) {
    let capacity = "bulklink_capacity{bulkhead=\"orders\"}";
    is(prometheus, capacity, 2.0);
    service.write(&Settings { orders: slots(5), ..*settings });
    is(prometheus, capacity, 5.0);
    service.logged(&changed("the file has changed", "orders: parallelism 2 -> 5")).await;
    service.write(&Settings { orders: slots(7), ..*settings });
    service.signal("-HUP");
    is(prometheus, capacity, 7.0);
    service.logged(&changed("SIGHUP", "orders: parallelism 5 -> 7")).await;
    service.write_text(&toml(settings, "").replace("orders]", "orders"));
    service.signal("-HUP");
    service.logged("the settings are refused").await;
    let scrapes = prometheus.query(&format!("sum_over_time(up{WINDOW})"))[0].value;
    prometheus.wait_for(&format!("sum_over_time(up{WINDOW}) >= {}", scrapes + 2.0), |samples| !samples.is_empty());
    is(prometheus, capacity, 7.0);
    is(prometheus, &format!("sum(changes(bulklink_capacity{{kind=\"bulkhead\"}}{WINDOW}))"), 2.0);
}

/// While the service drains, Prometheus still sees what it rejects.
async fn drain(service: &mut Service, prometheus: &Prometheus) {
    let unread = service.get("/export/1000000", BOB).await;
    service.signal("-TERM");
    service.logged("closed").await;
    for _ in 0..2 {
        rejected(service.get("/orders/1", ANN).await, "tenants", "closed", 503).await;
    }
    is(prometheus, "bulklink_rejected_total{reason=\"closed\"}", 2.0);
    is(prometheus, "sum(bulklink_rejected_total)", 11.0 + 2.0);
    is(prometheus, "sum(bulklink_closed)", 4.0);
    drop(unread);
    assert_eq!(service.ended().await.code(), Some(0));
}

#[tokio::test]
async fn promtool_finds_nothing_to_improve_in_the_metrics() {
    let tool = require!(Promtool::find());
    let service = Service::start(roomy()).await;
    let said = tool.run(&["check", "metrics"], &service.metrics().await);
    assert_eq!(said.as_deref(), Ok(""));
}
