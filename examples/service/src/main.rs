//! A gateway that its upstreams and tenants cannot take down: admission, deadlines, metrics, a page
//! of its bulkheads, readiness, reload and draining of a service on axum and reqwest.
//!
//! `cargo run -p bulklink-examples-service -- --demo` starts it with an upstream and a load.

mod admission;
mod demo;
mod layers;
mod reload;
mod routes;
mod settings;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bulklink_metrics::Exporter;
use bulklink_tokio::Readiness;
use clap::Parser;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::level_filters::LevelFilter;
use tracing::{error, info, warn};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::admission::Admission;
use crate::layers::Headers;
use crate::routes::App;
use crate::settings::Settings;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A gateway that its upstreams and tenants cannot take down.
#[derive(Debug, Parser)]
struct Arguments {
    /// The file of settings. Its limits may change while the service runs.
    #[arg(default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/app.toml"))]
    file: PathBuf,
    /// Starts an upstream, in place of that of the file, and a load with bursts.
    #[arg(long)]
    demo: bool,
    /// Only prints a configuration of Prometheus for this service, with the alert rules.
    #[arg(long)]
    print_prometheus_config: bool,
}

fn main() -> ExitCode {
    // Rejections are events of the level `WARN`; `RUST_LOG=info,bulklink=debug` shows each wait.
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_span_events(FmtSpan::CLOSE);
    log.with_writer(std::io::stderr).init();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!(%error, "failed");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Error> {
    let Arguments { file, demo, print_prometheus_config } = arguments;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let settings = Settings::parse(&text)?;
    if print_prometheus_config {
        print!("{}", demo::prometheus_config(settings.listen));
        return Ok(());
    }
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(serve(file, text, settings, demo));
    // A digest that runs longer than the drain limit must not keep the process.
    runtime.shutdown_background();
    ended
}

async fn serve(file: PathBuf, text: String, settings: Settings, demo: bool) -> Result<(), Error> {
    let drain_limit = Duration::from_millis(settings.drain_limit_ms);
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.map_err(|error| format!("listen {}: {error}", settings.listen))?;
    let address = listener.local_addr()?;
    let (mut terminate, hangup) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);

    let admission = Arc::new(Admission::new(&settings.limits)?);
    let headers = Headers::new()?;
    // The processor is this instance's own. The upstream of the orders is shared: if that is slow,
    // all instances are full, and taking them out would help nothing.
    let readiness = Readiness::new(Duration::from_millis(settings.grace_ms))?;
    readiness.watch(&admission.digest);
    let app = App {
        exporter: Exporter::new(&admission.registry),
        admission: Arc::clone(&admission),
        headers,
        readiness,
        client: reqwest::Client::new(),
        upstream: if demo { demo::start_upstream().await? } else { settings.upstream.clone() },
    };

    info!(%address, "listening");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, routes::router(app)).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let mut server = tokio::spawn(server.into_future());
    let load = demo.then(|| tokio::spawn(demo::load(address)));
    let _export = demo.then(|| demo::hold_back(&admission.export));
    if demo {
        print!("{}", demo::places(address, &file));
    }
    tokio::spawn(reload::watch(file, text, settings, Arc::clone(&admission), hangup));
    tokio::select! {
        ended = &mut server => return Ok(ended??),
        _ = terminate.recv() => {}
        _ = ctrl_c() => {}
    }
    if let Some(load) = load {
        load.abort();
    }

    // The server still answers while calls run: new ones are rejected, with a problem to read, and
    // it is not ready.
    admission.registry.close_all();
    info!("draining");
    let drained = timeout(drain_limit, async {
        admission.registry.closed().await;
        drop(stop);
        server.await
    });
    if let Ok(ended) = drained.await {
        info!("drained");
        return Ok(ended??);
    }
    for status in admission.registry.statuses().iter().filter(|status| status.in_flight > 0) {
        warn!(bulkhead = %status.label, in_flight = status.in_flight, "not drained");
    }
    Err("the drain limit has passed".into())
}
