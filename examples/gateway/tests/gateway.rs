//! Tests the gateway and a model over HTTP on the loopback.

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulklink_tokio::partitions::{Share, SharedStatus};
use bulklink_tokio::{Bulkhead, Partitions};
use model_gateway::{gateway, upstream::upstream};
use reqwest::Response;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};

/// Longer than anything takes; a test that fails ends after this.
const PATIENCE: Duration = Duration::from_secs(8);

/// More than the tests ask for, but for the one of budgets.
const PER_MINUTE: NonZeroU32 = NonZeroU32::new(1_000).unwrap();

/// An answer with one token.
const ONE: &str = "data: 1\n\ndata: [DONE]\n\n";

/// An answer without a token and without an end.
const SILENT: &str = "0+";

struct Gateway {
    model: Bulkhead,
    tenants: Partitions<String>,
    url: String,
}

impl Gateway {
    /// Starts a model, and a gateway with 100 tokens, of which a tenant may have 60; two wait.
    async fn start() -> Self {
        let serve = async |router| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            tokio::spawn(async { axum::serve(listener, router).await });
            url
        };
        let model = serve(upstream(Duration::from_millis(10))).await;
        let url = model;
        let model = Bulkhead::builder("model").parallelism(20).waiting_room(1).build().unwrap();
        let tenants = Partitions::builder("tenants").max_partitions(10).shared_capacity(100);
        let tenants = tenants.shared_waiting_room(2).capacity(60).build().unwrap();
        let url = serve(gateway(&url, &model, &tenants, PER_MINUTE).unwrap()).await;
        Gateway { model, tenants, url }
    }

    /// Sends a prompt, and returns the answer when its stream has begun.
    async fn ask(&self, prompt: &str, max_tokens: usize, headers: &[(&str, &str)]) -> Response {
        self.ask_at("/v1/messages", prompt, max_tokens, headers).await
    }

    async fn ask_at(&self, path: &str, prompt: &str, max_tokens: usize, headers: &[(&str, &str)]) -> Response {
        let body = format!(r#"{{ "prompt": "{prompt}", "max_tokens": {max_tokens} }}"#);
        let request = reqwest::Client::new().post(format!("{}{path}", self.url)).body(body);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        timeout(PATIENCE, request.send()).await.expect("an answer").unwrap()
    }

    /// Waits until so many tokens are in use.
    async fn uses(&self, tokens: usize) {
        let reached = timeout(PATIENCE, async {
            while self.shared().in_use != tokens || self.tenants.handle().sums().in_use != tokens {
                sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(reached.await.is_ok(), "{tokens} tokens, not {}", self.shared().in_use);
    }

    /// Waits until so many calls wait.
    async fn keeps(&self, waiting: usize) {
        let reached = timeout(PATIENCE, async {
            while self.shared().waiting != waiting {
                sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(reached.await.is_ok(), "{waiting} calls, not {}", self.shared().waiting);
    }

    fn shared(&self) -> SharedStatus {
        self.tenants.status().shared.expect("they share the tokens")
    }

    /// Has two tenants use all tokens.
    async fn fill(&self) -> (Response, Response) {
        let ann = self.ask(SILENT, 60, &[("x-tenant", "ann")]).await;
        (ann, self.ask(SILENT, 40, &[("x-tenant", "bob")]).await)
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
    let mut answer = gateway.ask("5", 40, &[]).await;
    assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"] == "text/event-stream"), (200, true));
    assert_eq!(&*answer.chunk().await.unwrap().unwrap(), b"data: 1\n\n");
    assert!(answer.text().await.unwrap().ends_with("data: 5\n\ndata: [DONE]\n\n"));
    gateway.uses(0).await;
}

#[tokio::test]
async fn each_token_that_comes_makes_room_for_one_of_another_answer() {
    let gateway = Gateway::start().await;
    let _answer = gateway.ask("5+", 40, &[]).await;
    gateway.uses(35).await;
    let longer = gateway.ask("9+", 3, &[]).await;
    gateway.uses(36).await;
    drop(longer);
    gateway.uses(35).await;
}

#[tokio::test]
async fn a_model_that_is_busy_gets_no_request_for_as_long_as_it_asks() {
    let gateway = Gateway::start().await;
    let busy = gateway.ask("busy", 10, &[]).await;
    assert_eq!((busy.status().as_u16(), &busy.headers()["retry-after"] == "1"), (503, true));
    let begun = Instant::now();
    assert_eq!(gateway.model.status().restriction.expect("it is paused").by, "retry-after");
    let waits = gateway.ask("1", 10, &[]).await;
    assert_eq!(waits.status(), 200);
    assert!(begun.elapsed() > Duration::from_millis(700), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_tenant_that_has_used_up_its_minute_is_rejected_before_it_takes_a_place() {
    let gateway = Gateway::start().await;
    for _ in 0..20 {
        assert_eq!(gateway.ask("0", 50, &[("x-tenant", "ann")]).await.status(), 200);
    }
    let beyond = gateway.ask("0", 50, &[("x-tenant", "ann")]).await;
    assert_eq!(beyond.status(), 429);
    assert!(!beyond.headers().contains_key("bulklink-rejected"));
    let seconds: u32 = beyond.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=4).contains(&seconds), "{seconds}");
    assert_eq!(gateway.ask("0", 50, &[("x-tenant", "bob")]).await.status(), 200);
    assert_eq!(gateway.ask("0", 1_001, &[("x-tenant", "bob")]).await.status(), 413);
}

#[tokio::test]
async fn a_body_that_is_no_json_is_refused_and_metrics_count_units() {
    let gateway = Gateway::start().await;
    let client = reqwest::Client::new();
    let url = format!("{}/v1/messages", gateway.url);
    assert_eq!(client.post(url).body("a poem").send().await.unwrap().status(), 400);
    let _running = gateway.ask(SILENT, 50, &[]).await;
    gateway.uses(50).await;
    let metrics = client.get(format!("{}/metrics", gateway.url)).send().await.unwrap().text().await.unwrap();
    let in_use = metrics.lines().find(|line| line.starts_with("bulklink_in_use{") && line.contains("tenants"));
    assert!(in_use.expect("it is exported").ends_with(" 50"), "{in_use:?}");
}

/// The status of a rejection, and the limit that it names.
fn limit(response: &Response) -> (u16, &str) {
    (response.status().as_u16(), response.headers()["x-limit"].to_str().unwrap())
}

#[tokio::test]
async fn a_tenant_beyond_its_ceiling_is_told_so_and_another_is_served() {
    let gateway = Gateway::start().await;
    gateway.tenants.set_share("ann", Share::new().waiting_room(0)).unwrap();
    let _running = gateway.ask(SILENT, 50, &[("x-tenant", "ann")]).await;
    let beyond = gateway.ask("1", 11, &[("x-tenant", "ann")]).await;
    assert_eq!(limit(&beyond), (429, "tenant"));
    assert_eq!(label(&beyond.text().await.unwrap()), "tenants");
    let small = gateway.ask("1", 10, &[("x-tenant", "ann")]).await;
    assert_eq!(small.text().await.unwrap(), ONE);
    let bob = gateway.ask("1", 50, &[("x-tenant", "bob")]).await;
    assert_eq!(bob.text().await.unwrap(), ONE);
    let large = gateway.ask("1", 61, &[("x-tenant", "bob")]).await;
    assert_eq!(large.status(), 413, "more than a tenant can ever have");
}

#[tokio::test]
async fn a_tenant_that_has_little_goes_before_one_that_came_earlier() {
    let gateway = Gateway::start().await;
    let _ann = gateway.ask(SILENT, 50, &[("x-tenant", "ann")]).await;
    let [bob, rest] = [20, 30].map(|tokens| gateway.ask(SILENT, tokens, &[("x-tenant", "bob")]));
    let (bob, rest) = (bob.await, rest.await);
    let more = gateway.ask(SILENT, 10, &[("x-tenant", "ann")]);
    let cid = async {
        gateway.keeps(1).await;
        let cid = gateway.ask(SILENT, 15, &[("x-tenant", "cid")]).await;
        assert_eq!((cid.status().as_u16(), gateway.shared().waiting), (200, 1));
        drop((cid, rest));
    };
    let end = async {
        gateway.keeps(2).await;
        drop(bob);
    };
    let (more, (), ()) = tokio::join!(more, cid, end);
    assert_eq!(more.status(), 200);
}

#[tokio::test]
async fn a_tenant_within_its_floor_goes_before_all_others() {
    let gateway = Gateway::start().await;
    gateway.tenants.set_share("pia", Share::new().floor(30)).unwrap();
    let (ann, bob) = gateway.fill().await;
    let cid = gateway.ask(SILENT, 30, &[("x-tenant", "cid")]);
    let pia = async {
        gateway.keeps(1).await;
        let pia = gateway.ask(SILENT, 30, &[("x-tenant", "pia")]).await;
        assert_eq!((pia.status().as_u16(), gateway.shared().waiting), (200, 1));
        drop((pia, ann));
    };
    let end = async {
        gateway.keeps(2).await;
        drop(bob);
    };
    let (cid, (), ()) = tokio::join!(cid, pia, end);
    assert_eq!(cid.status(), 200);
}

#[tokio::test]
async fn a_batch_waits_while_users_of_any_tenant_do() {
    let gateway = Gateway::start().await;
    let (ann, _bob) = gateway.fill().await;
    let batch = gateway.ask_at("/v1/batches", SILENT, 40, &[("x-tenant", "cid")]);
    let user = async {
        gateway.keeps(1).await;
        let user = gateway.ask(SILENT, 40, &[("x-tenant", "dan")]).await;
        assert_eq!((user.status().as_u16(), gateway.shared().waiting), (200, 1));
        drop(user);
    };
    let end = async {
        gateway.keeps(2).await;
        drop(ann);
    };
    let (batch, (), ()) = tokio::join!(batch, user, end);
    assert_eq!(batch.status(), 200);
}

#[tokio::test]
async fn a_tenant_that_fills_the_room_makes_place_for_another() {
    let gateway = Gateway::start().await;
    let (_ann, bob) = gateway.fill().await;
    let waits = gateway.ask("1", 10, &[("x-tenant", "bob")]);
    let displaced = async {
        gateway.keeps(1).await;
        gateway.ask("1", 10, &[("x-tenant", "bob")]).await
    };
    let cid = async {
        gateway.keeps(2).await;
        gateway.ask("1", 10, &[("x-tenant", "cid")]).await
    };
    let others = async {
        while gateway.shared().displaced == 0 {
            sleep(Duration::from_millis(2)).await;
        }
        let dan = gateway.ask("1", 10, &[("x-tenant", "dan")]).await;
        assert_eq!(limit(&dan), (503, "all"), "no tenant has two places");
        let health = reqwest::get(format!("{}/health", gateway.url)).await.unwrap();
        assert_eq!(health.status(), 200);
        drop(bob);
    };
    let (waits, displaced, cid, ()) = tokio::join!(waits, displaced, cid, others);
    assert_eq!(limit(&displaced), (429, "all"));
    assert_eq!(&displaced.headers()["bulklink-rejected"], "displaced");
    assert_eq!((waits.status().as_u16(), cid.status().as_u16()), (200, 200));
}

#[tokio::test]
async fn a_deadline_ends_the_wait_and_the_stream() {
    let gateway = Gateway::start().await;
    let deadline = unix_millis_in(Duration::from_millis(400));
    let begun = Instant::now();
    let late = gateway.ask(SILENT, 60, &[("x-deadline", &deadline)]).await;
    assert_eq!(late.status(), 200);
    let waits = unix_millis_in(Duration::from_millis(200));
    let waits = gateway.ask("1", 50, &[("x-deadline", &waits), ("x-tenant", "bob")]).await;
    assert_eq!(waits.status(), 504);
    let rest = timeout(PATIENCE, late.text()).await.expect("an end");
    assert!(rest.is_err(), "it is cut off, and not complete");
    assert!(begun.elapsed() < Duration::from_secs(4));
    gateway.uses(0).await;
    assert_eq!(gateway.ask("1", 9, &[("x-deadline", "1")]).await.status(), 504, "it has passed long ago");
}

#[tokio::test]
async fn a_client_that_vanishes_in_mid_stream_frees_its_tokens() {
    let gateway = Gateway::start().await;
    let mut answer = gateway.ask("1+", 60, &[]).await;
    answer.chunk().await.unwrap();
    gateway.uses(59).await;
    drop(answer);
    gateway.uses(0).await;
}

#[tokio::test]
async fn an_upstream_that_dies_in_mid_stream_frees_the_tokens_and_shows() {
    let gateway = Gateway::start().await;
    let mut answer = gateway.ask("die", 60, &[]).await;
    for number in 1..=3 {
        assert_eq!(&*answer.chunk().await.unwrap().unwrap(), format!("data: {number}\n\n").as_bytes());
    }
    assert!(answer.chunk().await.is_err());
    gateway.uses(0).await;
}
