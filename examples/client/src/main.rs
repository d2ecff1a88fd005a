//! A client with upstreams that cannot take each other down: a bulkhead for each host, on reqwest.
//!
//! `cargo run -p bulklink-examples-client` starts three small upstreams, of which one is slow and
//! one rejects most requests, and calls them in turn: first without limits, then with them. With
//! URLs as arguments, it calls those instead.

use std::time::Duration;

use axum::{Router, routing::get};
use bulklink_tokio::{Bulkhead, Partitions};
use bulklink_tower::http::{RemoteRejection, host};
use bulklink_tower::{BulkheadLayer, rejection};
use reqwest::{Client, Method, Request, Url};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt};

type Error = Box<dyn std::error::Error + Send + Sync>;

const CALLS: usize = 120;
/// What all calls share: a slow upstream must not keep it from the others.
const WORKERS: usize = 8;

/// How a call has ended.
enum Ended {
    Answered,
    /// By the bulkhead of its host: the upstream has not seen the request.
    RejectedHere,
    /// By a bulkhead of the upstream, which has not worked on the request.
    RejectedThere,
    Failed,
}

#[derive(Default)]
struct Tally {
    answered: usize,
    rejected_here: usize,
    rejected_there: usize,
    failed: usize,
    slowest: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut urls = std::env::args().skip(1).map(|url| url.parse()).collect::<Result<Vec<Url>, _>>()?;
    if urls.is_empty() {
        let busy = Bulkhead::builder("busy").parallelism(1).build()?;
        urls = vec![
            start("fast", Duration::ZERO, None).await?,
            start("slow", Duration::from_millis(500), None).await?,
            start("busy", Duration::from_millis(200), Some(busy)).await?,
        ];
    }
    for (title, limit) in [("without limits", CALLS), ("2 calls to a host at a time", 2)] {
        println!("{title:32} answered  rejected here  rejected there  failed  slowest answer");
        for (url, tally) in urls.iter().zip(run(&urls, limit).await?) {
            let Tally { answered, rejected_here, rejected_there, failed, slowest } = tally;
            println!("{url:32} {answered:8} {rejected_here:14} {rejected_there:15} {failed:7} {slowest:>15.0?}");
        }
    }
    Ok(())
}

/// Starts an upstream that takes this long, and returns its URL.
async fn start(name: &str, time: Duration, limit: Option<Bulkhead>) -> Result<Url, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/{name}", listener.local_addr()?).parse()?;
    let mut app = Router::new().route("/{name}", get(async move || sleep(time).await));
    if let Some(bulkhead) = limit {
        app = app.layer(BulkheadLayer::new(&bulkhead).respond());
    }
    tokio::spawn(axum::serve(listener, app).into_future());
    Ok(url)
}

/// Calls the upstreams in turn, one call each 5 ms, and returns the results.
async fn run(urls: &[Url], limit: usize) -> Result<Vec<Tally>, Error> {
    let hosts = Partitions::builder("hosts").parallelism(limit).max_partitions(1000);
    // Operators may see which host is full: a name of a host is no secret.
    let hosts: Partitions<String> = hosts.show_keys(String::clone).build()?;
    let client = BulkheadLayer::keyed(&hosts, host)
        .hold_body()
        .layer(Client::builder().timeout(Duration::from_secs(2)).build()?);
    let workers = Bulkhead::builder("workers").parallelism(WORKERS).waiting_room(CALLS).build()?;
    let mut calls = JoinSet::new();
    for (upstream, url) in urls.iter().enumerate().cycle().take(CALLS) {
        let (client, request, begun) = (client.clone(), Request::new(Method::GET, url.clone()), Instant::now());
        let work = workers.owned().execute(async move { (upstream, call(client, request).await, begun.elapsed()) });
        calls.spawn(work);
        sleep(Duration::from_millis(5)).await;
    }
    let mut tallies: Vec<Tally> = urls.iter().map(|_| Tally::default()).collect();
    while let Some(ended) = calls.join_next().await {
        let (upstream, ended, time) = ended??;
        let tally = &mut tallies[upstream];
        match ended {
            Ended::Answered => (tally.answered, tally.slowest) = (tally.answered + 1, tally.slowest.max(time)),
            Ended::RejectedHere => tally.rejected_here += 1,
            Ended::RejectedThere => tally.rejected_there += 1,
            Ended::Failed => tally.failed += 1,
        }
    }
    Ok(tallies)
}

async fn call<C>(client: C, request: Request) -> Ended
where
    C: Service<Request, Response = reqwest::Response, Error = Error>,
{
    match client.oneshot(request).await {
        Ok(response) if RemoteRejection::from_headers(response.headers()).is_some() => Ended::RejectedThere,
        Ok(response) => match response.error_for_status() {
            // The slot is held until the body has been read.
            Ok(response) => response.bytes().await.map_or(Ended::Failed, |_| Ended::Answered),
            Err(_) => Ended::Failed,
        },
        Err(error) if rejection(&*error).is_some() => Ended::RejectedHere,
        Err(_) => Ended::Failed,
    }
}
