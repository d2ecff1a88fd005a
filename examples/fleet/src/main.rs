//! One limit for six processes, some of which are killed all the time.
//!
//! `cargo run -p bulklink-examples-fleet` starts a private Redis, six workers with four clients
//! each, and a live view. Every slot is used on a *resource* in this process, which counts how many
//! use it at the same time. A worker is killed every 400 ms. At the end, nothing may be left on the
//! server. `cargo run -p bulklink-examples-fleet -- 60` runs for a minute.

mod resource;
mod view;
mod worker;

use std::env;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use bulklink_redis::{Fleet, FleetShare, RedisStore, ShareBuilder, Tuning};
use bulklink_servers::Server;
use bulklink_tokio::{Bulkhead, Tokio};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use resource::Resource;

/// How many may use the resource at the same time.
const LIMIT: usize = 8;
const WORKERS: usize = 6;
/// How long the units of a killed worker stay in use.
const LEASE: Duration = Duration::from_secs(2);
const BETWEEN_KILLS: Duration = Duration::from_millis(400);
const USUAL_SECONDS: u64 = 15;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [role, url, resource] = &arguments[..]
        && role == "worker"
    {
        worker::run(url, Path::new(resource)).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = arguments.first().map_or(Ok(USUAL_SECONDS), |text| text.parse()).context("how many seconds?")?;
    // A server that has just started may have lost data, so for one lease time it grants nothing.
    let server = Server::start()?;
    let resource = Resource::start()?;
    show(&server, &resource, Duration::from_secs(seconds)).await
}

/// An ordinary bulkhead.
pub(crate) fn payments() -> Result<Bulkhead> {
    Ok(Bulkhead::builder("payments").parallelism(LIMIT).waiting_room(1_000).build()?)
}

/// What every process of the fleet declares.
pub(crate) fn share(fleet: &Fleet<Tokio>, payments: &Bulkhead) -> ShareBuilder<Tokio> {
    let tuning = Tuning::default().with_beat(Duration::from_millis(200));
    fleet.share(payments).limit(LIMIT).lease(LEASE).claim(Duration::from_secs(1)).tuning(tuning)
}

async fn show(server: &Server, resource: &Resource, time: Duration) -> Result<ExitCode> {
    let fleet =
        Fleet::builder(RedisStore::new(&server.url())?, Tokio).namespace("example").process("live view").build()?;
    let payments = payments()?;
    let share = share(&fleet, &payments).connect().await?;
    let mut workers = vec![];
    for _ in 0..WORKERS {
        workers.push(start(server, resource)?);
    }
    let (begin, mut killed, mut next_kill) = (Instant::now(), 0, Instant::now() + BETWEEN_KILLS);
    while begin.elapsed() < time {
        view::draw(share.look().await?.as_ref(), resource, begin.elapsed(), killed);
        sleep(Duration::from_millis(100)).await;
        if next_kill <= Instant::now() {
            let victim = &mut workers[fastrand::usize(..WORKERS)];
            victim.kill().await?;
            *victim = start(server, resource)?;
            killed += 1;
            next_kill = Instant::now() + BETWEEN_KILLS;
        }
    }
    for worker in &mut workers {
        worker.kill().await?;
    }
    verdict(&share, resource, killed + WORKERS).await
}

fn start(server: &Server, resource: &Resource) -> Result<Child> {
    let mut worker = Command::new(env::current_exe()?);
    worker.args(["worker", &server.url()]).arg(resource.socket());
    Ok(worker.stdin(Stdio::null()).kill_on_drop(true).spawn()?)
}

/// All workers are dead. Their units end with their leases, and the limit is free again.
async fn verdict(share: &FleetShare<Tokio>, resource: &Resource, killed: usize) -> Result<ExitCode> {
    sleep(LEASE + Duration::from_millis(100)).await;
    let status = share.look().await?.context("the store has lost the limit")?;
    let seen = resource.seen();
    println!(
        "\n{} admissions by {killed} killed processes: at most {} of {LIMIT} at the same time; left on the server: {} \
         units, {} processes",
        seen.entries,
        seen.most,
        status.granted,
        status.rows.len()
    );
    let holds = seen.most <= LIMIT && seen.entries > 0 && (status.granted, status.rows.len()) == (0, 0);
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
