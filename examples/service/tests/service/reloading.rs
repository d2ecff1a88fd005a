//! Changes of the settings' file.

use crate::MINUTE;
use crate::harness::{Section, Service, Settings, rejected, roomy, slots, toml};

/// What the log has of a change; the path of the file is in between.
pub fn changed(cause: &str, change: &str) -> String {
    format!("the settings have changed cause=\"{cause}\"…change=\"{change}")
}

const FILE: &str = "the file has changed";

#[tokio::test]
async fn a_file_that_has_changed_changes_limits_while_calls_run() {
    let before = Settings { orders: slots(1), tenants: slots(1), ..roomy() };
    let service = Service::start(before).await;
    let held = service.spawn("/orders/held", &[("x-tenant", "ann")]);
    service.shows("in_flight", "orders", 1).await;
    rejected(service.get("/orders/1", &[("x-tenant", "bob")]).await, "orders", "saturated", 503).await;

    service.write(&Settings { orders: slots(3), tenants: slots(2), grace_ms: 1, ..before });
    service.logged(&changed(FILE, "orders: parallelism 1 -> 3")).await;
    service.logged(&changed(FILE, "tenants: parallelism 1 -> 2")).await;
    service.logged(&changed(FILE, "grace_ms: changes at the next restart")).await;
    let second = service.spawn("/orders/held", &[("x-tenant", "ann")]);
    service.shows("in_flight", "orders", 2).await;
    assert_eq!(service.get("/orders/1", &[("x-tenant", "bob")]).await.status(), 200);
    service.open();
    for call in [held, second] {
        assert_eq!(call.await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn on_sighup_the_file_is_applied_immediately() {
    let service = Service::start(roomy()).await;
    service.write(&Settings { digest: slots(7), ..roomy() });
    service.signal("-HUP");
    service.logged(&changed("SIGHUP", "digest: parallelism 100 -> 7")).await;
    service.shows("capacity", "digest", 7).await;
    service.signal("-HUP");
    service.logged("the settings change nothing cause=\"SIGHUP\"").await;
}

#[tokio::test]
async fn a_file_that_is_refused_changes_nothing_and_each_reason_is_logged() {
    let before = Settings { orders: slots(3), ..roomy() };
    let service = Service::start(before).await;
    let refused = async |text: String, reasons: &[&str]| {
        service.write_text(&text);
        service.signal("-HUP");
        for reason in reasons {
            service.logged(&format!("the settings are refused cause=\"SIGHUP\"…reasons=\"…{reason}")).await;
        }
    };
    let range = "must be from 1 to 2147483647, got 0";
    let text = |settings: &Settings| toml(settings, "http://127.0.0.1:1");
    // One more limit in each, which would be accepted.
    let after = Settings { digest: slots(7), ..before };

    refused("[limits".to_owned(), &["line 1: unclosed table"]).await;
    let zero = Settings { orders: slots(0), export: Section { wait_limit: MINUTE, ..slots(5) }, ..after };
    let reasons = [format!("limits.bulkheads.orders.parallelism {range}"), "limits.bulkheads.export.wait_limit".into()];
    refused(text(&zero), &[&*reasons[0], &*reasons[1]]).await;
    let negative = Settings { orders: slots(-1), ..after };
    let reason = "line 7: limits.bulkheads.orders.parallelism: invalid value: integer `-1`, expected a whole number";
    refused(text(&negative), &[reason]).await;
    let unknown = text(&after).replace("waiting_room", "room");
    refused(unknown, &["line 11: limits.bulkheads.digest.room: unknown field `room`"]).await;
    let gone =
        text(&after).replace("bulkheads.export", "bulkheads.exports").replace("partitions.tenants", "partitions.x");
    let needed = |section| format!("limits.{section} must be there");
    refused(
        gone,
        &[
            &needed("bulkheads.export"),
            "(is it limits.bulkheads.exports, which is not required?)",
            &needed("partitions.tenants"),
        ],
    )
    .await;
    let fixed = Settings { max_tenants: 5, ..after };
    refused(text(&fixed), &["limits.partitions.tenants.max_partitions must stay 100"]).await;

    for (bulkhead, capacity) in [("orders", 3), ("digest", 100), ("export", 100)] {
        service.shows("capacity", bulkhead, capacity).await;
    }
    service.shows("partition_capacity", "tenants", 100).await;
}

#[tokio::test]
async fn a_service_does_not_start_with_a_section_that_is_missing() {
    let text = toml(&roomy(), "http://127.0.0.1:1").replace("bulkheads.digest", "bulkheads.digests");
    let said = Service::refused(&text).await;
    assert!(said.contains("label must be that of a bulkhead in the registry, got \"digest\""), "{said}");
}
