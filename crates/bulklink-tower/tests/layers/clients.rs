//! Clients: responses of reqwest that hold slots, and rejections that an upstream has sent.

use std::time::Duration;

use bulklink_tokio::{Bulkhead, Partitions, Reason};
use bulklink_tower::http::{HeldSlot, RemoteRejection};
use bulklink_tower::{BulkheadLayer, rejection};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use proptest::prelude::{any, prop_assert, proptest};
use reqwest::{Client, Request, Response, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::{BoxError, Layer, Service, service_fn};

/// A server for one connection. It reads the head of a request, and then sends the parts of the
/// test, until the sender is dropped.
struct Upstream {
    url: Url,
    sender: Option<UnboundedSender<&'static str>>,
}

impl Upstream {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/orders?x=1", listener.local_addr().unwrap()).parse().unwrap();
        let (sender, mut answers) = unbounded_channel::<&'static str>();
        tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(connection.read_u8().await.unwrap());
            }
            while let Some(answer) = answers.recv().await {
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Upstream { url, sender: Some(sender) }
    }

    fn send(&self, text: &'static str) {
        self.sender.as_ref().unwrap().send(text).unwrap();
    }

    /// Closes the connection.
    fn end(&mut self) {
        self.sender = None;
    }

    fn request(&self) -> Request {
        Request::new(Method::GET, self.url.clone())
    }

    /// Sends a request to this server, in a slot.
    async fn call(&self, bulkhead: &Bulkhead) -> Response {
        let client = Client::builder().read_timeout(Duration::from_millis(500)).build().unwrap();
        BulkheadLayer::new(bulkhead).hold_body().layer(client).call(self.request()).await.unwrap()
    }
}

fn one_slot() -> Bulkhead {
    Bulkhead::builder("upstream").parallelism(1).build().unwrap()
}

fn in_flight(bulkhead: &Bulkhead) -> usize {
    bulkhead.status().in_flight
}

#[tokio::test]
async fn a_response_holds_its_slot_until_it_has_been_read_and_is_otherwise_as_it_was() {
    let (bulkhead, upstream) = (one_slot(), Upstream::start().await);
    upstream.send("HTTP/1.1 201 Created\r\ncontent-length: 14\r\netag: tag\r\n\r\n");
    let mut response = upstream.call(&bulkhead).await;
    assert_eq!(in_flight(&bulkhead), 1);
    assert_eq!((response.status(), response.content_length()), (StatusCode::CREATED, Some(14)));
    assert_eq!((response.url(), &response.headers()["etag"]), (&upstream.url, &HeaderValue::from_static("tag")));
    assert_eq!(response.remote_addr().map(|address| address.port()), upstream.url.port());
    assert!(response.extensions_mut().remove::<HeldSlot>().is_none(), "no upgrade");
    upstream.send("{\"answer\": 42}");
    let json: serde_json::Value = response.json().await.unwrap();
    assert_eq!((&json["answer"], in_flight(&bulkhead)), (&42.into(), 0));
}

#[tokio::test]
async fn chunks_and_streams_hold_the_slot_until_the_last_one() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let (bulkhead, upstream) = (one_slot(), Upstream::start().await);
    upstream.send(HEAD);
    upstream.send("3\r\none\r\n");
    let mut response = upstream.call(&bulkhead).await;
    assert_eq!(response.chunk().await.unwrap().unwrap(), "one");
    assert_eq!(in_flight(&bulkhead), 1);
    upstream.send("0\r\n\r\n");
    assert_eq!((response.chunk().await.unwrap(), in_flight(&bulkhead)), (None, 0));

    let upstream = Upstream::start().await;
    upstream.send(HEAD);
    upstream.send("3\r\none\r\n");
    let mut stream = Box::pin(upstream.call(&bulkhead).await.bytes_stream());
    assert_eq!(stream.next().await.unwrap().unwrap(), "one");
    assert_eq!(in_flight(&bulkhead), 1);
    upstream.send("3\r\ntwo\r\n0\r\n\r\n");
    let rest: Vec<Bytes> = stream.by_ref().map(Result::unwrap).collect().await;
    assert_eq!((rest, in_flight(&bulkhead)), (vec![Bytes::from("two")], 0));
}

#[tokio::test]
async fn a_response_that_is_dropped_or_empty_holds_no_slot() {
    let (bulkhead, upstream) = (one_slot(), Upstream::start().await);
    upstream.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    let response = upstream.call(&bulkhead).await;
    assert_eq!(in_flight(&bulkhead), 1);
    drop(response);
    assert_eq!(in_flight(&bulkhead), 0);

    let upstream = Upstream::start().await;
    upstream.send("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let response = upstream.call(&bulkhead).await;
    assert_eq!(in_flight(&bulkhead), 0);
    let error = response.error_for_status().unwrap_err();
    assert_eq!((error.status(), error.url()), (Some(StatusCode::NOT_FOUND), Some(&upstream.url)));
}

#[tokio::test]
async fn a_body_that_breaks_off_gives_its_slot_back_and_keeps_its_error() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab";
    let (bulkhead, mut upstream) = (one_slot(), Upstream::start().await);
    upstream.send(HEAD);
    let response = upstream.call(&bulkhead).await;
    upstream.end();
    let error = response.bytes().await.unwrap_err();
    assert!(error.is_decode() && !error.is_timeout(), "{error:?}");
    assert_eq!((error.url(), in_flight(&bulkhead)), (Some(&upstream.url), 0));

    let upstream = Upstream::start().await;
    upstream.send(HEAD);
    let error = upstream.call(&bulkhead).await.text().await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(in_flight(&bulkhead), 0);
}

#[tokio::test]
async fn an_upstream_that_cannot_be_reached_gives_its_slot_back() {
    let bulkhead = one_slot();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let request = Request::new(Method::GET, format!("http://{closed}/").parse().unwrap());
    let mut client = BulkheadLayer::new(&bulkhead).hold_body().layer(Client::new());
    let error: BoxError = client.call(request).await.unwrap_err();
    assert!(error.downcast_ref::<reqwest::Error>().unwrap().is_connect(), "{error:?}");
    assert!(rejection(&*error).is_none());
    assert_eq!(in_flight(&bulkhead), 0);
}

#[tokio::test]
async fn each_host_has_its_own_slots() {
    let hosts: Partitions<String> = Partitions::builder("hosts").parallelism(1).max_partitions(10).build().unwrap();
    let layer = BulkheadLayer::keyed(&hosts, |request: &Request| request.url().host_str().unwrap_or("")).hold_body();
    let mut client = layer.layer(Client::new());
    let (slow, other) = (Upstream::start().await, Upstream::start().await);
    slow.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n");
    let unread = client.call(slow.request()).await.unwrap();
    let error: BoxError = client.call(slow.request()).await.unwrap_err();
    assert_eq!(rejection(&*error).unwrap().reason(), Reason::Saturated);
    other.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone");
    let mut request = other.request();
    request.url_mut().set_host(Some("localhost")).unwrap();
    assert_eq!(client.call(request).await.unwrap().text().await.unwrap(), "done");
    drop(unread);
    assert_eq!(hosts.status().active_partitions, 0);
}

#[tokio::test]
async fn a_connection_that_is_upgraded_holds_the_slot_that_its_response_carries() {
    let (bulkhead, upstream) = (one_slot(), Upstream::start().await);
    upstream.send("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
    let mut request = upstream.request();
    request.headers_mut().insert("connection", HeaderValue::from_static("upgrade"));
    request.headers_mut().insert("upgrade", HeaderValue::from_static("echo"));
    let outer = one_slot();
    let client = BulkheadLayer::new(&bulkhead).hold_body().layer(Client::new());
    let mut client = BulkheadLayer::new(&outer).hold_body().layer(client);
    let mut response = client.call(request).await.unwrap();
    let held = response.extensions_mut().remove::<HeldSlot>().unwrap();
    let mut connection = response.upgrade().await.unwrap();
    assert_eq!((in_flight(&bulkhead), in_flight(&outer)), (1, 1));
    upstream.send("hi");
    let mut greeting = [0; 2];
    connection.read_exact(&mut greeting).await.unwrap();
    assert_eq!(&greeting, b"hi");
    drop((connection, held));
    assert_eq!((in_flight(&bulkhead), in_flight(&outer)), (0, 0));
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |&(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    pairs.iter().map(pair).collect()
}

#[test]
fn a_rejection_is_told_from_a_failure_by_its_header() {
    assert_eq!(RemoteRejection::from_headers(&headers(&[("retry-after", "3")])), None);
    let found = |pairs| RemoteRejection::from_headers(&headers(pairs)).unwrap();
    let saturated = found(&[("bulklink-rejected", "saturated")]);
    assert_eq!((saturated.reason(), saturated.retry_after()), (Some(Reason::Saturated), None));
    let newer = found(&[("bulklink-rejected", "out_of_luck"), ("retry-after", "3")]);
    assert_eq!((newer.reason(), newer.reason_text()), (None, "out_of_luck"));
    assert_eq!(newer.to_string(), "rejected by the upstream: out_of_luck, which asks to wait for 3s");
    for reason in ["saturated", "expired", "closed", "uncollected", "invalid_cost", "partition_limit", "invalid_limits"]
    {
        let named = RemoteRejection::from_headers(&headers(&[("bulklink-rejected", reason)])).unwrap();
        assert_eq!(named.reason().map(Reason::as_str), Some(reason));
    }
}

#[test]
fn the_most_precise_time_to_retry_after_is_found() {
    let found = |pairs: &[(&'static str, &'static str)]| {
        let pairs = [&[("bulklink-rejected", "saturated")], pairs].concat();
        RemoteRejection::from_headers(&headers(&pairs)).unwrap().retry_after()
    };
    let (seconds, millis, grpc) = (("retry-after", "3"), ("retry-after-ms", "2500"), ("grpc-retry-pushback-ms", "700"));
    assert_eq!(found(&[seconds, millis]), Some(Duration::from_millis(2500)));
    assert_eq!(found(&[seconds]), Some(Duration::from_secs(3)));
    assert_eq!(found(&[grpc]), Some(Duration::from_millis(700)));
    assert_eq!(found(&[seconds, ("retry-after-ms", "soon")]), Some(Duration::from_secs(3)));
    for invalid in ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "+1", "1.5", "", "18446744073709551616"] {
        assert_eq!(found(&[("retry-after", invalid)]), None, "{invalid}");
    }
    assert_eq!(found(&[("grpc-retry-pushback-ms", "-1")]), None, "do not retry");
}

#[tokio::test]
async fn the_rejection_of_a_server_is_recognized_by_its_client() {
    use std::convert::Infallible;
    let bulkhead = one_slot();
    let _running = bulkhead.try_slot().unwrap();
    let never = service_fn(|_: http::Request<()>| async { Ok::<_, Infallible>(http::Response::new(String::new())) });
    let response = BulkheadLayer::new(&bulkhead).respond().layer(never).call(http::Request::new(())).await.unwrap();
    let rejection = RemoteRejection::from_headers(response.headers()).unwrap();
    assert_eq!(rejection.reason(), Some(Reason::Saturated));
}

proptest! {
    #[test]
    fn whatever_an_upstream_sends_nothing_panics(reason in any::<Vec<u8>>(), time in any::<Vec<u8>>()) {
        let mut headers = HeaderMap::new();
        for (name, value) in [("bulklink-rejected", &reason), ("retry-after", &time), ("retry-after-ms", &time)] {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.insert(name, value);
            }
        }
        if let Some(rejection) = RemoteRejection::from_headers(&headers) {
            prop_assert!(rejection.reason_text().is_ascii());
        }
    }
}
