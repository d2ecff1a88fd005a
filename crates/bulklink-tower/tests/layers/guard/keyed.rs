//! The layer of guards by key.

use std::future::pending;
use std::io;
use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Partitions, Reason};
use bulklink_breaker::{Guards, OpenCircuit, Settings, TimedOut};
use bulklink_tower::{GuardLayer, KeyedGuards, rejection};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};

type ByHost = GuardLayer<KeyedGuards<Request<&'static str>, FakeRuntime>>;

fn executor() -> Executor {
    Executor::new(FakeClock::new())
}

/// Guards of one slot each, that open for 8 s at the first failure.
fn guards(executor: &Executor) -> Guards<String, FakeRuntime> {
    let partitions = Partitions::builder_on(executor.runtime(), "hosts").parallelism(1);
    let settings = Settings::consecutive(1).cool_down(Duration::from_secs(8));
    let builder = Guards::builder(&partitions.max_partitions(10).build().unwrap()).settings(settings);
    builder.run_limit(Duration::from_secs(2)).build().unwrap()
}

fn layer(guards: &Guards<String, FakeRuntime>) -> ByHost {
    GuardLayer::keyed(guards, |request: &Request<&'static str>| request.uri().host().unwrap_or_default())
}

fn to(host: &str, body: &'static str) -> Request<&'static str> {
    Request::builder().uri(format!("http://{host}/")).body(body).unwrap()
}

async fn serve(request: Request<&'static str>) -> Result<Response<Full<Bytes>>, io::Error> {
    match request.into_body() {
        "wait" => pending().await,
        "fail" => Err(io::Error::other("failed")),
        other => Ok(Response::new(other.into())),
    }
}

#[test]
fn each_key_has_its_slots_its_circuit_and_its_run_limit() {
    let mut executor = executor();
    let guards = guards(&executor);
    let service = layer(&guards).layer(service_fn(serve));
    let send = |host, body| service.clone().oneshot(to(host, body));
    let running = executor.spawn(send("a", "wait"));
    executor.run_until_idle();
    let full = executor.block_on(send("a", "hello")).unwrap_err();
    assert_eq!(rejection(&*full).unwrap().reason(), Reason::Saturated);
    executor.block_on(send("b", "hello")).unwrap();
    assert!(executor.block_on(send("b", "fail")).unwrap_err().is::<io::Error>());
    assert!(executor.block_on(send("b", "hello")).unwrap_err().is::<OpenCircuit>());
    executor.advance(Duration::from_secs(2));
    executor.run_until_idle();
    assert!(running.output().unwrap().unwrap_err().is::<TimedOut>());
    assert_eq!(guards.status().keys.unwrap().open, 2);
}

#[test]
fn rejections_can_be_answered_and_the_body_holds_slot_and_circuit() {
    let mut executor = executor();
    let guards = guards(&executor);
    let service = layer(&guards).respond().layer(service_fn(serve));
    let send = |host, body| service.clone().oneshot(to(host, body));
    let in_flight = || guards.partitions().partition("a").unwrap().status().in_flight;
    let response = executor.block_on(send("a", "hello")).unwrap();
    assert_eq!((in_flight(), guards.status().totals.successes), (1, 0));
    let full = executor.block_on(send("a", "hello")).unwrap();
    assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE);
    executor.block_on(response.into_body().collect()).unwrap();
    assert_eq!((in_flight(), guards.status().totals.successes), (0, 1));
    executor.block_on(send("a", "fail")).unwrap_err();
    let open = executor.block_on(send("a", "hello")).unwrap();
    let retry_after = open.headers().get(header::RETRY_AFTER).unwrap().to_str().unwrap();
    assert!((8..=16).contains(&retry_after.parse().unwrap()), "{retry_after}");
}

#[cfg(feature = "reqwest")]
#[tokio::test]
async fn a_host_that_is_down_does_not_stop_the_others() {
    use bulklink_tower::http::host;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    let [up, down] = [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
    let [up_at, down_at] = [&up, &down].map(|listener| listener.local_addr().unwrap());
    drop(down);
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = up.accept().await.unwrap();
            assert!(connection.read(&mut [0; 1024]).await.unwrap() > 0);
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nup").await.unwrap();
        }
    });
    let partitions = bulklink_tokio::Partitions::builder("hosts").parallelism(2).max_partitions(10).build().unwrap();
    let guards: Guards<String, _> = Guards::builder(&partitions).settings(Settings::consecutive(2)).build().unwrap();
    let client = GuardLayer::keyed(&guards, host).hold_body().layer(reqwest::Client::new());
    let get = |address| {
        let url = format!("http://{address}/").parse().unwrap();
        client.clone().oneshot(reqwest::Request::new(reqwest::Method::GET, url))
    };
    for _ in 0..2 {
        assert!(get(down_at).await.unwrap_err().is::<reqwest::Error>());
        assert_eq!(get(up_at).await.unwrap().text().await.unwrap(), "up");
    }
    assert!(get(down_at).await.unwrap_err().is::<OpenCircuit>());
    assert_eq!(get(up_at).await.unwrap().text().await.unwrap(), "up");
    assert_eq!(guards.status().totals.successes, 3);
}
