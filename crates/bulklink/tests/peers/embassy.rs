//! embassy-sync: the unit tests of `GreedySemaphore` and `FairSemaphore`.

use bulklink::testing::FakeClock;
use bulklink::{Reason, Request};

use crate::{Call, blocked, bulkhead, free, refused, semaphore, take};

/// embassy-sync `try_acquire`, `acquire`: a permit knows how many it is.
#[test]
fn a_slot_knows_its_cost() {
    let semaphore = semaphore(3);
    assert_eq!((take(&semaphore, 1).cost(), Call::new(&semaphore, 2).slot().cost()), (1, 2));
    let two = semaphore.with(Request::new().cost(2)).try_slot().expect("free");
    assert_eq!((two.cost(), free(&semaphore)), (2, 1));
}

/// embassy-sync `try_acquire_all`, `acquire_all`: takes all permits that are free. At a bulkhead,
/// the caller asks for the number that it saw, and another call may be faster.
#[test]
fn all_free_units_are_taken_by_their_number() {
    let semaphore = semaphore(3);
    let _one = take(&semaphore, 1);
    let seen = free(&semaphore);
    let all = take(&semaphore, seen);
    assert_eq!((all.cost(), free(&semaphore)), (2, 0));
    assert_eq!(refused(&semaphore, seen), Reason::Saturated);
}

/// embassy-sync `release`, `set`: more permits than at first, and fewer.
#[test]
fn the_size_can_be_set_up_and_down() {
    let semaphore = semaphore(3);
    for size in [5, 2, 3] {
        semaphore.resize(size).expect("open");
        assert_eq!(free(&semaphore), size);
    }
}

/// embassy-sync `contested`.
#[test]
fn all_units_are_refused_while_one_is_in_use() {
    let semaphore = semaphore(3);
    let one = take(&semaphore, 1);
    assert_eq!(refused(&semaphore, 3), Reason::Saturated);
    drop(one);
    drop(take(&semaphore, 3));
}

/// embassy-sync `fairness`: a waiter for three, one for one behind it, and no place for a third.
/// `greedy`, where the small one overtakes, differs on purpose.
#[test]
fn waiters_keep_their_order_and_a_full_room_rejects() {
    let semaphore = bulkhead(&FakeClock::new(), 3, 2);
    let first = take(&semaphore, 1);
    let mut three = Call::waiting(&semaphore, 3);
    assert_eq!(refused(&semaphore, 1), Reason::Saturated);
    let mut one = Call::waiting(&semaphore, 1);
    assert_eq!(Call::new(&semaphore, 1).reason(), Reason::Saturated);
    drop(first);
    assert!(one.waits());
    let all = three.slot();
    assert!(one.waits());
    drop(all);
    drop(one.slot());
}

/// embassy-sync `wakers`.
#[test]
fn a_release_wakes_every_thread_that_now_fits() {
    let semaphore = semaphore(3);
    let two = take(&semaphore, 2);
    let threads = [blocked(&semaphore, 2), blocked(&semaphore, 1)];
    drop(two);
    let costs = threads.map(|thread| thread.join().expect("no panic").expect("admitted").cost());
    assert_eq!(costs, [2, 1]);
}
