//! A real Prometheus scrapes an exporter, in both formats, and evaluates the dashboard and the
//! alerts on it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use bulklink::config::{Apply, FileStatus};
use bulklink::limit::Knee;
use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Partitions, Registry};
use bulklink_breaker::{Breaker, BreakerRegistry, Guards};
use bulklink_fleet::circuits::Circuits;
use bulklink_fleet::{Fleet, MemoryStore};
use bulklink_metrics::{Exporter, Format, Kind, NAMES};
use bulklink_servers::{Prometheus, require};

use crate::alerts::{ALERTS, values};
use crate::dashboard::expressions;
use crate::names::named;

/// Serves an exporter until the test process ends, and records which formats it has served.
fn serve(exporter: Exporter, only: Option<Format>) -> (SocketAddr, Receiver<Format>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, (sender, formats)) = (listener.local_addr().unwrap(), channel());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let accept = head.iter().find_map(|line| line.strip_prefix("Accept: ")).unwrap_or_default();
            let format = only.unwrap_or_else(|| Format::negotiate(accept));
            let (kind, text) = (format.content_type(), exporter.render(format));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close");
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
            let _ = sender.send(format);
        }
    });
    (address, formats)
}

/// A registry in which every metric has a sample, and a label that is hard to write.
fn registry() -> (Registry, Executor, impl Sized) {
    let mut executor = Executor::new(FakeClock::new());
    let registry = Registry::new();
    let mut file = FileStatus::default();
    (file.path, file.applied) = ("app.toml".to_owned(), 1);
    Apply::<FakeRuntime>::report(&registry, &file);
    let second = Duration::from_secs(1);
    let hard = "a \"b\" \\ {c}, ü";
    let bulkhead = Bulkhead::builder_on(executor.runtime(), hard).parallelism(1).waiting_room(1);
    let bulkhead = bulkhead.waiting_room_units(3).wait_limit(5 * second).measure_holds(true);
    let bulkhead = registry.create(bulkhead).unwrap();
    let search = Bulkhead::builder_on(executor.runtime(), "search").parallelism(8);
    registry.create(search.adaptive(Knee::between(2, 8))).unwrap();
    let tenants = Partitions::<String, _>::builder_on(executor.runtime(), "tenants").shared_capacity(1).waiting_room(1);
    let tenants = tenants.wait_limit(5 * second).measure_holds(true).max_partitions(1);
    let tenants = tenants.show_keys(move |key| format!("{hard}\r\n{key}"));
    let tenants = registry.create_partitions(tenants).unwrap();

    let running = (bulkhead.owned().try_slot().unwrap(), tenants.key("ann").try_slot().unwrap());
    bulkhead.owned().try_slot().unwrap_err();
    tenants.key("bob").try_slot().unwrap_err();
    let (one, other) = (executor.spawn(bulkhead.owned().slot()), executor.spawn(tenants.key("ann").slot()));
    executor.advance(second / 4);
    drop(running);
    executor.run_until_idle();
    drop((one.output().unwrap().unwrap(), other.output().unwrap().unwrap()));
    // Rejections of a key are known from an earlier reading on.
    let _ = tenants.handle().worst_keys(1);
    executor.clock().advance(second);
    let key = (tenants.key("ann").try_slot().unwrap(), executor.spawn(tenants.key("ann").slot()));
    executor.run_until_idle();
    tenants.key("ann").try_slot().unwrap_err();
    let ceiling = bulkhead.handle().ceiling("fleet");
    ceiling.set(0);
    (registry, executor, (ceiling, key))
}

#[test]
fn prometheus_scrapes_both_formats_and_evaluates_the_dashboard_and_the_alerts() {
    let (registry, mut executor, _held) = registry();
    let exporter = Exporter::new(&registry);
    let store = MemoryStore::new(executor.clock());
    let circuits = Circuits::builder(store.clone(), executor.runtime()).namespace("test").build().unwrap();
    exporter.add_breaker(&circuits.share(Breaker::builder_on(executor.clock(), "search")).unwrap());
    let hosts = Partitions::<u32, _>::builder_on(executor.runtime(), "hosts").parallelism(1).max_partitions(1);
    let by_key = BreakerRegistry::new();
    by_key.add_guards(&Guards::builder(&hosts.build().unwrap()).build().unwrap()).unwrap();
    let fleet = Fleet::builder(store, executor.runtime()).namespace("test").build().unwrap();
    let search = Bulkhead::builder_on(executor.runtime(), "search").parallelism(1).build().unwrap();
    executor.block_on(fleet.share(&search).limit(1).connect()).unwrap();
    let exporter = exporter.breakers(&by_key).fleet(&fleet);
    let (open, served) = serve(exporter.clone(), None);
    let (plain, _) = serve(exporter, Some(Format::Prometheus));
    let prometheus = require!(Prometheus::scraping(&[open, plain]));
    // For a rate, two scrapes of each.
    prometheus.wait_for("count_over_time(bulklink_left_out[1m]) >= 2", |samples| samples.len() == 2);
    assert_eq!(served.recv(), Ok(Format::OpenMetrics), "it asks for it");
    assert_eq!(prometheus.query("up == 1").len(), 2, "{}", prometheus.get("/api/v1/targets"));

    for metric in NAMES {
        let parts: &[_] = if metric.kind == Kind::Histogram { &["_bucket", "_count", "_sum"] } else { &[""] };
        for part in parts {
            // Both instances have the same series, with the same values.
            let name = format!("{}{part}", metric.name);
            let found = prometheus.query(&name);
            assert!(named(&name).is_some() && found.len() >= 2 && found.len() % 2 == 0, "{name}: {found:?}");
            assert_eq!(prometheus.query(&format!("stddev without (instance) ({name}) > 0")), [], "{name}");
        }
    }
    let key = prometheus.query("bulklink_key_in_use");
    assert_eq!((key.len(), key[0].label("key")), (2, "a \"b\" \\ {c}, ü\r\nann"));
    let hard = prometheus.query("bulklink_rejected_total{bulkhead=~\"a .*\",reason=\"saturated\"}");
    assert_eq!(
        (hard.len(), hard[0].label("bulkhead"), hard[0].value.to_bits()),
        (2, "a \"b\" \\ {c}, ü", 1.0_f64.to_bits())
    );
    let median = prometheus.query("histogram_quantile(0.5, sum by (le) (bulklink_wait_seconds_bucket))");
    assert!((0.2..0.5).contains(&median[0].value), "{median:?}");

    for expression in expressions() {
        // A threshold would leave nothing.
        let expression = expression.trim_end_matches(" > 0");
        assert!(!prometheus.query(expression).is_empty(), "{expression}");
    }
    for expression in values(ALERTS, "expr:") {
        // None fires, but for those of this moment.
        let _ = prometheus.query(&expression);
    }
}
