//! Event handlers of partitions.

use bulklink::{Event, EventFilter, EventKind, Partitions, TryRecvError};

use super::{tenants, touch, touch_each};
use crate::panicking_clock::PanickingClock;
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
    let added = tenants.handle().add_event_handler(EventFilter::ALL, handler);
    for key in ["ann", "bob", "cid"] {
        touch(&tenants, key);
        assert_eq!(taken(&log), USED, "{key}");
    }
    assert!(tenants.handle().remove_event_handler(added));
    assert!(!tenants.handle().remove_event_handler(added), "the partition is gone already");
    touch_each(&tenants, ["cid", "dan"]);
    assert_eq!(taken(&log), []);
}

#[test]
fn a_partition_can_have_its_own_handlers_too() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch_each(&tenants, ["ann", "bob"]);
    let ((own, handler), (all, for_all)) = (kinds_without_keys(), kinds_without_keys());
    tenants.partition("ann").expect("kept").add_event_handler(EventFilter::ALL, handler);
    let added = tenants.handle().add_event_handler(EventFilter::ALL, for_all);
    touch_each(&tenants, ["ann", "bob"]);
    assert_eq!((taken(&own), taken(&all)), (USED.to_vec(), [USED, USED].concat()));
    tenants.handle().remove_event_handler(added);
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
    let added = tenants.handle().add_event_handler(EventFilter::ALL, handler);
    touch(&tenants, "ann");
    assert!(tenants.discard("ann"));
    assert_eq!(tenants.status().handler_panics, 1, "a panic in an evicted partition is counted too");
    tenants.handle().remove_event_handler(added);
}

#[test]
fn each_partition_reports_that_it_closed() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch_each(&tenants, ["ann", "bob"]);
    let (log, handler) = kinds_without_keys();
    tenants.handle().add_event_handler(EventFilter::ALL, handler);
    tenants.close();
    assert_eq!(taken(&log), [EventKind::Closed, EventKind::Drained, EventKind::Closed, EventKind::Drained]);
}

#[test]
fn one_receiver_gets_the_events_of_all_partitions() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch(&tenants, "ann");
    let mut events = tenants.handle().subscribe(EventFilter::ALL, 100).expect("a capacity");
    touch_each(&tenants, ["ann", "bob"]);
    let slot = tenants.key("cid").try_slot().expect("it evicts ann");
    let mut received =
        |number: usize| -> Vec<_> { (0..number).map(|_| events.try_recv().expect("an event").kind).collect() };
    assert_eq!(received(5), [USED[0], USED[1], USED[0], USED[1], EventKind::Admitted]);
    drop(slot);
    assert_eq!(received(1), [EventKind::Released]);
}

#[test]
fn a_receiver_ends_with_the_last_clone_and_call_of_the_partitions() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    let mut events = tenants.handle().subscribe(EventFilter::ALL, 1).expect("a capacity");
    let slot = tenants.key("ann").try_slot().expect("free");
    touch(&tenants, "bob");
    drop(tenants);
    assert_eq!(events.try_recv().expect("the latest event").kind, EventKind::Released);
    assert_eq!((events.dropped(), events.try_recv()), (2, Err(TryRecvError::Empty)));
    drop(slot);
    assert_eq!(events.try_recv().expect("the last event").kind, EventKind::Released);
    assert_eq!(events.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn a_dropped_receiver_removes_its_handler_from_all_partitions() {
    let clock = PanickingClock::default();
    let builder = Partitions::<&str, _>::builder_on(clock.clone(), "tenants").parallelism(1).max_partitions(2);
    let tenants = builder.build().expect("valid");
    let touch = |key| drop(tenants.key(&key).try_slot().expect("free"));
    touch("ann");
    let events = tenants.handle().subscribe(EventFilter::ALL, 1).expect("a capacity");
    touch("bob");
    drop(events);
    // A channel reads the clock for each event.
    clock.panic(true);
    for key in ["ann", "bob", "cid"] {
        touch(key);
    }
    assert_eq!(tenants.status().handler_panics, 0);
}

#[test]
fn a_channel_without_capacity_is_refused() {
    let refused = tenants(&executor(), 2).handle().subscribe(EventFilter::ALL, 0).expect_err("zero").to_string();
    assert_eq!(refused, "event channel of partitions tenants: capacity must be at least 1, got 0");
}

#[test]
fn a_receiver_gets_the_events_of_its_filter_only() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    let mut of_all = tenants.handle().subscribe(EventFilter::REJECTIONS, 10).expect("a capacity");
    let mut by_handle = tenants.handle().subscribe(EventFilter::REJECTIONS, 10).expect("a capacity");
    let _running = ["ann", "bob"].map(|key| tenants.key(key).try_slot().expect("free"));
    tenants.key("bob").try_slot().expect_err("full");
    for events in [&mut of_all, &mut by_handle] {
        assert_eq!(events.try_recv().expect("an event").kind, EventKind::Saturated);
        assert_eq!(events.try_recv(), Err(TryRecvError::Empty));
    }
}
