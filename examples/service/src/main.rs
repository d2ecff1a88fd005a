//! A gateway whose upstreams and tenants cannot take it down: admission, deadlines, metrics,
//! readiness, reload and draining of a service on axum and reqwest.
//!
//! `cargo run -p bulklink-examples-service -- examples/service/app.toml`

mod admission;
mod config;
mod layers;
mod metrics;
mod reload;
mod routes;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bulklink_tokio::Readiness;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;

use crate::admission::Admission;
use crate::config::Config;
use crate::layers::Headers;
use crate::routes::App;

type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Error> {
    tracing_subscriber::fmt().with_env_filter(EnvFilter::from_default_env()).with_writer(std::io::stderr).init();
    let path = std::env::args_os().nth(1).map_or("app.toml".into(), PathBuf::from);
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(serve(path));
    // A digest that runs longer than the drain limit must not keep the process.
    runtime.shutdown_background();
    ended
}

async fn serve(path: PathBuf) -> Result<(), Error> {
    let text = std::fs::read_to_string(&path)?;
    let config: Config = toml::from_str(&text)?;
    let drain_limit = Duration::from_millis(config.drain_limit_ms);
    let listener = TcpListener::bind(config.listen).await?;
    let mut terminate = signal(SignalKind::terminate())?;

    let admission = Arc::new(Admission::new(&config)?);
    let headers = Headers::new()?;
    // The processor is this instance's own. The upstream of the orders is shared: if that is slow,
    // all instances are full, and taking them out would help nothing.
    let readiness = Readiness::new(Duration::from_millis(config.grace_ms))?;
    readiness.watch(&admission.digest);
    let app = App {
        metrics: metrics::registry(&admission, &headers),
        admission: Arc::clone(&admission),
        headers,
        readiness,
        client: reqwest::Client::new(),
        upstream: config.upstream.clone(),
    };
    tokio::spawn(reload::watch(path, text, config, Arc::clone(&admission)));

    info!(address = %listener.local_addr()?, "listening");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, routes::router(app)).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let mut server = tokio::spawn(server.into_future());
    tokio::select! {
        ended = &mut server => return Ok(ended??),
        _ = terminate.recv() => {}
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
