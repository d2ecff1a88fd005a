//! A bulkhead is removed from its registry, or the registry closes, while other bulkheads are added
//! and removed.

use std::collections::BTreeSet;
use std::hash::{BuildHasherDefault, DefaultHasher};

use bulklink::{Bulkhead, Partitions, RegisterError, Registry};
use loom::future::block_on;
use loom::thread;

use crate::model::{ByHand, TestBulkhead, in_every_order, model, on_a_thread};

fn registry(bulkhead: &TestBulkhead) -> Registry {
    let registry = Registry::new();
    registry.add(bulkhead).unwrap();
    registry
}

#[test]
fn a_removal_ends_although_no_task_awaits_it() {
    model(1, 0).explore(|bulkhead| {
        let registry = registry(bulkhead);
        let held = bulkhead.owned().try_slot().unwrap();
        let end = thread::spawn(move || drop(held));
        drop(registry.remove("loom"));
        end.join().unwrap();
        assert!(registry.is_empty());
    });
}

#[test]
fn the_label_is_free_when_the_removal_has_ended() {
    model(1, 0).explore(|bulkhead| {
        let registry = registry(bulkhead);
        let held = bulkhead.owned().try_slot().unwrap();
        let end = thread::spawn(move || drop(held));
        assert!(block_on(registry.remove("loom")).unwrap().status().is_drained());
        assert!(registry.add(bulkhead).is_ok());
        end.join().unwrap();
        assert_eq!(registry.len(), 1, "the new bulkhead was removed");
    });
}

#[test]
fn two_removals_both_end_or_the_second_finds_nothing() {
    let found = model(1, 0).explore(|bulkhead| {
        let registry = registry(bulkhead);
        let other = on_a_thread(&registry, |registry| block_on(registry.remove("loom")).is_ok());
        let one = block_on(registry.remove("loom")).is_ok();
        assert!(registry.is_empty());
        (one, other.join().unwrap())
    });
    assert_eq!(found, BTreeSet::from([(false, true), (true, false), (true, true)]));
}

#[test]
fn a_new_bulkhead_is_closed_with_the_others_or_rejected() {
    let outcomes = model(1, 0).explore(|bulkhead| {
        let registry = Registry::new();
        let close = on_a_thread(&registry, |registry| registry.close_all());
        let added = registry.add(bulkhead);
        close.join().unwrap();
        assert!(added.is_ok() || added == Err(RegisterError::Closed));
        assert_eq!(bulkhead.is_closed(), added.is_ok());
        added.is_ok()
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}

#[test]
fn two_threads_that_need_a_bulkhead_get_the_same() {
    in_every_order(None, || {
        let (registry, builder) = (Registry::new(), Bulkhead::builder_on(ByHand::new(), "upstream").parallelism(2));
        let shared = builder.clone();
        let other = on_a_thread(&registry, move |registry| registry.get_or_create("loom", &shared).unwrap());
        let both = [registry.get_or_create("loom", &builder).unwrap(), other.join().unwrap()];
        let _slots = both.each_ref().map(|bulkhead| bulkhead.try_slot().unwrap());
        assert_eq!((both[0].status().in_flight, registry.len()), (2, 1));
    });
}

#[test]
fn removed_partitions_leave_the_registry_with_their_last_call() {
    in_every_order(Some(3), || {
        let registry = Registry::new();
        let builder = Partitions::<u8, _>::builder_on(ByHand::new(), "loom").parallelism(1).max_partitions(1);
        let builder = builder.hasher(BuildHasherDefault::<DefaultHasher>::default());
        let partitions = registry.create_partitions(builder).unwrap();
        let held = partitions.key(&1).try_slot().unwrap();
        let end = thread::spawn(move || drop(held));
        drop(registry.remove_partitions("loom"));
        end.join().unwrap();
        assert!(registry.is_empty() && partitions.status().is_drained());
    });
}

#[test]
fn a_task_that_begins_to_wait_sees_the_registry_drain() {
    model(1, 0).preemptions_if_fast(3).explore(|bulkhead| {
        let registry = registry(bulkhead);
        let held = bulkhead.owned().try_slot().unwrap();
        let end = on_a_thread(&registry, move |registry| {
            registry.close_all();
            drop(held);
        });
        block_on(registry.closed());
        assert!(bulkhead.status().is_drained());
        end.join().unwrap();
    });
}
