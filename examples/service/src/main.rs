//! A gateway that its upstreams and tenants cannot take down: admission, deadlines, metrics, a page
//! of its bulkheads, readiness, reload and draining of a service on axum and reqwest.
//!
//! `cargo run -p bulklink-examples-service -- --demo` starts it with an upstream and a load.

mod admission;
mod demo;
mod layers;
mod routes;
mod settings;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bulklink_metrics::Exporter;
use bulklink_tokio::config::{self, Follow};
use bulklink_tokio::{Drain, Readiness, Registry};
use clap::Parser;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tracing::level_filters::LevelFilter;
use tracing::{error, info};
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
            error!("{error:?}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Error> {
    let Arguments { file, demo, print_prometheus_config } = arguments;
    let settings = config::follow(&file, Settings::parse)?;
    if print_prometheus_config {
        print!("{}", demo::prometheus_config(settings.settings().listen));
        return Ok(());
    }
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(serve(file, settings, demo));
    // A digest that runs longer than the drain limit must not keep the process.
    runtime.shutdown_background();
    ended
}

async fn serve(path: PathBuf, file: Follow<Settings>, demo: bool) -> Result<(), Error> {
    let settings = file.settings();
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.map_err(|error| format!("listen {}: {error}", settings.listen))?;
    let address = listener.local_addr()?;

    let registry = Registry::new();
    let _watch = file
        .part("limits", &registry, |settings| &settings.limits)
        .fixed("listen", |settings| &settings.listen)
        .fixed("upstream", |settings| &settings.upstream)
        .fixed("notice_ms", |settings| &settings.notice_ms)
        .fixed("drain_limit_ms", |settings| &settings.drain_limit_ms)
        .fixed("grace_ms", |settings| &settings.grace_ms)
        .start()
        .await?;
    let admission = Admission::new(&registry)?;
    let headers = Headers::new()?;
    let exporter = Exporter::new(&registry);
    headers.count_invalid(&exporter)?;
    // The processor is this instance's own. The upstream of the orders is shared: if that is slow,
    // all instances are full, and taking them out would help nothing.
    let readiness = Readiness::new(Duration::from_millis(settings.grace_ms))?;
    readiness.watch(&admission.digest);

    let drain = Drain::new(&registry).readiness(&readiness).notice(Duration::from_millis(settings.notice_ms));
    let drain = drain.limit(Duration::from_millis(settings.drain_limit_ms))?;
    let upstream = if demo { demo::start_upstream().await? } else { settings.upstream.clone() };
    let _demo = demo.then(|| (tokio::spawn(demo::load(address)), demo::hold_back(&admission.export)));
    let app = App { registry, admission, headers, readiness, exporter, client: reqwest::Client::new(), upstream };
    info!(%address, "listening");
    if demo {
        print!("{}", demo::places(address, &path));
    }
    let server = |closed| axum::serve(listener, routes::router(app)).with_graceful_shutdown(closed);
    Ok(drain.serve(server).await?.complete()?)
}
