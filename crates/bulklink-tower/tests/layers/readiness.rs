//! A route that answers whether the service is ready, on a router of axum.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::get;
use bulklink_tokio::{Bulkhead, Readiness};
use bulklink_tower::{BulkheadLayer, readiness_route};
use futures_util::FutureExt;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::time::advance;
use tower::ServiceExt;

const GRACE: Duration = Duration::from_secs(10);

fn bulkhead(label: &str) -> Bulkhead {
    Bulkhead::builder(label).parallelism(1).waiting_room(5).build().unwrap()
}

fn watching(bulkheads: &[&Bulkhead]) -> Readiness {
    let readiness = Readiness::new(GRACE).unwrap();
    for bulkhead in bulkheads {
        readiness.watch(bulkhead);
    }
    readiness
}

fn app(readiness: &Readiness) -> Router {
    Router::new().route("/ready", readiness_route(readiness))
}

async fn ask(app: &Router, method: Method) -> (StatusCode, String, String) {
    let request = Request::builder().method(method).uri("/ready").body(Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        assert_eq!(response.headers()["cache-control"], "no-store");
    }
    let content_type = response.headers().get("content-type").map_or("", |value| value.to_str().unwrap());
    let (status, content_type) = (response.status(), content_type.to_owned());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, content_type, String::from_utf8(body.to_vec()).unwrap())
}

async fn status(app: &Router) -> StatusCode {
    ask(app, Method::GET).await.0
}

#[tokio::test(start_paused = true)]
async fn the_route_answers_ready_or_names_what_is_not() {
    let (workers, memory, idle) = (bulkhead("workers"), bulkhead("the \"memory\""), bulkhead("idle"));
    let readiness = watching(&[&workers, &idle, &memory]);
    let app = app(&readiness);
    let (status, content_type, body) = ask(&app, Method::GET).await;
    assert_eq!((status, &*content_type, &*body), (StatusCode::OK, "text/plain; charset=utf-8", "ready"));

    let running = (workers.try_slot().unwrap(), memory.try_slot().unwrap());
    let mut waiting = (Box::pin(workers.slot()), Box::pin(memory.slot()));
    assert!(waiting.0.as_mut().now_or_never().is_none() && waiting.1.as_mut().now_or_never().is_none());
    advance(GRACE / 2).await;
    assert_eq!(ask(&app, Method::GET).await.0, StatusCode::OK, "not for long");
    advance(GRACE / 2).await;
    let (status, content_type, body) = ask(&app, Method::GET).await;
    assert_eq!((status, &*content_type), (StatusCode::SERVICE_UNAVAILABLE, "application/problem+json"));
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    let expected = json!({
        "title": "Not ready",
        "status": 503,
        "detail": "The service should get no more requests for now.",
        "draining": false,
        "labels": ["workers", "the \"memory\""],
    });
    assert_eq!(problem, expected);

    drop((waiting, running));
    advance(GRACE / 4).await;
    assert_eq!(ask(&app, Method::GET).await.0, StatusCode::OK);
}

#[tokio::test]
async fn the_route_says_of_a_closed_bulkhead_that_it_is_not_ready() {
    let workers = bulkhead("workers");
    let readiness = watching(&[&workers]);
    let app = app(&readiness);
    workers.close();
    let (status_now, _, body) = ask(&app, Method::GET).await;
    assert_eq!(status_now, StatusCode::SERVICE_UNAVAILABLE);
    assert!(body.contains("workers"), "{body}");
    readiness.unwatch(&workers);
    assert_eq!(status(&app).await, StatusCode::OK, "it shares what it watches with the readiness");
}

#[tokio::test]
async fn the_route_says_that_a_service_is_draining_while_it_still_serves() {
    let workers = bulkhead("workers");
    let readiness = watching(&[&workers]);
    let app = app(&readiness);
    readiness.set_draining();
    let (status, content_type, body) = ask(&app, Method::GET).await;
    assert_eq!((status, &*content_type), (StatusCode::SERVICE_UNAVAILABLE, "application/problem+json"));
    let expected = json!({
        "title": "Draining",
        "status": 503,
        "detail": "The service is draining, and should get no more requests.",
        "draining": true,
        "labels": [],
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&body).unwrap(), expected);
    assert!(workers.try_slot().is_ok());
    workers.close();
    let problem: serde_json::Value = serde_json::from_str(&ask(&app, Method::GET).await.2).unwrap();
    assert_eq!((&problem["draining"], &problem["labels"]), (&json!(true), &json!(["workers"])));
}

#[tokio::test]
async fn a_probe_may_ask_for_the_head_alone_and_nothing_can_be_sent() {
    let workers = bulkhead("workers");
    let app = app(&watching(&[&workers]));
    assert_eq!(ask(&app, Method::HEAD).await, (StatusCode::OK, "text/plain; charset=utf-8".into(), String::new()));
    assert_eq!(ask(&app, Method::POST).await.0, StatusCode::METHOD_NOT_ALLOWED);
    workers.close();
    let (status, _, body) = ask(&app, Method::HEAD).await;
    assert_eq!((status, &*body), (StatusCode::SERVICE_UNAVAILABLE, ""));
}

#[tokio::test]
async fn the_route_needs_no_slot_and_stands_in_a_router_with_a_state() {
    let workers = bulkhead("workers");
    let _running = workers.try_slot().unwrap();
    let app: Router = Router::new()
        .route("/digest", get(async |State(digest): State<u64>| digest.to_string()))
        .route_layer(BulkheadLayer::new(&workers).respond())
        .route("/ready", readiness_route(&watching(&[&workers])))
        .with_state(42);
    assert_eq!(status(&app).await, StatusCode::OK);
    assert_eq!(workers.status().totals.admitted, 1);
}
