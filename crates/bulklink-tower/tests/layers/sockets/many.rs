//! Thousands of requests, of which a third is cancelled at a random moment.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use bulklink_tokio::Bulkhead;
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::TimeoutHeader;
use futures_util::stream::{self, StreamExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::server::{self, Server};

const REQUESTS: usize = 10_000;
const SLOTS: usize = 16;

/// Takes up to two milliseconds for the head, and as long for the body.
async fn handler() -> Body {
    sleep(Duration::from_micros(fastrand::u64(..2000))).await;
    let chunks = stream::iter(0..2).then(async |_| {
        sleep(Duration::from_micros(fastrand::u64(..1000))).await;
        Ok::<_, Infallible>(Bytes::from_static(b"some"))
    });
    Body::from_stream(chunks)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_a_third_of_them_cancelled_leave_nothing_behind() {
    let limit = Duration::from_millis(4);
    let calls = Bulkhead::builder("calls").parallelism(SLOTS).waiting_room(24).wait_limit(limit).build().unwrap();
    let timeout_header = TimeoutHeader::millis("x-timeout-ms").unwrap();
    let layer = BulkheadLayer::new(&calls).deadline_from(&timeout_header).cancel_at_deadline().respond();
    let server = Server::start(Router::new().route("/", get(handler)).layer(layer)).await;

    // Streams of HTTP/2 are cancelled one by one; on HTTP/1, a connection is.
    let clients = [reqwest::Client::builder().http2_prior_knowledge().build().unwrap(), reqwest::Client::new()];
    let (mut running, mut answered, mut rejected) = (JoinSet::new(), 0, 0);
    let mut count = |status: Option<u16>| match status {
        Some(200) => answered += 1,
        Some(503 | 504) => rejected += 1,
        Some(status) => panic!("status {status}"),
        None => {}
    };
    for number in 0..REQUESTS {
        let mut request = clients[usize::from(number % 8 == 0)].get(server.url("/"));
        if number % 5 == 0 {
            request = request.header("x-timeout-ms", fastrand::u64(..6));
        }
        // A server of HTTP/2 that is slow to accept closes a connection on which many streams were
        // cancelled, to which the others of that connection are lost.
        let call = async {
            let answer = request.send().await.ok()?;
            let status = answer.status().as_u16();
            answer.bytes().await.ok()?;
            Some(status)
        };
        if number % 3 == 0 {
            let patience = Duration::from_micros(fastrand::u64(..5000));
            running.spawn(async move { timeout(patience, call).await.ok()? });
        } else {
            running.spawn(call);
        }
        // More than there are slots and places.
        while running.len() >= 80 {
            count(running.join_next().await.unwrap().unwrap());
        }
    }
    while let Some(status) = running.join_next().await {
        count(status.unwrap());
    }

    server::runs(&calls, 0).await;
    server::waits(&calls, 0).await;
    let slots: Vec<_> = (0..SLOTS).map(|_| calls.try_slot()).collect();
    assert!(slots.iter().all(Result::is_ok), "no slot is missing");
    drop(slots);
    let totals = server::add_up(&calls);
    let came = totals.admitted - SLOTS as u64 + totals.cancelled + totals.rejected();
    assert!(came <= REQUESTS as u64, "{totals:?}");
    assert!(answered > 500 && rejected > 500 && totals.cancelled > 50, "{answered} {rejected} {totals:?}");
    assert!((REQUESTS / 3..REQUESTS - 500).contains(&(answered + rejected)), "{answered} {rejected}");
}
