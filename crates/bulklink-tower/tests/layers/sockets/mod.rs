//! Layers on axum, over real sockets: clients that vanish, services that fail, and many requests.

mod many;
mod server;

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::WebSocketUpgrade;
use axum::handler::Handler;
use axum::routing::get;
use axum::{Extension, Router};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::HeldSlot;
use futures_util::stream::{self, StreamExt};
use server::{Server, bulkhead, saturated};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// A body that never ends.
fn endless() -> Body {
    let chunks = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b"more")));
    Body::from_stream(chunks.then(async |chunk| {
        sleep(Duration::from_millis(1)).await;
        chunk
    }))
}

/// Axum #2582: a limit that is put on a route, as the documentation shows it, limits nothing,
/// because each request gets a semaphore of its own.
#[tokio::test]
async fn axum_2582_a_layer_on_a_route_limits_it() {
    static PEAK: AtomicUsize = AtomicUsize::new(0);
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    async fn handler() {
        PEAK.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        sleep(Duration::from_millis(5)).await;
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
    let ways: [fn(BulkheadLayer<_, _, _>) -> Router; 4] = [
        |layer| Router::new().route("/", get(handler).layer(layer)),
        |layer| Router::new().route("/", get(handler.layer(layer))),
        |layer| Router::new().route("/", get(handler)).layer(layer),
        |layer| Router::new().route("/", get(handler)).route_layer(layer),
    ];
    for way in ways {
        PEAK.store(0, Ordering::SeqCst);
        let routes = bulkhead(5, 100);
        let server = Server::start(way(BulkheadLayer::new(&routes).respond())).await;
        let calls: Vec<_> = (0..30).map(|_| tokio::spawn(server.get("/"))).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap().status(), 200);
        }
        assert_eq!((PEAK.load(Ordering::SeqCst), routes.status().totals.admitted), (5, 30));
    }
}

#[tokio::test]
async fn a_layer_of_a_route_limits_no_other_and_health_answers_when_every_slot_is_taken() {
    let (orders, reports) = (bulkhead(1, 0), bulkhead(1, 0));
    let server = Server::start(
        Router::new()
            .route("/orders", get(async || endless()).layer(BulkheadLayer::new(&orders).respond()))
            .route("/reports", get(async || endless()).layer(BulkheadLayer::new(&reports).respond()))
            .route("/health", get(async || "ok")),
    )
    .await;
    let _order = server.get("/orders").await.unwrap();
    let _report = server.get("/reports").await.unwrap();
    for path in ["/orders", "/reports"] {
        saturated(server.get(path).await.unwrap());
    }
    assert_eq!(server.get("/health").await.unwrap().status(), 200);
}

/// Tower-http #447: the permit of tower's limit is released at the response's head, so streams are
/// not limited.
#[tokio::test]
async fn tower_http_447_a_stream_holds_its_slot_until_it_has_ended() {
    let streams = bulkhead(2, 0);
    let app = Router::new().route("/", get(async || endless())).layer(BulkheadLayer::new(&streams).respond());
    let server = Server::start(app).await;
    let mut first = server.get("/").await.unwrap();
    let _second = server.get("/").await.unwrap();
    first.chunk().await.unwrap();
    saturated(server.get("/").await.unwrap());
    drop(first);
    server::runs(&streams, 1).await;
    assert_eq!(server.get("/").await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_client_that_vanishes_before_the_head_or_while_it_waits_frees_its_slot_and_its_place() {
    let orders = bulkhead(1, 1);
    let app = Router::new().route("/", get(pending::<()>)).layer(BulkheadLayer::new(&orders).respond());
    let server = Server::start(app).await;
    let running = tokio::spawn(server.get("/"));
    server::runs(&orders, 1).await;
    let waiting = tokio::spawn(server.get("/"));
    server::waits(&orders, 1).await;
    waiting.abort();
    server::waits(&orders, 0).await;
    running.abort();
    server::runs(&orders, 0).await;
    let totals = server::add_up(&orders);
    assert_eq!((totals.admitted, totals.cancelled, totals.finished), (1, 1, 1));
}

#[tokio::test]
async fn a_client_that_vanishes_in_the_middle_of_the_body_frees_its_slot() {
    let exports = bulkhead(1, 0);
    let app = Router::new().route("/", get(async || endless())).layer(BulkheadLayer::new(&exports).respond());
    let server = Server::start(app).await;
    let mut answer = server.get("/").await.unwrap();
    answer.chunk().await.unwrap();
    assert_eq!(exports.status().in_flight, 1);
    drop(answer);
    server::runs(&exports, 0).await;
}

#[tokio::test]
async fn a_handler_that_panics_and_a_body_that_fails_free_their_slots() {
    async fn panicking() {
        // Not by `panic!`, whose message would be in the way.
        std::panic::resume_unwind(Box::new("a bug"));
    }
    async fn failing() -> Body {
        let chunks = [Ok(Bytes::from_static(b"some")), Err(std::io::Error::other("out of disk"))];
        // Time for the head to be sent.
        Body::from_stream(stream::iter(chunks).then(async |chunk| {
            sleep(Duration::from_millis(20)).await;
            chunk
        }))
    }
    let files = bulkhead(1, 0);
    let app = Router::new().route("/panic", get(panicking)).route("/fail", get(failing));
    let server = Server::start(app.layer(BulkheadLayer::new(&files).respond())).await;
    assert!(server.get("/panic").await.is_err(), "the connection ends");
    server::runs(&files, 0).await;
    assert!(server.get("/fail").await.unwrap().bytes().await.is_err());
    server::runs(&files, 0).await;
    assert_eq!(server::add_up(&files).finished, 2);
}

#[tokio::test]
async fn a_web_socket_holds_its_slot_until_it_is_closed() {
    async fn chat(upgrade: WebSocketUpgrade, Extension(held): Extension<HeldSlot>) -> axum::response::Response {
        upgrade.on_upgrade(async move |mut socket| {
            let _held = held;
            while let Some(Ok(_)) = socket.recv().await {}
        })
    }
    let sockets = bulkhead(1, 0);
    let app = Router::new().route("/", get(chat)).layer(BulkheadLayer::new(&sockets).respond());
    let server = Server::start(app).await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let handshake = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    socket.write_all(handshake.as_bytes()).await.unwrap();
    let mut answer = [0; 512];
    let length = socket.read(&mut answer).await.unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer[..length]));
    // Long enough for the response's body to be dropped.
    sleep(Duration::from_millis(50)).await;
    assert_eq!(sockets.status().in_flight, 1);
    saturated(server.get("/").await.unwrap());
    drop(socket);
    server::runs(&sockets, 0).await;
}

#[tokio::test]
async fn of_many_streams_on_one_connection_as_many_run_as_there_are_slots() {
    let streams = bulkhead(10, 0);
    let opened = Arc::new(AtomicUsize::new(0));
    let app = Router::new().route("/", get(async || endless())).layer(BulkheadLayer::new(&streams).respond());
    let server = Server::start(app).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let begin = |_| {
        let (request, opened) = (client.get(server.url("/")), Arc::clone(&opened));
        tokio::spawn(async move {
            let answer = request.send().await.unwrap();
            opened.fetch_add(usize::from(answer.status() == 200), Ordering::SeqCst);
            answer
        })
    };
    let calls: Vec<_> = (0..100).map(begin).collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!((opened.load(Ordering::SeqCst), streams.status().in_flight), (10, 10));
    assert_eq!(streams.status().totals.saturated, 90);
    drop(answers);
    server::runs(&streams, 0).await;
}
