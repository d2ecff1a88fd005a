//! Tests the gateway and a model over HTTP on the loopback.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulklink_tokio::{Bulkhead, Partitions};
use gateway::{gateway, upstream::upstream};
use reqwest::Response;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};

/// Longer than anything takes; a test that fails ends after this.
const PATIENCE: Duration = Duration::from_secs(8);

/// More tokens than a test waits for.
const ENDLESS: &str = "1000000";

struct Gateway {
    tokens: Bulkhead,
    tenants: Partitions<String>,
    url: String,
}

impl Gateway {
    /// Starts a model, and a gateway with 100 tokens, of which a tenant may have 60; calls for 50
    /// tokens wait.
    async fn start() -> Self {
        let serve = async |router| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            tokio::spawn(async { axum::serve(listener, router).await });
            url
        };
        let model = serve(upstream(Duration::from_millis(10))).await;
        let tokens = Bulkhead::builder("tokens").capacity(100).waiting_room(10).waiting_room_units(50);
        let tenants = Partitions::builder("tenants").max_partitions(10).capacity(60);
        let (tokens, tenants) = (tokens.build().unwrap(), tenants.build().unwrap());
        let url = serve(gateway(&model, &tokens, &tenants).unwrap()).await;
        Gateway { tokens, tenants, url }
    }

    /// Sends a prompt, and returns the answer when its stream has begun.
    async fn ask(&self, prompt: &str, headers: &[(&str, &str)]) -> Response {
        let request = reqwest::Client::new().post(format!("{}/v1/messages", self.url)).body(prompt.to_string());
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        timeout(PATIENCE, request.send()).await.expect("an answer").unwrap()
    }

    /// Waits until so many tokens are in use.
    async fn uses(&self, tokens: usize) {
        let reached = timeout(PATIENCE, async {
            while self.tokens.status().in_use != tokens || self.tenants.handle().sums().in_use != tokens {
                sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(reached.await.is_ok(), "{tokens} tokens, not {}", self.tokens.status().in_use);
    }
}

fn label(response: &str) -> &str {
    response.split("\"label\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a label")
}

fn unix_millis_in(time: Duration) -> String {
    (SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + time).as_millis().to_string()
}

#[tokio::test]
async fn a_stream_holds_its_tokens_until_it_has_ended() {
    let gateway = Gateway::start().await;
    let mut answer = gateway.ask("5", &[("x-max-tokens", "40")]).await;
    assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"] == "text/event-stream"), (200, true));
    assert_eq!(&*answer.chunk().await.unwrap().unwrap(), b"data: 1\n\n");
    gateway.uses(40).await;
    assert!(answer.text().await.unwrap().ends_with("data: 5\n\n"));
    gateway.uses(0).await;
}

#[tokio::test]
async fn a_tenant_beyond_its_share_is_rejected_and_another_is_not() {
    let gateway = Gateway::start().await;
    let _running = gateway.ask(ENDLESS, &[("x-tenant", "ann"), ("x-max-tokens", "50")]).await;
    let ann = gateway.ask("1", &[("x-tenant", "ann"), ("x-max-tokens", "11")]).await;
    assert_eq!((ann.status().as_u16(), &ann.headers()["bulklink-rejected"] == "saturated"), (429, true));
    assert_eq!(label(&ann.text().await.unwrap()), "tenants");
    let small = gateway.ask("1", &[("x-tenant", "ann"), ("x-max-tokens", "10")]).await;
    assert_eq!(small.text().await.unwrap(), "data: 1\n\n");
    let bob = gateway.ask("1", &[("x-tenant", "bob"), ("x-max-tokens", "50")]).await;
    assert_eq!(bob.text().await.unwrap(), "data: 1\n\n");
    let large = gateway.ask("1", &[("x-tenant", "bob"), ("x-max-tokens", "61")]).await;
    assert_eq!(large.status(), 413, "more than a tenant can ever have");
}

#[tokio::test]
async fn the_calls_that_wait_ask_for_a_bounded_number_of_tokens() {
    let gateway = Gateway::start().await;
    let mut running = Vec::new();
    for tenant in ["ann", "bob"] {
        running.push(gateway.ask(ENDLESS, &[("x-tenant", tenant), ("x-max-tokens", "50")]).await);
    }
    let waits = async { gateway.ask("1", &[("x-tenant", "cid"), ("x-max-tokens", "30")]).await };
    let others = async {
        while gateway.tokens.status().waiting == 0 {
            sleep(Duration::from_millis(2)).await;
        }
        let beyond = gateway.ask("1", &[("x-tenant", "dan"), ("x-max-tokens", "30")]).await;
        assert_eq!((beyond.status().as_u16(), label(&beyond.text().await.unwrap())), (503, "tokens"));
        let health = reqwest::get(format!("{}/health", gateway.url)).await.unwrap();
        assert_eq!(health.status(), 200);
        running.clear();
    };
    let (admitted, ()) = tokio::join!(waits, others);
    assert_eq!(admitted.text().await.unwrap(), "data: 1\n\n");
    gateway.uses(0).await;
}

#[tokio::test]
async fn a_deadline_ends_the_wait_and_the_stream() {
    let gateway = Gateway::start().await;
    let deadline = unix_millis_in(Duration::from_millis(400));
    let begun = Instant::now();
    let late = gateway.ask(ENDLESS, &[("x-deadline", &deadline), ("x-max-tokens", "60")]).await;
    assert_eq!(late.status(), 200);
    let waits = unix_millis_in(Duration::from_millis(200));
    let waits = gateway.ask("1", &[("x-deadline", &waits), ("x-max-tokens", "50"), ("x-tenant", "bob")]).await;
    assert_eq!(waits.status(), 504);
    let rest = timeout(PATIENCE, late.text()).await.expect("an end");
    assert!(rest.is_err(), "it is cut off, and not complete");
    assert!(begun.elapsed() < Duration::from_secs(4));
    gateway.uses(0).await;
    assert_eq!(
        gateway.ask("1", &[("x-deadline", "1"), ("x-max-tokens", "9")]).await.status(),
        504,
        "it has passed long ago"
    );
}

#[tokio::test]
async fn a_client_that_vanishes_in_mid_stream_frees_its_tokens() {
    let gateway = Gateway::start().await;
    let mut answer = gateway.ask(ENDLESS, &[("x-max-tokens", "60")]).await;
    answer.chunk().await.unwrap();
    gateway.uses(60).await;
    drop(answer);
    gateway.uses(0).await;
}

#[tokio::test]
async fn an_upstream_that_dies_in_mid_stream_frees_the_tokens_and_shows() {
    let gateway = Gateway::start().await;
    let mut answer = gateway.ask("a poem", &[("x-max-tokens", "60")]).await;
    for number in 1..=3 {
        assert_eq!(&*answer.chunk().await.unwrap().unwrap(), format!("data: {number}\n\n").as_bytes());
    }
    assert!(answer.chunk().await.is_err());
    gateway.uses(0).await;
}
