//! Shares of fleets on the page of bulkheads.

use std::time::Duration;

use axum::Router;
use bulklink_fleet::{Fleet, FleetShare, MemoryStore, ShareConfig};
use bulklink_tokio::{Bulkhead, Registry, Tokio};
use bulklink_tower::page::Page;
use http::Request;
use serde_json::Value;
use tokio::time::sleep;

use super::{ask, json, text};

async fn share(app: &Router) -> Value {
    let page = json(app, "").await;
    assert_eq!((&page["total"], &page["bulkheads"]), (&serde_json::json!(1), &serde_json::json!([])));
    page["shares"][0].clone()
}

fn fleet(store: &MemoryStore) -> Fleet<Tokio> {
    Fleet::builder(store.clone(), Tokio).namespace("test").build().unwrap()
}

/// A page with the share of this fleet alone.
async fn joined(fleet: &Fleet<Tokio>, limit: usize) -> (Router, Bulkhead, FleetShare<Tokio>) {
    let bulkhead = Bulkhead::builder("search").parallelism(50).waiting_room(9).build().unwrap();
    let share = fleet.share(&bulkhead).limit(limit).connect().await.unwrap();
    (Page::new(&Registry::new()).fleet(fleet).router(), bulkhead, share)
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn it_has_the_units_and_the_state_of_each_share() {
    let store = MemoryStore::new(Tokio);
    let fleet = fleet(&store);
    let (app, bulkhead, status) = joined(&fleet, 20).await;
    let slots = [bulkhead.slot().await.unwrap(), bulkhead.slot().await.unwrap()];
    // It is looked at once a second.
    seconds(2).await;
    let (page, row) = (text(&app, "").await, share(&app).await);
    let granted = status.status().granted;
    let expected = format!(
        "bulkheads: 0, shares: 1, worst first\n\nsearch (share): ok\n  units       {granted} of 20 granted, 2 in use; \
         processes: 1\n  state       joined; its lease ends in "
    );
    assert!(page.starts_with(&expected) && page.ends_with("; lost leases: 0\n"), "{page}");
    let left = row["lease_left_seconds"].as_f64().unwrap();
    assert!(left > 1.0);
    let expected = serde_json::json!({
        "label": "search", "kind": "share", "severity": "ok", "state": "joined", "limit": 20, "granted": granted,
        "in_use": 2, "processes": 1, "quarantine_seconds": null, "lease_left_seconds": left, "error": null,
        "refusal": null, "declined": null, "lost": 0, "findings": [],
    });
    assert_eq!(row, expected);

    store.stop();
    seconds(60).await;
    let (page, row) = (text(&app, "").await, share(&app).await);
    let expected = "search (share): warning, unavailable\n  units       0 of 20 granted, 2 in use; processes: 1\n  \
                    state       unavailable; lost leases: 1\n  warning     unavailable: ";
    assert!(page.contains(expected), "{page}");
    let error = row["error"].as_str().unwrap();
    assert!(page.ends_with(&format!(" unavailable: {error}\n")) && !error.is_empty(), "{page}");
    assert_eq!((&row["state"], &row["lost"]), (&serde_json::json!("unavailable"), &serde_json::json!(1)));

    store.start();
    while status.status().quarantine.is_none() {
        sleep(Duration::from_millis(100)).await;
    }
    let (page, row) = (text(&app, "").await, share(&app).await);
    assert!(page.contains("search (share): warning, recovering\n"), "{page}");
    assert!(page.contains("\n  state       recovering, for another "), "{page}");
    assert!(page.contains("\n  warning     recovering: nothing is granted until "), "{page}");
    assert!(row["quarantine_seconds"].as_f64().unwrap() > 0.0 && row["error"].is_null());
    drop(slots);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_is_declined_has_the_values_in_which_processes_differ() {
    let section = |limit, config| {
        let mut section = ShareConfig::default();
        (section.limit, section.config) = (Some(limit), Some(config));
        [("search".to_owned(), section)].into()
    };
    let store = MemoryStore::new(Tokio);
    let [first, second] = [fleet(&store), fleet(&store)];
    let (app, one, _) = joined(&first, 4).await;
    let (_, other, _) = joined(&second, 4).await;
    let _slots = [one.slot().await.unwrap(), other.slot().await.unwrap()];
    second.apply(&section(6, 2)).unwrap();
    seconds(2).await;
    first.apply(&section(5, 2)).unwrap();
    seconds(2).await;
    let (page, row) = (text(&app, "").await, share(&app).await);
    assert!(page.contains("search (share): warning, declined\n") && page.contains(" of 6 granted"), "{page}");
    assert!(page.contains("\n  warning     declined: another process has declared other values: limit 5 "), "{page}");
    assert_eq!((&row["state"], row["declined"].is_string()), (&serde_json::json!("declined"), true));
}

#[tokio::test(start_paused = true)]
async fn labels_are_escaped_and_a_fleet_is_beside_the_bulkheads() {
    let (limits, fleet) = (Registry::new(), fleet(&MemoryStore::new(Tokio)));
    let label = "<b>\"x\"</b>";
    let bulkhead = limits.create(Bulkhead::builder(label).parallelism(5).waiting_room(1)).unwrap();
    fleet.share(&bulkhead).limit(5).connect().await.unwrap();
    let app: Router = Page::new(&limits).fleet(&fleet).router();
    let page = text(&app, "").await;
    let head = "bulkheads: 1, shares: 1, worst first\nnothing is known of the last 30 s: look again, ";
    assert!(page.starts_with(head) && page.contains(r#""<b>\"x\"</b>" (share): ok"#), "{page}");
    let (_, _, html) = ask(&app, Request::get("/debug/bulkheads?format=html")).await;
    assert!(html.contains(r#"<p>"&lt;b&gt;\"x\"&lt;/b&gt;" (share): ok</p>"#), "{html}");
    let page = json(&app, "&limit=1").await;
    assert_eq!((&page["total"], &page["left_out"]), (&serde_json::json!(2), &serde_json::json!(1)));
    drop(bulkhead);
    assert!(limits.remove(label).await.is_ok());
    assert!(text(&app, "").await.starts_with("bulkheads: 0, worst first"), "a share ends with its bulkhead");
}
