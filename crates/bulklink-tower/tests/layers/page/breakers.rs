//! Circuit breakers on the page of bulkheads.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bulklink_breaker::{Breaker, BreakerRegistry, Guards, Settings};
use bulklink_tokio::{Bulkhead, Partitions, Registry, Tokio};
use bulklink_tower::page::Page;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::advance;
use tower::ServiceExt;

use super::headings;

const SECOND: Duration = Duration::from_secs(1);

async fn ask(app: &Router, query: &str) -> String {
    let request = Request::get(format!("/debug/bulkheads{query}")).body(Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// The page without its first line, which differs from page to page.
async fn text(app: &Router) -> String {
    ask(app, "").await.split_once('\n').unwrap().1.to_owned()
}

async fn breakers(app: &Router) -> Vec<Value> {
    let page: Value = serde_json::from_str(&ask(app, "?format=json").await).unwrap();
    page["breakers"].as_array().unwrap().clone()
}

/// Opens at the third failure in a row, for 30 s.
fn breaker(registry: &BreakerRegistry, label: &str) -> Breaker {
    let settings = Settings::consecutive(3).cool_down(30 * SECOND);
    let breaker = Breaker::builder_on(Tokio, label).settings(settings).build().unwrap();
    registry.add_breaker(&breaker).unwrap();
    breaker
}

fn fail(breaker: &Breaker, calls: usize) {
    (0..calls).for_each(|_| breaker.admit().unwrap().fail());
}

fn reject(breaker: &Breaker, calls: usize) {
    (0..calls).for_each(|_| assert!(breaker.admit().is_err()));
}

#[tokio::test(start_paused = true)]
async fn the_text_has_the_state_of_each_breaker_since_when_why_and_until_when() {
    let (limits, registry) = (Registry::new(), BreakerRegistry::new());
    limits.create(Bulkhead::builder("search").parallelism(4)).unwrap();
    let [search, by_hand, probing, _, failing] =
        ["search", "by \"hand\"", "probing", "calm", "failing"].map(|label| breaker(&registry, label));
    let app: Router = Page::new(&limits).breakers(&registry).router();
    probing.admit().unwrap().succeed();
    fail(&probing, 3);
    advance(26 * SECOND).await;
    fail(&search, 3);
    reject(&search, 7);
    by_hand.force_open();
    advance(6 * SECOND).await;
    let _probe = probing.admit().unwrap();
    fail(&failing, 2);
    let expected = r#"bulkheads: 1, breakers: 5, worst first
nothing is known of the last 30 s: look again, for rates and what they say

"by \"hand\"" (breaker): critical, open
  state       open for 6 s, until it is closed by hand; last closed 6 s ago
  rejected    0; opened: 1, probes: 0
  ended       0 succeeded, 0 failed; 0 slow, 0 ignored, 0 cancelled
  critical    open: all calls are rejected, by hand

search (breaker): critical, open
  state       open for 6 s, a probe in 24 s; last closed 6 s ago; opened by 3 failed, 0 slow of 3 calls
  rejected    7; opened: 1, probes: 0
  ended       0 succeeded, 3 failed; 0 slow, 0 ignored, 0 cancelled
  critical    open: all calls are rejected

probing (breaker): warning, half-open
  state       half-open for 0 s; probes: 1 running, 0 succeeded, 0 failed; last closed 32 s ago; opened by 3 failed, 0 slow of 3 calls
  rejected    0; opened: 1, probes: 1
  ended       1 succeeded, 3 failed; 0 slow, 0 ignored, 0 cancelled
  warning     half_open: only probes are let through

calm (breaker): ok
  state       closed for 32 s; 0 failed, 0 slow of 0 calls
  rejected    0; opened: 0, probes: 0
  ended       0 succeeded, 0 failed; 0 slow, 0 ignored, 0 cancelled

failing (breaker): ok
  state       closed for 32 s; 2 failed, 0 slow of 2 calls
  rejected    0; opened: 0, probes: 0
  ended       0 succeeded, 2 failed; 0 slow, 0 ignored, 0 cancelled

search: ok
  in use      0 of 4, 0 running
  waiting     0 of 0
  admitted    0, 0 from the queue; 0 finished, 0 abandoned
  rejected    0 (0.0 %); 0 cancelled
"#;
    assert_eq!(text(&app).await, expected);
    // Of those that are open, the first rejects the most calls now.
    search.force_closed();
    fail(&search, 3);
    advance(10 * SECOND).await;
    reject(&search, 30);
    let page = text(&app).await;
    assert_eq!(
        headings(&page)[..2],
        ["search (breaker): critical, open", "\"by \\\"hand\\\"\" (breaker): critical, open"]
    );
    let recently = "\n  recently    in 10 s: 30 rejected (3.0/s, 90.9 %), 3 ended, 3 failed, 0 slow\n  critical ";
    assert!(page.contains(recently), "{page}");
    advance(3_600 * SECOND).await;
    let page = text(&app).await;
    assert!(page.contains("state       open for 1 h 0 min, until it is closed by hand; last closed 1 h 0 min ago"));
    assert!(page.contains("state       half-open for 59 min 40 s; probes: 0 running"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn the_json_has_them_in_a_list_of_their_own() {
    let registry = BreakerRegistry::new();
    let app: Router = Page::new(&Registry::new()).breakers(&registry).router();
    assert_eq!(breakers(&app).await, [json!(null); 0]);
    let search = breaker(&registry, "search");
    fail(&search, 3);
    breakers(&app).await;
    advance(4 * SECOND).await;
    reject(&search, 2);
    let expected = json!({
        "label": "search", "kind": "breaker", "severity": "critical", "state": "open", "is_forced": false,
        "state_age_seconds": 4.0, "unhealthy_seconds": 4.0, "retry_after_seconds": 26.0, "is_connected": null,
        "tripped": { "calls": 3, "failures": 3, "slow": 0 },
        "window": { "calls": 0, "failures": 0, "slow": 0 },
        "probes": { "running": 0, "succeeded": 0, "failed": 0 },
        "recently": {
            "seconds": 4.0, "rejected": 2, "ended": 0, "failures": 0, "slow": 0, "rejected_share": 1.0,
            "rejected_per_second": 0.5,
        },
        "totals": {
            "successes": 0, "failures": 3, "timed_out": 0, "panicked": 0, "slow": 0, "ignored": 0,
            "cancelled": 0, "stale": 0, "rejected": 2, "probes": 0, "opened": 1,
        },
        "keys": null,
        "findings": [{ "severity": "critical", "code": "open", "message": "all calls are rejected" }],
    });
    assert_eq!(breakers(&app).await, [expected]);
    let page: Value = serde_json::from_str(&ask(&app, "?format=json").await).unwrap();
    assert_eq!((&page["total"], &page["left_out"]), (&json!(1), &json!(0)));
}

#[tokio::test(start_paused = true)]
async fn guards_by_key_have_counts_and_the_worst_keys_only_if_the_program_shows_them() {
    let hosts = Partitions::<String>::builder("hosts").parallelism(2).max_partitions(100).build().unwrap();
    let settings = Settings::consecutive(3).cool_down(30 * SECOND);
    let builder = || Guards::builder(&hosts).settings(settings).max_keys(50);
    let [hidden, shown] = [builder().build().unwrap(), builder().show_keys(String::clone).build().unwrap()];
    let registries = [&hidden, &shown].map(|guards| {
        let registry = BreakerRegistry::new();
        registry.add_guards(guards).unwrap();
        for key in ["secret.example", "a\n\"b\": ok", "fine.example"] {
            let _request = guards.key(key);
            let breaker = guards.breaker(key).unwrap();
            if key != "fine.example" {
                fail(&breaker, 3);
                reject(&breaker, key.len());
            }
        }
        registry
    });
    advance(90 * SECOND).await;
    for (guards, registry) in [hidden, shown].iter().zip(&registries) {
        let open = guards.breaker("secret.example").unwrap();
        fail(&open, 1);
        advance(2 * SECOND).await;
        let app: Router = Page::new(&Registry::new()).breakers(registry).router();
        let (page, row) = (text(&app).await, breakers(&app).await[0].clone());
        assert_eq!(headings(&page), ["hosts (breaker): warning, open"]);
        let counts = "\n  keys        3 of 50, 1 open, 1 half-open; 0 evicted, 0 without a circuit\n";
        assert!(page.contains(counts) && page.contains("\n  warning     open: 1 of 3 circuits are open\n"), "{page}");
        assert_eq!((&row["keys"]["open"], &row["keys"]["kept"], &row["state"]), (&json!(1), &json!(3), &json!("open")));
    }
    let [hidden, shown] = registries.map(|registry| Page::new(&Registry::new()).breakers(&registry).router());
    let (page, row) = (text(&hidden).await, breakers(&hidden).await[0].clone());
    assert!(!page.contains("secret") && !page.contains("\n  key  ") && !row.to_string().contains("secret"), "{page}");
    assert_eq!(row["keys"]["worst"], json!([]));
    let (page, row) = (text(&shown).await, breakers(&shown).await[0].clone());
    let open = "\n  key         hosts/secret.example open for 2 s, a probe in 28 s; last closed 1 min 34 s ago; opened by 3 \
                failed, 0 slow of 3 calls; 14 rejected\n";
    assert!(page.contains(open), "{page}");
    assert!(page.contains("\n  key         \"hosts/a\u{fffd}\\\"b\\\": ok\" half-open for 1 min 4 s"), "{page}");
    let worst = json!({
        "label": "hosts/secret.example", "state": "open", "is_forced": false, "state_age_seconds": 2.0,
        "unhealthy_seconds": 94.0, "retry_after_seconds": 28.0, "rejected": 14,
        "tripped": { "calls": 3, "failures": 3, "slow": 0 },
    });
    assert_eq!(row["keys"]["worst"][0], worst);
    assert_eq!(row["keys"]["worst"][1]["label"], "hosts/a\u{fffd}\"b\": ok");
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_for_all_rows_and_breakers_of_no_registry_are_shown() {
    let (limits, registry) = (Registry::new(), BreakerRegistry::new());
    for number in 0..5 {
        limits.create(Bulkhead::builder(&format!("bulkhead-{number}")).parallelism(1)).unwrap();
        breaker(&registry, &format!("z{}-{number}", "é".repeat(100)));
    }
    let single = Breaker::builder_on(Tokio, "single").build().unwrap();
    single.force_open();
    let app: Router = Page::new(&limits).breakers(&registry).breaker(&single).router();
    let page = ask(&app, "?limit=2").await;
    assert_eq!(headings(&page)[..2], ["single (breaker): critical, open", "bulkhead-0: ok"]);
    assert!(page.ends_with("\n\n9 more, none of them worse; ?limit= shows up to 1000\n"), "{page}");
    let long = format!("\"z{}\"… (breaker): ok", "é".repeat(59));
    assert_eq!(headings(&text(&app).await)[10], long);
    registry.reset_all();
    registry.remove(&format!("z{}-0", "é".repeat(100)));
    assert_eq!(breakers(&app).await.len(), 5);
}
