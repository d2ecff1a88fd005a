//! Event handlers of partitions.

use bulklink::{Event, EventKind};

use super::{tenants, touch, touch_each};
use crate::{Log, executor, recorder, taken};

/// Returns a handler that records the kinds of events, and checks that they show no key.
fn kinds_without_keys() -> (Log<EventKind>, impl Fn(&Event) + Send + Sync) {
    recorder(|event| {
        assert_eq!(&*event.label, "tenants");
        assert!(!format!("{event:?}").contains("ann"), "no key is shown");
        event.kind
    })
}

const USED: [EventKind; 2] = [EventKind::Admitted, EventKind::Released];

#[test]
fn a_handler_gets_events_of_existing_and_of_later_partitions() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch(&tenants, "ann");
    let (log, handler) = kinds_without_keys();
    let added = tenants.add_event_handler(handler);
    for key in ["ann", "bob", "cid"] {
        touch(&tenants, key);
        assert_eq!(taken(&log), USED, "{key}");
    }
    assert!(tenants.remove_event_handler(added));
    assert!(!tenants.remove_event_handler(added), "the partition is gone already");
    touch_each(&tenants, ["cid", "dan"]);
    assert_eq!(taken(&log), []);
}

#[test]
fn a_partition_can_have_its_own_handlers_too() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch_each(&tenants, ["ann", "bob"]);
    let ((own, handler), (all, for_all)) = (kinds_without_keys(), kinds_without_keys());
    tenants.handle("ann").expect("kept").add_event_handler(handler);
    let added = tenants.add_event_handler(for_all);
    touch_each(&tenants, ["ann", "bob"]);
    assert_eq!((taken(&own), taken(&all)), (USED.to_vec(), [USED, USED].concat()));
    tenants.remove_event_handler(added);
    touch_each(&tenants, ["ann", "bob"]);
    assert_eq!((taken(&own), taken(&all)), (USED.to_vec(), vec![]));
}

#[test]
fn a_handler_may_use_the_partitions_and_may_panic() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    let inside = tenants.clone();
    let handler = move |event: &Event| {
        assert_eq!(inside.status().partitions, 1);
        assert!(event.kind != EventKind::Released, "on purpose");
    };
    let added = tenants.add_event_handler(handler);
    touch(&tenants, "ann");
    assert!(tenants.discard("ann"));
    assert_eq!(tenants.handler_panics(), 1, "a panic in an evicted partition is counted too");
    tenants.remove_event_handler(added);
}

#[test]
fn each_partition_reports_that_it_closed() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch_each(&tenants, ["ann", "bob"]);
    let (log, handler) = kinds_without_keys();
    tenants.add_event_handler(handler);
    tenants.close();
    assert_eq!(taken(&log), [EventKind::Closed, EventKind::Drained, EventKind::Closed, EventKind::Drained]);
}
