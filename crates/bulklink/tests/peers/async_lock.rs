//! async-lock: `tests/semaphore.rs`.

use std::sync::{Arc, Barrier};
use std::thread;

use crate::{Call, block_on, blocked, free, refused, semaphore, take};

/// async-lock `stress`.
#[test]
fn after_fifty_threads_exactly_all_slots_are_free() {
    let semaphore = semaphore(5);
    let threads: Vec<_> = (0..50)
        .map(|_| {
            let semaphore = semaphore.clone();
            thread::spawn(move || block_on(async { drop_all(&semaphore).await }))
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let mut all: Vec<_> = (0..5).map(|_| take(&semaphore, 1)).collect();
    refused(&semaphore, 1);
    all.pop();
    drop(take(&semaphore, 1));
    assert!(semaphore.status().peak_in_flight <= 5);
}

async fn drop_all(semaphore: &crate::TestBulkhead) {
    for _ in 0..200 {
        drop(semaphore.slot().await.expect("room"));
    }
}

/// async-lock `multi_resource`: each of two threads holds a slot and waits for the other.
#[test]
fn two_threads_hold_two_slots_at_the_same_time() {
    let semaphore = semaphore(2);
    let both = Arc::new(Barrier::new(2));
    let other = thread::spawn({
        let (semaphore, both) = (semaphore.clone(), Arc::clone(&both));
        move || {
            let _slot = block_on(semaphore.slot()).expect("free");
            both.wait();
        }
    });
    let slot = block_on(semaphore.slot()).expect("free");
    both.wait();
    drop(slot);
    other.join().expect("no panic");
    assert_eq!((free(&semaphore), semaphore.status().peak_in_flight), (2, 2));
}

/// async-lock `lifetime`.
#[test]
fn an_owned_future_outlives_the_bulkhead() {
    let (mut unpolled, mut waiting, running) = {
        let semaphore = semaphore(1);
        let unpolled = Call::new(&semaphore, 1);
        let running = take(&semaphore, 1);
        (unpolled, Call::waiting(&semaphore, 1), running)
    };
    assert!(unpolled.waits());
    drop(running);
    drop(waiting.slot());
    drop(unpolled.slot());
}

/// async-lock `add_permits`: fifty threads wait, and all of them get a permit, which none gives
/// back.
#[test]
fn a_resumption_admits_as_many_threads_as_there_are_slots() {
    let semaphore = semaphore(50);
    semaphore.pause();
    let threads: Vec<_> = (0..50).map(|_| blocked(&semaphore, 1)).collect();
    assert_eq!(semaphore.status().totals.admitted, 0);
    semaphore.resume();
    let slots: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    assert!(slots.iter().all(Result::is_ok));
    assert_eq!(semaphore.status().in_flight, 50);
}

/// async-lock `add_permits_2`.
#[test]
fn one_more_slot_admits_only_the_first_of_two_waiters() {
    let semaphore = semaphore(1);
    let _running = take(&semaphore, 1);
    let (mut first, mut second) = (Call::waiting(&semaphore, 1), Call::waiting(&semaphore, 1));
    semaphore.resize(2).expect("open");
    assert!(first.is_woken() && !second.is_woken());
    let _slot = first.slot();
    assert!(second.waits());
}
