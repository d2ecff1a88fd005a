//! Tests the service as a process, over HTTP on the loopback, and with a private Prometheus.

mod demonstration;
mod harness;
mod losing_nothing;
mod reloading;
mod scraped;

use std::time::Duration;

use harness::{Section, Service, Settings, rejected, roomy, slots};
use tokio::time::sleep;

/// More rounds of a digest than end in a lifetime.
const ENDLESS: &str = "/digest/18446744073709551615";
const MINUTE: Option<&str> = Some("1m");

#[tokio::test]
async fn a_burst_beyond_slots_and_waiting_room_is_rejected_with_a_problem() {
    let orders = Section { parallelism: 2, waiting_room: 1, wait_limit: MINUTE };
    let service = Service::start(Settings { orders, ..roomy() }).await;
    let admitted = [(); 3].map(|()| service.spawn("/orders/held", &[]));
    service.shows("waiting", "orders", 1).await;
    rejected(service.get("/orders/1", &[]).await, "orders", "saturated", 503).await;
    assert_eq!(service.get("/digest/1000", &[]).await.status(), 200, "another bulkhead");
    service.open();
    for call in admitted {
        let answer = call.await.unwrap();
        assert_eq!((answer.status().as_u16(), &*answer.text().await.unwrap()), (200, "order held"));
    }
    service.shows("in_flight", "orders", 0).await;
    service.shows("admitted_total path=\"direct\"", "orders", 2).await;
    service.shows("admitted_total path=\"queued\"", "orders", 1).await;
    service.shows("rejected_total reason=\"saturated\"", "orders", 1).await;
    service.shows("wait_seconds_count", "orders", 1).await;
    service.shows("admitted_total path=\"direct\"", "tenants", 5).await;
    service.logged("bulkhead rejected a call bulkhead=\"orders\" reason=\"saturated\"").await;
    service.logged("bulkhead.wait{bulkhead=\"orders\" cost=1 outcome=\"admitted\" waited_ms=").await;
}

#[tokio::test]
async fn a_tenant_at_its_limit_does_not_stop_another() {
    let service = Service::start(Settings { tenants: slots(1), ..roomy() }).await;
    let held = service.spawn("/orders/held", &[("x-tenant", "ann")]);
    service.shows("in_flight", "orders", 1).await;
    for path in ["/orders/1", "/digest/1", "/export/1"] {
        rejected(service.get(path, &[("x-tenant", "ann")]).await, "tenants", "saturated", 429).await;
        assert_eq!(service.get(path, &[("x-tenant", "bob")]).await.status(), 200, "{path}");
    }
    service.open();
    assert_eq!(held.await.unwrap().status(), 200);
    assert_eq!(service.get("/orders/1", &[("x-tenant", "ann")]).await.status(), 200);
}

#[tokio::test]
async fn a_call_with_a_timeout_gets_its_answer_in_time() {
    let orders = Section { parallelism: 1, waiting_room: 1, wait_limit: MINUTE };
    let service = Service::start(Settings { orders, ..roomy() }).await;
    let running = service.get("/orders/held", &[("x-timeout-ms", "400")]).await;
    assert_eq!(running.status(), 504);
    assert_eq!(running.headers()["content-type"], "application/problem+json");
    let held = service.spawn("/orders/held", &[]);
    service.shows("in_flight", "orders", 1).await;
    // Its bulkhead rejects it and the tenant's layer cancels it, at the same time.
    assert_eq!(service.get("/orders/1", &[("x-timeout-ms", "400")]).await.status(), 504);
    service.shows("waiting", "orders", 0).await;
    rejected(service.get("/orders/1", &[("x-timeout-ms", "0")]).await, "tenants", "expired", 504).await;
    service.open();
    assert_eq!(held.await.unwrap().status(), 200);
    let unreadable = service.get("/orders/1", &[("x-timeout-ms", "soon")]).await;
    assert_eq!(unreadable.status(), 200, "as if there were no deadline");
    service.has_line("invalid_timeouts_total 1").await;
}

#[tokio::test]
async fn a_thread_that_cannot_be_stopped_holds_its_slots_when_its_caller_is_late() {
    let service = Service::start(roomy()).await;
    let late = service.get(ENDLESS, &[("x-timeout-ms", "50")]).await;
    assert_eq!(late.status(), 504);
    for bulkhead in ["digest", "tenants"] {
        service.shows("in_flight", bulkhead, 1).await;
    }
}

#[tokio::test]
async fn health_and_metrics_answer_when_every_slot_is_taken() {
    let full = slots(1);
    let all = Settings { orders: full, digest: full, export: full, tenants: full, ..roomy() };
    let service = Service::start(all).await;
    let ann = service.spawn("/orders/held", &[("x-tenant", "ann")]);
    let bob = service.spawn(ENDLESS, &[("x-tenant", "bob")]);
    let cid = service.get("/export/1000000", &[("x-tenant", "cid")]).await;
    for bulkhead in ["orders", "digest", "export"] {
        service.shows("in_flight", bulkhead, 1).await;
    }
    for path in ["/orders/1", "/digest/1", "/export/1"] {
        assert_eq!(service.get(path, &[]).await.status(), 503);
    }
    let health = service.get("/health", &[]).await;
    assert_eq!((health.status().as_u16(), &*health.text().await.unwrap()), (200, "ok\n"));
    drop((ann, bob, cid));
}

#[tokio::test]
async fn the_service_is_not_ready_while_requests_wait_for_its_processor_and_is_healthy() {
    let busy = Section { parallelism: 1, waiting_room: 1, wait_limit: MINUTE };
    let service = Service::start(Settings { orders: busy, digest: busy, grace_ms: 100, ..roomy() }).await;
    let orders = [(); 2].map(|()| service.spawn("/orders/held", &[]));
    service.shows("waiting", "orders", 1).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(service.get("/ready", &[]).await.status(), 200, "the upstream is not its own");

    let _running = service.spawn(ENDLESS, &[]);
    service.shows("in_flight", "digest", 1).await;
    let waiting = service.spawn("/digest/1", &[]);
    let problem: serde_json::Value = serde_json::from_str(&service.readiness(503).await).unwrap();
    assert_eq!(problem["labels"], serde_json::json!(["digest"]));
    assert_eq!(service.get("/health", &[]).await.status(), 200);

    // Its client goes, so no request waits any more.
    waiting.abort();
    assert_eq!(service.readiness(200).await, "ready");
    drop(orders);
}

#[tokio::test]
async fn a_streamed_body_holds_its_slots_until_it_is_read_or_dropped() {
    let service = Service::start(roomy()).await;
    let unread = service.get("/export/1000000", &[]).await;
    for bulkhead in ["export", "tenants"] {
        service.shows("in_flight", bulkhead, 1).await;
    }
    drop(unread);
    for bulkhead in ["export", "tenants"] {
        service.shows("in_flight", bulkhead, 0).await;
    }
    assert_eq!(service.get("/export/3", &[]).await.bytes().await.unwrap().len(), 3 * 16 * 1024);
    service.shows("finished_total", "export", 2).await;
    service.shows("in_flight", "export", 0).await;
}

#[tokio::test]
async fn the_metrics_have_both_formats_and_the_page_shows_all_bulkheads() {
    let service = Service::start(roomy()).await;
    let plain = service.get("/metrics", &[]).await;
    assert_eq!(plain.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert!(plain.text().await.unwrap().contains("# TYPE invalid_timeouts_total counter\n"));
    let open = service.get("/metrics", &[("accept", "application/openmetrics-text;version=1.0.0")]).await;
    assert_eq!(open.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = open.text().await.unwrap();
    assert!(text.contains("# TYPE invalid_timeouts counter\n") && text.ends_with("# EOF\n"), "{text}");

    let page = service.get("/debug/bulkheads", &[]).await.text().await.unwrap();
    let [settings, counts] = [1, 2].map(|line| page.lines().nth(line).unwrap());
    assert!(settings.ends_with(", 1 applied, 0 refused") && counts == "bulkheads: 4, worst first", "{page}");
    let page = service.get("/debug/bulkheads?format=json", &[]).await.text().await.unwrap();
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert_eq!((page["total"].as_u64(), page["left_out"].as_u64()), (Some(4), Some(0)));
}

#[tokio::test]
async fn on_a_signal_running_calls_end_and_new_ones_are_rejected() {
    let mut service = Service::start(roomy()).await;
    let running = service.spawn("/orders/held", &[]);
    service.shows("in_flight", "orders", 1).await;
    service.signal("-TERM");
    service.logged("closed").await;
    rejected(service.get("/orders/1", &[]).await, "tenants", "closed", 503).await;
    assert_eq!(service.get("/ready", &[]).await.status(), 503);
    service.open();
    assert_eq!(running.await.unwrap().status(), 200);
    assert_eq!(service.ended().await.code(), Some(0));
    service.logged("drained").await;
}

#[tokio::test]
async fn what_runs_beyond_the_drain_limit_is_named_and_does_not_keep_the_process() {
    let mut service = Service::start(Settings { drain_limit_ms: 20, ..roomy() }).await;
    let _endless = service.spawn(ENDLESS, &[]);
    service.shows("in_flight", "digest", 1).await;
    service.signal("-TERM");
    assert_eq!(service.ended().await.code(), Some(1));
    service.logged("not drained, digest: 1 running, tenants: 1 running").await;
}
