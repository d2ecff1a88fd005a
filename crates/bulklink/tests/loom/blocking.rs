//! A thread that blocks is woken by whatever ends its wait, however close to falling asleep it is.

use bulklink::{Reason, Request};
use loom::thread;

use crate::call::Call;
use crate::model::model;

#[test]
fn a_slot_is_given_back_while_a_thread_falls_asleep() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let running = bulkhead.try_slot_owned().unwrap();
        let blocked = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || drop(bulkhead.blocking_slot().expect("there is room to wait"))
        });
        drop(running);
        blocked.join().unwrap();
        bulkhead.status().totals.queued
    });
    assert_eq!(outcomes, [0, 1].into());
}

#[test]
fn closing_meets_a_thread_that_falls_asleep() {
    let outcomes = model(1, 1).explore(|bulkhead| {
        let running = bulkhead.try_slot_owned().unwrap();
        let blocked = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || bulkhead.blocking_slot_owned().expect_err("nobody gives it back").reason()
        });
        bulkhead.close();
        assert_eq!(blocked.join().unwrap(), Reason::Closed);
        drop(running);
        bulkhead.status().totals.closed_while_waiting
    });
    assert_eq!(outcomes, [0, 1].into());
}

/// Who stands before it gives up while its slot is on the way.
#[test]
fn a_task_in_front_of_it_gives_up() {
    let outcomes = model(1, 2).explore(|bulkhead| {
        let running = bulkhead.try_slot_owned().unwrap();
        let task = Call::with(bulkhead, Request::new()).queued();
        let blocked = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || drop(bulkhead.blocking_slot().expect("there is room to wait"))
        });
        drop(running);
        drop(task);
        blocked.join().unwrap();
        bulkhead.status().totals.abandoned
    });
    assert_eq!(outcomes, [1].into());
}
