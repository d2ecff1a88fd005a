//! Three processes that call a dependency over HTTP and share one circuit, while it fails, slows
//! and recovers.
//!
//! `cargo run -p bulklink-examples-breaker` starts a private PostgreSQL, the dependency, three
//! workers with four clients each, and a live view. A worker calls through a `Guard`: a bulkhead,
//! the circuit that all share, and a limit on the run. A call of a dependency that is slow fails by
//! that limit. All workers must notice both, and while the circuit is not closed, only probes may
//! reach the dependency. `cargo run -p bulklink-examples-breaker -- 60` runs for a minute.

mod dependency;
mod phases;
mod timeline;
mod view;
mod worker;

use std::env;
use std::net::SocketAddr;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use bulklink_breaker::{Breaker, Settings, State};
use bulklink_fleet::circuits::Circuits;
use bulklink_postgres::{Part, PostgresStore};
use bulklink_servers::Postgres;
use bulklink_tokio::Tokio;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use dependency::Dependency;
use phases::Phases;
use timeline::Timeline;
use worker::Worker;

const WORKERS: usize = 3;
const USUAL_SECONDS: u64 = 15;
/// A call that takes longer has failed.
pub(crate) const RUN_LIMIT: Duration = Duration::from_millis(200);
/// How soon a dependency that works again is used again.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [role, url, address] = &arguments[..]
        && role == "worker"
    {
        worker::run(url, address).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = arguments.first().map_or(Ok(USUAL_SECONDS), |text| text.parse()).context("how many seconds?")?;
    let server = Postgres::start()?;
    // Once, by hand: `bulklink-ctl setup`.
    server.sql(&Part::Breaker.statements());
    server.sql(&Part::Breaker.grants("tests"));
    show(&server, Duration::from_secs(seconds)).await
}

/// Shares the circuit. Every process declares it in the same way.
pub(crate) fn payments(url: &str) -> Result<Breaker> {
    let settings = Settings::of_last(20).failures(10).cool_down(Duration::from_millis(300));
    let settings = settings.longest_cool_down(Duration::from_millis(300)).probes(1).close_after(2);
    let circuits = Circuits::builder(PostgresStore::new(url)?.circuits(), Tokio).namespace("example").build()?;
    Ok(circuits.share(Breaker::builder_on(Tokio, "payments").settings(settings))?)
}

async fn show(server: &Postgres, time: Duration) -> Result<ExitCode> {
    let dependency = Dependency::start(time).await?;
    let payments = payments(&server.url())?;
    let timeline = Timeline::of(&payments);
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(start(server, dependency.address())?);
    }
    let (begin, mut phases) = (Instant::now(), Phases::default());
    while begin.elapsed() < time {
        phases.note(&dependency, &workers);
        view::draw(&payments, &dependency, &workers, begin.elapsed());
        sleep(Duration::from_millis(100)).await;
    }
    // It works at the end of the script.
    while payments.status().circuit.state != State::Closed && begin.elapsed() < time + PATIENCE {
        sleep(Duration::from_millis(10)).await;
    }
    println!();
    let have_noticed = phases.show();
    let mut probes = 0;
    for worker in workers {
        probes += worker.end().await?.probes;
    }
    let has_held = verdict(&payments, &timeline, &dependency, probes);
    Ok(if have_noticed && has_held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn start(server: &Postgres, address: SocketAddr) -> Result<Worker> {
    let mut worker = Command::new(env::current_exe()?);
    worker.args(["worker", &server.url(), &address.to_string()]);
    Worker::new(worker.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?)
}

fn verdict(payments: &Breaker, timeline: &Timeline, dependency: &Dependency, probes: u64) -> bool {
    let calls = dependency.calls();
    let (opened, isolated) = (timeline.opened(), timeline.isolated(&calls));
    let has_recovered = payments.status().circuit.state == State::Closed;
    println!(
        "{} calls reached the dependency, {isolated} of them while the circuit was not closed, by {probes} probes; \
         opened {opened} times; {}",
        calls.len(),
        if has_recovered { "recovered" } else { "NOT RECOVERED" }
    );
    opened > 1 && isolated <= probes && has_recovered
}
