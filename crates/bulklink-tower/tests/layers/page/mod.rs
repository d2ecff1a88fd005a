//! The page of bulkheads, asked for through its router.

mod adaptive;
#[cfg(feature = "breaker")]
mod breakers;
#[cfg(feature = "fleet")]
mod fleet;
mod shared;

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use bulklink_tokio::{Bulkhead, Partitions, Registry};
use bulklink_tower::page::{self, Page};
use futures_util::FutureExt;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::advance;
use tower::ServiceExt;

const MS: Duration = Duration::from_millis(1);

async fn ask(app: &Router, request: http::request::Builder) -> (StatusCode, String, String) {
    let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let header = |name| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        let fixed = ["cache-control", "vary", "x-content-type-options"].map(header);
        assert_eq!(fixed, ["no-store", "accept", "nosniff"]);
    }
    let (status, content_type) = (response.status(), header("content-type"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, content_type, String::from_utf8(body.to_vec()).unwrap())
}

async fn text(app: &Router, query: &str) -> String {
    let (status, content_type, body) = ask(app, Request::get(format!("/debug/bulkheads{query}"))).await;
    assert_eq!((status, &*content_type), (StatusCode::OK, "text/plain; charset=utf-8"), "{body}");
    // The first line differs from page to page.
    body.split_once('\n').unwrap().1.to_owned()
}

async fn json(app: &Router, query: &str) -> Value {
    let (status, content_type, body) = ask(app, Request::get(format!("/debug/bulkheads?format=json{query}"))).await;
    assert_eq!((status, &*content_type), (StatusCode::OK, "application/json"), "{body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn the_fate_of_the_file_of_settings_comes_first_and_its_text_stays_text() {
    use bulklink_tokio::config::{Apply, FileStatus};

    let registry = Registry::new();
    let app: Router = page::router(&registry);
    assert_eq!(
        (text(&app, "").await, &json(&app, "").await["settings"]),
        ("bulkheads: 0, worst first\n".into(), &Value::Null)
    );
    let mut status = FileStatus::default();
    (status.path, status.applied, status.refused) = ("app.toml".to_owned(), 2, 1);
    status.refusal = Some(format!("line 1:\n<b>no</b>\u{7}{}", "x".repeat(500)));
    Apply::<bulklink_tokio::Tokio>::report(&registry, &status);
    let first = "settings: app.toml, 2 applied, 1 refused\n  warning     the present text is refused, and that of before \
                 stays: line 1: <b>no</b> x";
    let page = text(&app, "").await;
    let cut = format!(" {}…\nbulkheads: 0", "x".repeat(482));
    assert!(page.starts_with(first) && page.contains(&cut), "{page}");
    let (_, _, html) = ask(&app, Request::get("/debug/bulkheads?format=html")).await;
    assert!(html.contains("line 1: &lt;b&gt;no&lt;/b&gt; x"), "{html}");
    let settings = &json(&app, "").await["settings"];
    assert_eq!((&settings["path"], &settings["applied"]), (&json!("app.toml"), &json!(2)));
    assert_eq!(settings["refusal"].as_str(), status.refusal.as_deref());
    status.refusal = None;
    Apply::<bulklink_tokio::Tokio>::report(&registry, &status);
    assert!(text(&app, "").await.starts_with("settings: app.toml, 2 applied, 1 refused\nbulkheads: 0"));
}

/// Lets a bulkhead without a waiting room reject so many calls.
fn reject(bulkhead: &Bulkhead, calls: usize) {
    let _running = run(bulkhead, bulkhead.limits().capacity);
    (0..calls).for_each(|_| assert!(bulkhead.try_slot().is_err()));
}

fn run(bulkhead: &Bulkhead, calls: usize) -> Vec<impl Sized + use<>> {
    (0..calls).map(|_| bulkhead.owned().try_slot().unwrap()).collect()
}

/// Returns the headings of the rows: label, severity and state.
fn headings(page: &str) -> Vec<&str> {
    page.split("\n\n").skip(1).map(|row| row.lines().next().unwrap()).collect()
}

fn labels(page: &Value) -> Vec<&str> {
    page["bulkheads"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect()
}

/// A registry with an idle bulkhead, partitions that are all in use, and a bulkhead that is full.
/// The calls that run and wait are kept in the second value that this returns.
async fn registry() -> (Registry, impl Sized) {
    let registry = Registry::new();
    registry.create(Bulkhead::builder("idle").parallelism(4)).unwrap();
    let tenants = Partitions::builder("tenants").parallelism(2).waiting_room(1).wait_limit(MS).max_partitions(1);
    let tenants: Partitions<String> = registry.create_partitions(tenants).unwrap();
    let tenant = tenants.key("secret-key").try_slot().unwrap();
    assert!(tenants.key("other-secret").try_slot().is_err());
    let full = Bulkhead::builder("pay \"ments\"").parallelism(1).waiting_room(2).wait_limit(2_000 * MS);
    let full = registry.create(full.waiting_room_units(5)).unwrap();
    let first = full.owned().try_slot().unwrap();
    let mut second = Box::pin(full.owned().slot());
    assert!((&mut second).now_or_never().is_none());
    advance(30 * MS).await;
    drop(first);
    let second = second.await.unwrap();
    let mut waiting = [(); 2].map(|()| Box::pin(full.owned().slot()));
    assert!((&mut waiting[0]).now_or_never().is_none());
    advance(20 * MS).await;
    assert!((&mut waiting[1]).now_or_never().is_none());
    advance(1_500 * MS).await;
    assert!(full.slot().await.is_err());
    (registry, (tenants, tenant, full, second, waiting))
}

#[tokio::test(start_paused = true)]
async fn the_text_has_all_figures_with_the_worst_first() {
    let (registry, _calls) = registry().await;
    let expected = r#"bulkheads: 3, worst first
nothing is known of the last 30 s: look again, for rates and what they say

"pay \"ments\"": critical
  in use      1 of 1, 1 running
  waiting     2 of 2, for 2 of 5 units, at most 2 s; the oldest for 1.52 s
  admitted    2, 1 from the queue after 30 ms on average and 30 ms at most; 1 finished, 0 abandoned
  rejected    1 (33.3 %): 1 saturated; 0 cancelled
  critical    waiting_room_full: 1 of 1 in use, and all 2 places to wait taken

tenants: warning
  partitions  1 of 1, 1 in use; 0 evicted
  in use      1 (2 for each), 1 running
  waiting     0 (1 for each), at most 1 ms
  admitted    1, 0 from the queue; 0 finished, 0 abandoned
  rejected    1 (50.0 %): 1 without a partition; 0 cancelled
  warning     partition_limit_reached: all 1 partitions in use

idle: ok
  in use      0 of 4, 0 running
  waiting     0 of 0
  admitted    0, 0 from the queue; 0 finished, 0 abandoned
  rejected    0 (0.0 %); 0 cancelled
"#;
    assert_eq!(text(&page::router(&registry), "").await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_json_has_all_figures_with_durations_in_seconds() {
    let (registry, _calls) = registry().await;
    let page = json(&page::router(&registry), "").await;
    assert_eq!((&page["total"], &page["left_out"]), (&json!(3), &json!(0)));
    let full = json!({
        "label": "pay \"ments\"", "kind": "bulkhead", "severity": "critical",
        "is_closed": false, "is_paused": false, "utilization": 1.0, "rejected_share": 1.0 / 3.0,
        "recently": null,
        "limits": { "capacity": 1, "waiting_room": 2, "waiting_room_units": 5, "wait_limit_seconds": 2.0 },
        "in_flight": 1, "in_use": 1, "written_off": 0, "waiting": 2, "waiting_units": 2, "uncollected": 0,
        "restriction": null, "oldest_wait_seconds": 1.52, "oldest_uncollected_seconds": null, "longest_wait_seconds": 0.03,
        "adaptive": null,
        "totals": {
            "admitted": 2, "admitted_from_queue": 1, "finished": 1, "cancelled": 0, "abandoned": 0,
            "taken_back": 0, "rejected": 1, "saturated": 1, "displaced": 0, "expired": 0, "closed": 0,
            "mean_wait_seconds": 0.03,
        },
        "findings": [
            {
                "severity": "critical", "code": "waiting_room_full",
                "message": "1 of 1 in use, and all 2 places to wait taken",
            },
        ],
    });
    let tenants = json!({
        "label": "tenants", "kind": "partitions", "severity": "warning",
        "is_closed": false, "is_paused": false, "rejected_share": 0.5,
        "recently": null,
        "limits": { "capacity": 2, "waiting_room": 1, "waiting_room_units": null, "wait_limit_seconds": 0.001 },
        "in_flight": 1, "in_use": 1, "written_off": 0, "waiting": 0, "waiting_units": 0, "uncollected": 0,
        "partitions": {
            "kept": 1, "in_use": 1, "max": 1, "created": 1, "evicted": 0,
            "limit_rejected": 1, "closed_rejected": 0,
        },
        "shared": null,
        "adaptive": null,
        "keys": null,
        "totals": {
            "admitted": 1, "admitted_from_queue": 0, "finished": 0, "cancelled": 0, "abandoned": 0,
            "taken_back": 0, "rejected": 1, "saturated": 0, "displaced": 0, "expired": 0, "closed": 0,
            "mean_wait_seconds": null,
        },
        "findings": [
            { "severity": "warning", "code": "partition_limit_reached", "message": "all 1 partitions in use" },
        ],
    });
    assert_eq!(page["bulkheads"][0], full);
    assert_eq!(page["bulkheads"][1], tenants);
    assert_eq!(labels(&page)[2], "idle");
}

#[tokio::test(start_paused = true)]
async fn a_page_begins_with_the_time_the_process_and_how_long_it_is_there() {
    let app = page::router(&Registry::new());
    for (seconds, up) in [(59, "59 s"), (2, "1 min 1 s"), (7_200, "2 h 1 min"), (200_000, "2 d 9 h")] {
        advance(1_000 * seconds * MS).await;
        let (_, _, body) = ask(&app, Request::get("/debug/bulkheads")).await;
        let line = body.lines().next().unwrap();
        assert!(line.contains(&format!("Z, process {}", std::process::id())), "{line}");
        assert!(line.ends_with(&format!(", page up for {up}")), "{line}");
    }
    let page = json(&app, "").await;
    assert_eq!((&page["process"], &page["up_seconds"]), (&json!(std::process::id()), &json!(207_261.0)));
    let time = page["time"].as_str().unwrap();
    assert!(time.len() == 20 && time.starts_with('2') && page["host"] != "", "{page}");
}

#[tokio::test(start_paused = true)]
async fn a_row_names_the_ceiling_that_binds() {
    let registry = Registry::new();
    let search = registry.create(Bulkhead::builder("search").parallelism(100)).unwrap();
    let app = page::router(&registry);
    let ceilings = ["fleet", "a \"b\"\n"].map(|by| search.handle().ceiling(by));
    ceilings[0].set(3);
    let _running: Vec<_> = (0..3).map(|_| search.try_slot().unwrap()).collect();
    let shown = text(&app, "").await;
    assert!(shown.contains("\n  in use      3 of 100 (3 allowed by fleet), 3 running\n"), "{shown}");
    assert!(shown.contains("admission_restricted: fleet allows 3 of 100 units, 3 in use, 0 waiting\n"), "{shown}");
    let row = &json(&app, "").await["bulkheads"][0];
    assert_eq!(row["restriction"], json!({ "by": "fleet", "units": 3 }));
    assert_eq!((&row["limits"]["capacity"], &row["severity"]), (&json!(100), &json!("warning")));
    ceilings[1].set(2);
    let shown = text(&app, "").await;
    assert!(shown.contains(r#"3 of 100 (2 allowed by "a \"b\"\n"), 3 running"#), "{shown}");
    drop(ceilings);
    assert!(text(&app, "").await.contains("\n  in use      3 of 100, 3 running\n"));
}

#[tokio::test(start_paused = true)]
async fn the_format_is_what_the_client_accepts_or_asks_for() {
    let (registry, _calls) = registry().await;
    let app = page::router(&registry);
    let get = |uri: &str| Request::get(format!("/debug/bulkheads{uri}"));
    let (_, content_type, body) = ask(&app, get("").header("accept", "application/json")).await;
    assert_eq!(content_type, "application/json");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["total"], 3);
    let (_, content_type, _) = ask(&app, get("?format=text").header("accept", "application/json")).await;
    assert_eq!(content_type, "text/plain; charset=utf-8");
    let (_, content_type, body) = ask(&app, get("").header("accept", "text/html,*/*;q=0.8")).await;
    assert_eq!(content_type, "text/html; charset=utf-8");
    assert!(body.contains("\n<p>  in use      1 of 1, 1 running</p>\n"), "{body}");
    for query in ["?limit=0", "?limit=1001", "?format=xml", "?label=x"] {
        let (status, content_type, body) = ask(&app, get(query)).await;
        assert_eq!((status, &*content_type), (StatusCode::BAD_REQUEST, "application/problem+json"), "{query}");
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert!(problem["detail"].as_str().unwrap().contains("must be"), "{body}");
    }
    assert_eq!(ask(&app, get("").method(Method::HEAD)).await.2, "");
    assert_eq!(ask(&app, get("").method(Method::POST)).await.0, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test(start_paused = true)]
async fn the_order_is_by_severity_then_rejections_then_utilisation_then_label() {
    let registry = Registry::new();
    let create = |label: &str, parallelism: usize| registry.create(Bulkhead::builder(label).parallelism(parallelism));
    let [_, _, used, rejecting, full] = [("b idle", 10), ("a idle", 10), ("used", 10), ("rejecting", 2), ("full", 1)]
        .map(|(label, parallelism)| {
            let bulkhead = create(label, parallelism).unwrap();
            reject(&bulkhead, usize::from(label == "used"));
            bulkhead
        });
    let app = page::router(&registry);
    // Earlier rejections do not count.
    text(&app, "").await;
    advance(MS).await;
    reject(&rejecting, 1);
    let _running: Vec<_> = [5, 1].into_iter().zip([&used, &full]).map(|(calls, one)| run(one, calls)).collect();
    let page = json(&app, "").await;
    assert_eq!(labels(&page), ["full", "rejecting", "used", "a idle", "b idle"]);
}

#[tokio::test(start_paused = true)]
async fn of_two_that_are_as_full_the_one_with_the_fuller_waiting_room_is_worse() {
    let registry = Registry::new();
    let (mut running, mut queued) = (Vec::new(), Vec::new());
    for (label, waiting) in [("a", 1), ("b", 3), ("c", 2)] {
        let bulkhead = registry.create(Bulkhead::builder(label).parallelism(1).waiting_room(4)).unwrap();
        running.extend(run(&bulkhead, 1));
        queued.extend((0..waiting).map(|_| Box::pin(bulkhead.owned().slot())));
    }
    for call in &mut queued {
        assert!(call.as_mut().now_or_never().is_none());
    }
    assert_eq!(labels(&json(&page::router(&registry), "").await), ["b", "c", "a"]);
}

#[tokio::test]
async fn ten_thousand_bulkheads_are_a_short_page_of_the_worst() {
    let registry = Registry::new();
    let bulkheads: Vec<_> = (0..10_000)
        .map(|number| registry.create(Bulkhead::builder(&format!("number {number:05}")).parallelism(100)).unwrap())
        .collect();
    let _running = bulkheads[7_777].with(bulklink_tokio::Request::new().cost(100)).try_slot().unwrap();
    let _others: Vec<_> = bulkheads.iter().skip(5_000).step_by(2).map(|one| one.owned().try_slot().unwrap()).collect();
    let app: Router = page::router(&registry);
    let begin = Instant::now();
    let page = text(&app, "").await;
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(page.starts_with("bulkheads: 10000, worst first\n"));
    assert_eq!(headings(&page)[0], "\"number 07777\": warning");
    assert!(page.ends_with("\n\n9900 more, none of them worse; ?limit= shows up to 1000\n"));
    assert!(page.len() < 100 * 400);
    let few = json(&app, "&limit=2").await;
    assert_eq!((labels(&few), &few["left_out"]), (vec!["number 07777", "number 05000"], &json!(9_998)));
    let most = json(&app, "&limit=1000").await;
    assert_eq!(labels(&most).len(), 1_000);
    assert!(labels(&most)[1..].iter().all(|label| *label >= "number 05000"));
}

#[tokio::test(start_paused = true)]
async fn a_hostile_label_breaks_neither_form_and_no_key_is_shown() {
    let (registry, _calls) = registry().await;
    for label in [r#"a": [], "b\"#, "x: ok", &"é".repeat(500_000), &"<script>".repeat(200)] {
        registry.create(Bulkhead::builder(label).parallelism(1)).unwrap();
    }
    // A label with a newline is refused when the bulkhead is built.
    assert!(registry.create(Bulkhead::builder("a\nb").parallelism(1)).is_err());
    let app = page::router(&registry);
    let (text, json) = (text(&app, "").await, json(&app, "").await);
    assert_eq!(text.lines().filter(|line| line.ends_with(": ok")).count(), 5);
    for line in [r#""a\": [], \"b\\": ok"#, r#""x: ok": ok"#, &format!("\"{}\"…: ok", "é".repeat(60))] {
        assert!(text.lines().any(|shown| shown == line), "{line}");
    }
    assert!(labels(&json).contains(&r#"a": [], "b\"#) && labels(&json).contains(&&*format!("{}…", "é".repeat(60))));
    assert!(text.len() < 5_000 && json.to_string().len() < 10_000);
    let (_, _, html) = ask(&app, Request::get("/debug/bulkheads?format=html")).await;
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"), "{html}");
    for page in [text, html, json.to_string()] {
        assert!(!page.contains("secret") && page.contains("tenants"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_worst_keys_are_shown_where_the_program_allows_it() {
    let registry = Registry::new();
    let hosts = Partitions::builder("hosts").parallelism(2).waiting_room(1).max_partitions(20);
    let hosts: Partitions<String> = registry.create_partitions(hosts.show_keys(String::clone)).unwrap();
    let app = page::router(&registry);
    assert!(!text(&app, "").await.contains("\n  keys "));
    advance(12_400 * MS).await;
    let take = |host: &str| hosts.key(host).try_slot();
    let (hostile, long) = ("a\n\"b\": critical", "é".repeat(500));
    let _running = [hostile, hostile, "c.example", &long].map(|host| take(host).unwrap());
    let mut waiting = Box::pin(hosts.key(hostile).slot());
    assert!((&mut waiting).now_or_never().is_none());
    assert!((0..3).all(|_| take(hostile).is_err()));
    let shown = text(&app, "").await;
    let short = format!("{}…", "é".repeat(60));
    let lines = [
        format!(r#"  keys        in use: "a\n\"b\": critical" 2 of 2, c.example 1 of 2, "{}"… 1 of 2"#, "é".repeat(60)),
        r#"  keys        waiting: "a\n\"b\": critical" 1 of 1"#.to_owned(),
        r#"  keys        rejected in 12.4 s: "a\n\"b\": critical" 3"#.to_owned(),
    ];
    assert!(shown.contains(&format!("cancelled\n{}\n  critical ", lines.join("\n"))), "{shown}");
    let row = &json(&app, "").await["bulkheads"][0];
    let load = |key: &str, [in_use, waiting, rejected]: [usize; 3]| {
        json!({
            "key": key, "in_use": in_use, "capacity": 2, "waiting": waiting, "waiting_room": 1,
            "rejected": rejected,
        })
    };
    let worst = load(hostile, [2, 1, 3]);
    let keys = json!({
        "seconds": 12.4,
        "in_use": [worst, load("c.example", [1, 0, 0]), load(&short, [1, 0, 0])],
        "waiting": [worst], "rejected": [worst],
    });
    assert_eq!(row["keys"]["seconds"], 12.4);
    assert_eq!(row["keys"], keys);
    let all: Vec<_> = (0..15).map(|number| take(&format!("host-{number:02}")).unwrap()).collect();
    assert_eq!(json(&app, "").await["bulkheads"][0]["keys"]["in_use"].as_array().unwrap().len(), 10);
    drop(all);
}

#[tokio::test(start_paused = true)]
async fn the_page_shows_what_is_there_when_it_is_asked_for_and_changes_nothing() {
    let (registry, single) = (Registry::new(), Bulkhead::builder("single").parallelism(1).build().unwrap());
    let keyed = Partitions::builder("keyed").parallelism(1).max_partitions(1);
    let keyed: Partitions<u8> = keyed.build().unwrap();
    let app: Router = Page::new(&registry).bulkhead(&single).partitions(&keyed.handle()).router();
    assert_eq!(labels(&json(&app, "").await), ["keyed", "single"]);
    let late = registry.create(Bulkhead::builder("late").parallelism(1)).unwrap();
    late.pause();
    single.close();
    let before = late.status();
    let page = text(&app, "").await;
    assert_eq!(headings(&page), ["single: critical, closed", "late: warning, paused", "keyed: ok"]);
    assert!(page.contains("\n  critical    closed: all calls are rejected\n"), "{page}");
    assert!(page.contains("\n  warning     paused: no call is admitted\n"), "{page}");
    assert!(!late.status().since(&before).unwrap().has_activity());
    registry.remove("late").await.unwrap();
    assert_eq!(labels(&json(&app, "").await).len(), 2);
}

/// The page has nothing of load that was over half a minute ago, whether it is asked for often, by
/// several viewers, seldom, or for the first time.
#[tokio::test(start_paused = true)]
async fn a_burst_that_is_over_is_not_reported() {
    for look_at in [&[0, 1, 3, 3, 8, 12, 16, 20, 24, 28, 33][..], &[3, 33], &[1, 2, 60], &[33], &[3, 31, 32, 33]] {
        let registry = Registry::new();
        let calm = registry.create(Bulkhead::builder("calm").parallelism(1)).unwrap();
        let bulkhead = registry.create(Bulkhead::builder("payments").parallelism(1)).unwrap();
        let tenants = Partitions::builder("tenants").parallelism(1).max_partitions(1);
        let tenants: Partitions<String> = registry.create_partitions(tenants).unwrap();
        let app: Router = page::router(&registry);
        for second in 0..=60 {
            if second < 3 {
                let _running = (bulkhead.try_slot().unwrap(), tenants.key("ann").try_slot().unwrap());
                for key in ["ann", "bob"].repeat(10) {
                    assert!(bulkhead.try_slot().is_err() && tenants.key(key).try_slot().is_err());
                }
            }
            // One call a second, all of which are served: so few that the burst weighs for hours.
            drop((calm.try_slot().unwrap(), bulkhead.try_slot().unwrap(), tenants.key("ann").try_slot().unwrap()));
            for _ in look_at.iter().filter(|at| **at == second) {
                let page = text(&app, "").await;
                let during = ["payments: critical", "tenants: critical", "calm: ok"];
                let after = ["calm: ok", "payments: ok", "tenants: ok"];
                if second > 32 {
                    assert_eq!(headings(&page), after, "{look_at:?}: {page}");
                } else if (2..4).contains(&second) && look_at.contains(&1) {
                    assert_eq!(headings(&page)[2], during[2], "{look_at:?}: {page}");
                    assert!(during[..2].iter().all(|one| headings(&page).contains(one)), "{page}");
                }
            }
            advance(1_000 * MS).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn rates_are_those_since_an_earlier_look() {
    let registry = Registry::new();
    let bulkhead = registry.create(Bulkhead::builder("payments").parallelism(1)).unwrap();
    let app: Router = page::router(&registry);
    reject(&bulkhead, 30);
    let page = text(&app, "").await;
    assert!(page.contains("nothing is known") && page.contains("rejected    30 (96.8 %)"), "{page}");
    assert_eq!(headings(&page), ["payments: ok"]);
    advance(2_500 * MS).await;
    drop(bulkhead.try_slot().unwrap());
    let page = text(&app, "").await;
    assert!(!page.contains("nothing is known") && page.contains("rejected    30 (93.8 %)"), "{page}");
    assert!(
        page.contains("\n  recently    in 2.5 s: 1 admitted (0.4/s), 0 rejected (0.0/s, 0.0 %), 0 cancelled\n"),
        "{page}"
    );
    advance(7_500 * MS).await;
    reject(&bulkhead, 22);
    let page = json(&app, "").await;
    let recently = json!({
        "seconds": 10.0, "admitted": 2, "rejected": 22, "cancelled": 0, "rejected_share": 22.0 / 24.0,
        "admitted_per_second": 0.2, "rejected_per_second": 2.2,
    });
    assert_eq!(page["bulkheads"][0]["recently"], recently);
    let found = &page["bulkheads"][0]["findings"][0];
    assert_eq!((&found["severity"], &found["code"]), (&json!("critical"), &json!("elevated_rejection_rate")));
}
