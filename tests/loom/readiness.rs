//! The verdict on a bulkhead is read while a call begins to wait or ends its wait.

use std::collections::BTreeSet;
use std::time::Duration;

use bulklink::Readiness;
use loom::thread;

use crate::call::Call;
use crate::model::{TestBulkhead, model};

/// The grace period in nanoseconds.
const GRACE: u64 = 8;

fn watching(bulkhead: &TestBulkhead) -> Readiness {
    let readiness = Readiness::new(Duration::from_nanos(GRACE)).unwrap();
    readiness.watch(bulkhead);
    readiness
}

#[test]
fn a_wait_that_ends_leaves_no_moment_that_is_ready() {
    model(1, 1).preemptions_if_fast(3).explore_in_time(|bulkhead, clock| {
        let readiness = watching(bulkhead);
        let held = bulkhead.owned().try_slot().unwrap();
        let call = Call::new(bulkhead).queued();
        clock.set(3 * GRACE);
        let release = thread::spawn(move || drop(held));
        assert!(!readiness.is_ready(), "the whole grace period was waited");
        release.join().unwrap();
        assert!(!readiness.is_ready());
        clock.set(4 * GRACE);
        assert!(readiness.is_ready());
        drop(call.granted());
    });
}

#[test]
fn a_call_that_meets_the_first_look_is_seen() {
    let verdicts = model(1, 1).preemptions_if_fast(3).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let late = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || Call::new(&bulkhead).queued()
        });
        let readiness = watching(bulkhead);
        let call = late.join().unwrap();
        clock.set(GRACE);
        let is_ready = readiness.is_ready();
        drop(held);
        drop(call.granted());
        clock.set(3 * GRACE);
        assert!(readiness.is_ready());
        is_ready
    });
    assert_eq!(verdicts, BTreeSet::from([false]));
}

#[test]
fn a_wait_that_begins_after_a_silence_leaves_no_moment_that_is_not_ready() {
    model(1, 1).preemptions_if_fast(3).explore_in_time(|bulkhead, clock| {
        let readiness = watching(bulkhead);
        let held = bulkhead.owned().try_slot().unwrap();
        drop(Call::new(bulkhead).queued());
        clock.set(3 * GRACE);
        let late = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || Call::new(&bulkhead).queued()
        });
        assert!(readiness.is_ready(), "no time was waited");
        let call = late.join().unwrap();
        assert!(readiness.is_ready());
        clock.set(4 * GRACE);
        assert!(!readiness.is_ready());
        drop(held);
        drop(call.granted());
    });
}
