//! Several waiters: each is woken once, for its own answer, by any number of threads and batches.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use bulklink::Reason;
use loom::future::block_on;
use loom::thread;

use crate::call::{Call, CountingWaker};
use crate::model::{cancelled_and_abandoned, model, on_a_thread};

#[test]
fn two_releases_admit_two_waiters() {
    model(2, 2).explore(|bulkhead| {
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let [first, second] = Call::queue(bulkhead);
        let release = thread::spawn(move || drop(one));
        drop(other);
        release.join().unwrap();
        drop((first.granted(), second.granted()));
    });
}

#[test]
fn two_releases_admit_two_waiters_behind_a_dropped_call() {
    let outcomes = model(2, 3).preemptions_if_fast(3).explore(|bulkhead| {
        let (one, other) = (bulkhead.owned().try_slot().unwrap(), bulkhead.owned().try_slot().unwrap());
        let [first, second, third] = Call::queue(bulkhead);
        let release = thread::spawn(move || drop(one));
        let another = thread::spawn(move || drop(other));
        drop(first);
        release.join().unwrap();
        another.join().unwrap();
        drop((second.granted(), third.granted()));
        cancelled_and_abandoned(bulkhead)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0)]));
}

#[test]
fn a_chain_of_tasks_passes_one_slot_on() {
    // Each task is woken by the task that had the slot before it, and wakes the next. Too many
    // steps for a complete search: 3 preemptions need 5600 executions, 5 need 155 000.
    model(1, 2).preemptions(3).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks = [1, 2].map(|number| {
            let (order, mut future) = (Arc::clone(&order), bulkhead.owned().slot());
            assert!(CountingWaker::default().poll(&mut future).is_pending());
            thread::spawn(move || {
                let _slot = block_on(future).unwrap();
                order.lock().unwrap().push(number);
            })
        });
        drop(held);
        for task in tasks {
            task.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [1, 2]);
    });
}

#[test]
fn growing_past_the_wake_batch_wakes_all() {
    // Three answers or more in one step, where a batch under loom is two. The resize drains the
    // rest in another round, or a later release does.
    model(1, 4).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let calls = Call::queue::<4>(bulkhead);
        let release = thread::spawn(move || drop(held));
        bulkhead.resize(4).unwrap();
        release.join().unwrap();
        drop(calls.map(Call::granted));
    });
}

#[test]
fn closing_past_the_wake_batch_wakes_all() {
    let granted = model(1, 4).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let calls = Call::queue::<4>(bulkhead);
        let release = thread::spawn(move || drop(held));
        bulkhead.close();
        release.join().unwrap();
        let [first, others @ ..] = calls.map(Call::answer);
        assert!(others.into_iter().all(|answer| answer.is_err_and(|reason| reason == Reason::Closed)));
        first.map_err(|reason| assert_eq!(reason, Reason::Closed)).is_ok()
    });
    assert_eq!(granted, BTreeSet::from([false, true]));
}

#[test]
fn a_call_dropped_between_two_wake_batches_loses_nothing() {
    let outcomes = model(1, 3).explore(|bulkhead| {
        let held = bulkhead.owned().try_slot().unwrap();
        let [first, second, third] = Call::queue(bulkhead);
        let grow = on_a_thread(bulkhead, |bulkhead| bulkhead.resize(4).unwrap().admitted);
        drop(third);
        grow.join().unwrap();
        drop((held, first.granted(), second.granted()));
        cancelled_and_abandoned(bulkhead)
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 1), (1, 0)]));
}
