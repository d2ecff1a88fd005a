//! A demonstration: an upstream and a load, so that a person sees figures move; and how to look at
//! them.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bulklink_tokio::{Bulkhead, Ceiling};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// The requests of a second, on average, without the bursts.
const RATE: f64 = 150.0;

/// The tenants that share these requests.
const TENANTS: [&str; 4] = ["ann", "bob", "cid", "dan"];

/// More requests than one tenant has slots and places to wait, and how often another tenant sends
/// them at the same time.
const BURST: usize = 60;
const BURST_EVERY: Duration = Duration::from_secs(5);

/// One client of so many gives up after this time, also while its call waits.
const IMPATIENT: u8 = 10;
const PATIENCE: Duration = Duration::from_millis(50);

/// For some seconds of each period, the upstream is too slow for the load.
const PERIOD: u64 = 20;
const SLOW: u64 = 3;

/// Starts an upstream, and returns its URL.
pub(crate) async fn start_upstream() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let start = Instant::now();
    let answer = async move || {
        let is_slow = start.elapsed().as_secs() % PERIOD >= PERIOD - SLOW;
        sleep(Duration::from_millis(fastrand::u64(20..60) * if is_slow { 8 } else { 1 })).await;
        "an order\n"
    };
    tokio::spawn(axum::serve(listener, Router::new().route("/{id}", get(answer))).into_future());
    Ok(url)
}

/// Sends requests until it is dropped. None waits for the answer to another.
pub(crate) async fn load(service: SocketAddr) {
    let (client, mut requests) = (reqwest::Client::new(), JoinSet::new());
    let mut next_burst = Instant::now() + BURST_EVERY;
    loop {
        let mut send = |path: &str, tenant: &str, timeout: Option<&str>| {
            let mut request = client.get(format!("http://{service}{path}")).header("x-tenant", tenant);
            if let Some(limit) = timeout {
                request = request.header("x-timeout-ms", limit);
            }
            if fastrand::u8(..IMPATIENT) == 0 {
                request = request.timeout(PATIENCE);
            }
            requests.spawn(async move { request.send().await.ok()?.bytes().await.ok() });
        };
        if Instant::now() >= next_burst {
            next_burst += BURST_EVERY;
            (0..BURST).for_each(|_| send("/orders/1", "eve", None));
        }
        let tenant = TENANTS[fastrand::usize(..TENANTS.len())];
        match fastrand::u8(..100) {
            0..10 => send("/digest/500000", tenant, None),
            10..15 => send("/export/20", tenant, None),
            15..30 => send("/orders/1", tenant, Some("100")),
            30 => send("/orders/1", tenant, Some("soon")),
            _ => send("/orders/1", tenant, None),
        }
        while requests.try_join_next().is_some() {}
        // Gaps of independent requests are exponential.
        sleep(Duration::from_secs_f64(-(1.0 - fastrand::f64()).ln() / RATE)).await;
    }
}

/// Withholds a part of the capacity, as an adaptive limit does that has measured that fewer exports
/// at once are faster.
pub(crate) fn hold_back(exports: &Bulkhead) -> Ceiling {
    let ceiling = exports.handle().ceiling("demonstration");
    ceiling.set(6);
    ceiling
}

/// Prints where to look.
pub(crate) fn places(service: SocketAddr, settings: &Path) -> String {
    let (dashboard, settings, pid) = (grafana("dashboard.json"), absolute(settings), std::process::id());
    format!(
        "metrics    http://{service}/metrics\n\
         bulkheads  http://{service}/debug/bulkheads\n\
         dashboard  {}, to be imported into Grafana\n\
         limits     {}: edit it; `kill -HUP {pid}` applies it immediately\n\
         Prometheus `cargo run -qp {package} -- --print-prometheus-config {} > prometheus.yml`,\n           \
         then `prometheus --config.file=prometheus.yml`\n",
        dashboard.display(),
        settings.display(),
        quoted(&settings),
        package = env!("CARGO_PKG_NAME"),
    )
}

/// Returns a configuration of Prometheus that scrapes the service often, and has the alert rules.
pub(crate) fn prometheus_config(service: SocketAddr) -> String {
    format!(
        "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 1s\n\
         rule_files:\n- \"{}\"\n\
         scrape_configs:\n- job_name: service\n  static_configs:\n  - targets: [\"{service}\"]\n",
        grafana("alerts.yaml").display(),
    )
}

/// A file of `bulklink-metrics`.
fn grafana(name: &str) -> PathBuf {
    absolute(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/bulklink-metrics/grafana").join(name))
}

/// Returns a path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
