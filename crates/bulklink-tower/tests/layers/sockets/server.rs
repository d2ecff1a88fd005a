//! A server for the tests, and their waits.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use bulklink_tokio::{Bulkhead, Status, Totals};
use reqwest::Response;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// Longer than anything takes; a test that fails ends after this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) async fn start(app: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async { axum::serve(listener, app).await });
        Server { address }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> impl Future<Output = reqwest::Result<Response>> + Send + 'static {
        let request = reqwest::Client::new().get(self.url(path));
        async move { timeout(PATIENCE, request.send()).await.expect("an answer") }
    }
}

pub(crate) fn bulkhead(slots: usize, waiting_room: usize) -> Bulkhead {
    Bulkhead::builder("route").parallelism(slots).waiting_room(waiting_room).build().unwrap()
}

pub(crate) fn saturated(answer: Response) {
    assert_eq!((answer.status().as_u16(), &answer.headers()["bulklink-rejected"] == "saturated"), (503, true));
}

/// Waits until so many calls run.
pub(crate) async fn runs(bulkhead: &Bulkhead, calls: usize) {
    reaches(bulkhead, |status| status.in_flight == calls).await;
}

/// Waits until so many calls wait.
pub(crate) async fn waits(bulkhead: &Bulkhead, calls: usize) {
    reaches(bulkhead, |status| status.waiting == calls).await;
}

async fn reaches(bulkhead: &Bulkhead, is_reached: impl Fn(&Status) -> bool) {
    let reached = timeout(PATIENCE, async {
        while !is_reached(&bulkhead.status()) {
            sleep(Duration::from_millis(1)).await;
        }
    });
    assert!(reached.await.is_ok(), "{:?}", bulkhead.status());
}

/// Checks the identities of the counters, and returns the counters.
pub(crate) fn add_up(bulkhead: &Bulkhead) -> Totals {
    let status = bulkhead.status();
    let totals = status.totals;
    assert_eq!(totals.admitted, totals.finished + totals.abandoned + status.in_flight as u64);
    let settled = totals.admitted_from_queue + totals.cancelled + totals.expired + totals.closed_while_waiting;
    assert_eq!(totals.queued, settled + status.waiting as u64);
    let closed = totals.closed_before_queue + totals.closed_while_waiting;
    assert_eq!(totals.rejected(), totals.saturated + totals.expired + totals.expired_before_queue + closed);
    totals
}
