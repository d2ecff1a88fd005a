//! Changing the capacity while operations run.

use bulklink::Resized;
use bulklink::testing::Task;

use crate::{bulkhead, call, executor, slot};

#[test]
fn growing_admits_waiters_in_order() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let _running = bulkhead.try_slot().expect("free");
    let waiting = [(); 3].map(|()| call(&mut executor, &bulkhead));
    let Resized { previous, admitted, .. } = bulkhead.resize(3).expect("open");
    assert_eq!((previous, admitted), (1, 2));
    executor.run_until_idle();
    assert_eq!(waiting.each_ref().map(Task::is_finished), [true, true, false]);
}

#[test]
fn shrinking_cancels_nothing_and_delays_admissions() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 5);
    let mut running = [(); 3].map(|()| Some(slot(&call(&mut executor, &bulkhead))));
    let waiting = call(&mut executor, &bulkhead);
    bulkhead.resize(1).expect("open");
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.free(), status.capacity_excess()), (3, 0, 2));
    assert!(status.is_over_capacity() && status.utilization() > 1.0);
    for slot in running.iter_mut().take(2) {
        slot.take();
        executor.run_until_idle();
        assert!(!waiting.is_finished());
    }
    running[2].take();
    executor.run_until_idle();
    assert!(waiting.is_finished());
}

#[test]
fn the_same_size_changes_nothing() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 2, 0);
    let resized = bulkhead.resize(2).expect("open");
    assert_eq!((resized.previous, resized.admitted), (2, 0));
}
