//! Pausing all partitions, those that are kept and those to come.

use bulklink::{EventFilter, EventKind};

use super::{call, tenants, touch, touch_each};
use crate::{executor, recorder, slot, taken};

#[test]
fn kept_and_new_partitions_are_paused_and_resumed() {
    let mut executor = executor();
    let tenants = tenants(&executor, 3);
    touch(&tenants, "ann");
    assert!(tenants.pause() && tenants.status().is_paused && tenants.status().is_paused);
    assert!(!tenants.pause(), "nothing changes");
    for key in ["ann", "bob"] {
        assert!(tenants.key(key).try_slot().expect_err("paused").is_paused());
    }
    let waiting = ["ann", "bob", "cid"].map(|key| call(&mut executor, &tenants, key));
    assert!(waiting.iter().all(|call| !call.is_finished()));
    assert!(tenants.resume() && !tenants.status().is_paused && !tenants.status().is_paused);
    executor.run_until_idle();
    drop(waiting.each_ref().map(slot));
    assert!(!tenants.resume(), "nothing changes");
    touch_each(&tenants, ["ann", "dan"]);
}

#[test]
fn one_partition_can_be_paused_alone() {
    let executor = executor();
    let tenants = tenants(&executor, 3);
    touch_each(&tenants, ["ann", "bob"]);
    assert!(tenants.partition("ann").expect("kept").pause());
    assert!(tenants.key("ann").try_slot().expect_err("paused").is_paused() && !tenants.status().is_paused);
    touch(&tenants, "bob");
    assert!(tenants.resume(), "ann is resumed");
    touch(&tenants, "ann");
}

#[test]
fn closed_partitions_are_neither_paused_nor_resumed() {
    let executor = executor();
    let tenants = tenants(&executor, 3);
    touch(&tenants, "ann");
    tenants.pause();
    tenants.close();
    assert!(!tenants.status().is_paused && !tenants.pause() && !tenants.resume());
    assert!(!tenants.partition("ann").expect("kept").status().is_paused);
}

#[test]
fn handlers_hear_of_the_pause_of_kept_partitions() {
    let executor = executor();
    let tenants = tenants(&executor, 3);
    let (log, handler) = recorder(|event| event.kind);
    touch_each(&tenants, ["ann", "bob"]);
    tenants.handle().add_event_handler(EventFilter::ALL, handler);
    tenants.pause();
    assert_eq!(taken(&log), [EventKind::Paused; 2]);
    drop(tenants.key("cid").try_slot());
    assert_eq!(taken(&log), [EventKind::Saturated], "a new partition begins paused");
    tenants.resume();
    assert_eq!(taken(&log), [EventKind::Resumed; 3]);
}

/// The handler would wait for the lock of the partitions forever, if it ran under it.
#[test]
fn handlers_may_use_the_partitions_during_a_pause() {
    let executor = executor();
    let tenants = tenants(&executor, 3);
    touch(&tenants, "ann");
    let seen = tenants.clone();
    let (log, handler) = recorder(move |event| (event.kind, seen.status().is_paused));
    let added = tenants.handle().add_event_handler(EventFilter::ALL, handler);
    tenants.pause();
    tenants.resume();
    assert_eq!(taken(&log), [(EventKind::Paused, true), (EventKind::Resumed, false)]);
    tenants.handle().remove_event_handler(added);
}
