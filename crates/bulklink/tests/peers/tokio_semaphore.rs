//! tokio: `sync_semaphore`, `sync_semaphore_owned`, `semaphore_batch`, `poll_semaphore`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread;

use bulklink::testing::{Executor, FakeClock};
use bulklink::{Limits, OwnedSlot, Reason, Request, ResizeError};

use crate::{Call, blocked, bulkhead, free, ms, refused, semaphore, take};

/// tokio `add_permits_open`: permits are added to any number of permits.
#[test]
fn growing_from_any_size_adds_exactly_the_new_units() {
    for size in 1..5 {
        for added in 0..4 {
            let semaphore = semaphore(size);
            semaphore.resize(size + added).expect("open");
            assert_eq!((free(&semaphore), semaphore.is_closed()), (size + added, false));
        }
    }
}

/// tokio `forget_open`, `forget_permits_basic`: permits are taken away down to zero. A bulkhead
/// keeps one unit at least; with none, no call could ever be admitted.
#[test]
fn shrinking_takes_units_away_down_to_one() {
    for size in 1..5 {
        for taken in 0..5 {
            let semaphore = semaphore(size);
            let resized = semaphore.resize(size.saturating_sub(taken));
            let invalid = matches!(resized, Err(ResizeError::Invalid(_)));
            let left = if taken < size { size - taken } else { size };
            assert_eq!((invalid, free(&semaphore)), (taken >= size, left));
        }
    }
}

/// tokio `add_permits_closed`, `forget_closed`: the permits of a closed semaphore still change. A
/// closed bulkhead only drains.
#[test]
fn a_closed_bulkhead_keeps_its_size() {
    for size in 1..5 {
        let semaphore = semaphore(size);
        semaphore.close();
        for other in 1..5 {
            assert!(matches!(semaphore.resize(other), Err(ResizeError::Closed { .. })));
            assert_eq!((free(&semaphore), semaphore.is_closed()), (size, true));
        }
    }
}

/// tokio `no_permits`, `add_permits`, `poll_acquire_one_zero_permits`: a semaphore may begin
/// without permits. A bulkhead begins paused instead.
#[test]
fn a_bulkhead_may_begin_paused_and_admit_later() {
    let semaphore = semaphore(1);
    semaphore.pause();
    assert_eq!(free(&semaphore), 0);
    let mut call = Call::waiting(&semaphore, 1);
    semaphore.resume();
    assert!(call.is_woken());
    drop(call.slot());
}

/// tokio `acquire`, `poll_acquire_one_unavailable`: a permit goes to the call that waits for it,
/// and never looks free in between.
#[test]
fn a_released_unit_never_looks_free_while_a_call_waits() {
    let semaphore = semaphore(1);
    let running = take(&semaphore, 1);
    let mut call = Call::waiting(&semaphore, 1);
    assert_eq!((free(&semaphore), call.is_woken()), (0, false));
    drop(running);
    assert_eq!((free(&semaphore), call.is_woken()), (0, true));
    let slot = call.slot();
    assert_eq!(free(&semaphore), 0);
    drop(slot);
    assert_eq!(free(&semaphore), 1);
}

/// tokio `poll_acquire_one_available`, `poll_acquire_many_available`, `try_acquire_one_available`,
/// `try_acquire_many_available`, `try_acquire_one_unavailable`, `try_acquire_many_unavailable`.
#[test]
fn costs_are_taken_from_the_free_units_and_given_back() {
    let semaphore = semaphore(100);
    let polled = [1, 5, 5].map(|cost| Call::new(&semaphore, cost).slot());
    assert_eq!(free(&semaphore), 89);
    let taken = [1, 1, 5, 5].map(|cost| take(&semaphore, cost));
    assert_eq!(free(&semaphore), 77);
    assert_eq!(refused(&semaphore, 78), Reason::Saturated);
    assert_eq!(free(&semaphore), 77, "a rejected call takes nothing");
    drop((polled, taken));
    drop(take(&semaphore, 100));
}

/// tokio `poll_acquire_many_unavailable`: the first waiter gets permits bit by bit. At a bulkhead,
/// units that do not suffice for the first call stay free, and go to no other call.
#[test]
fn units_that_do_not_suffice_for_the_first_call_go_to_no_other() {
    let semaphore = semaphore(5);
    let first = take(&semaphore, 1);
    let (mut second, mut third) = (Call::waiting(&semaphore, 5), Call::waiting(&semaphore, 3));
    assert_eq!((free(&semaphore), refused(&semaphore, 1)), (4, Reason::Saturated));
    drop(first);
    assert!(second.is_woken() && !third.is_woken());
    let five = second.slot();
    assert!(third.waits());
    drop(five);
    assert!(third.is_woken());
    let _three = third.slot();
    assert_eq!(free(&semaphore), 2);
}

/// tokio-owned `try_acquire_many`.
#[test]
fn the_whole_capacity_can_be_taken_at_once_and_in_parts() {
    let semaphore = semaphore(42);
    let all = take(&semaphore, 42);
    assert_eq!(refused(&semaphore, 1), Reason::Saturated);
    drop(all);
    let _parts = [take(&semaphore, 32), take(&semaphore, 10)];
    assert_eq!(refused(&semaphore, 1), Reason::Saturated);
}

/// tokio-owned `acquire_many`: 10 of 42 are free at once, 32 after their release.
#[test]
fn a_task_gets_a_small_slot_at_once_and_a_large_one_after_a_release() {
    let mut executor = Executor::new(FakeClock::new());
    let semaphore = bulkhead(&executor.clock(), 42, 1);
    let most = take(&semaphore, 32);
    let task = executor.spawn({
        let semaphore = semaphore.clone();
        async move {
            let ten = semaphore.with(Request::new().cost(10)).slot().await.expect("free");
            let more = semaphore.with(Request::new().cost(32)).slot().await.expect("its turn");
            ten.cost() + more.cost()
        }
    });
    executor.run_until_idle();
    assert_eq!((free(&semaphore), semaphore.status().waiting), (0, 1));
    drop(most);
    executor.run_until_idle();
    assert_eq!((task.output(), free(&semaphore)), (Some(42), 42));
}

/// tokio, tokio-owned `stress_test`.
#[test]
fn after_a_thousand_tasks_exactly_all_slots_are_free() {
    let mut executor = Executor::new(FakeClock::new());
    let semaphore = bulkhead(&executor.clock(), 5, 1_000);
    for _ in 0..1_000 {
        let (semaphore, clock) = (semaphore.clone(), executor.clock());
        executor.spawn(async move {
            let _slot = semaphore.slot().await.expect("room");
            clock.sleep(ms(1)).await;
        });
    }
    executor.advance(ms(200));
    assert_eq!(semaphore.status().peak_in_flight, 5);
    let _all = [(); 5].map(|()| take(&semaphore, 1));
    assert_eq!(refused(&semaphore, 1), Reason::Saturated);
}

/// tokio `add_max_amount_permits`, `add_more_than_max_amount_permits1` and `2`,
/// `no_panic_at_maxpermits`, `panic_when_exceeds_maxpermits`: too many permits panic. At a bulkhead
/// they are an error, which changes nothing.
#[test]
fn growing_to_the_maximum_is_possible_and_beyond_it_an_error() {
    let semaphore = semaphore(Limits::MAX - 1);
    semaphore.resize(Limits::MAX).expect("the maximum");
    let beyond = semaphore.resize(Limits::MAX + 1).expect_err("beyond the maximum");
    assert!(matches!(beyond, ResizeError::Invalid(_)));
    assert_eq!(free(&semaphore), Limits::MAX);
}

/// tokio `blocking_acquire`, `blocking_acquire_many`, `blocking_acquire_owned`,
/// `blocking_acquire_many_owned`.
#[test]
fn blocking_calls_take_units_and_give_them_back() {
    let semaphore = semaphore(5);
    let three = Request::new().cost(3);
    let one = semaphore.blocking_slot().expect("free");
    assert_eq!(free(&semaphore), 4);
    let owned = semaphore.owned().blocking_slot().expect("free");
    assert_eq!(free(&semaphore), 3);
    let many = semaphore.with(three).blocking_slot().expect("free");
    assert_eq!(free(&semaphore), 0);
    drop((one, owned, many));
    let many = semaphore.with(three).blocking_slot().expect("free");
    assert_eq!(free(&semaphore), 2);
    drop(many);
    assert_eq!(free(&semaphore), 5);
}

/// tokio `blocking_acquire_waits_for_permit`.
#[test]
fn a_blocked_thread_gets_the_slot_that_growing_adds() {
    let semaphore = semaphore(1);
    let _running = take(&semaphore, 1);
    let thread = blocked(&semaphore, 1);
    semaphore.resize(2).expect("open");
    drop(thread.join().expect("no panic").expect("admitted"));
}

/// tokio `blocking_acquire_closed`: also where the cost is more than the capacity.
#[test]
fn blocking_calls_on_a_closed_bulkhead_are_rejected_as_closed() {
    let semaphore = semaphore(1);
    semaphore.close();
    for request in [Request::new(), Request::new().cost(2)] {
        assert_eq!(semaphore.with(request).blocking_slot().expect_err("closed").reason(), Reason::Closed);
        assert_eq!(semaphore.with(request).blocking_slot().expect_err("closed").reason(), Reason::Closed);
    }
}

/// tokio `close_semaphore_prevents_acquire`, `close_semaphore_notifies_permit1` and `2`.
#[test]
fn closing_wakes_all_waiters_and_counts_slots_that_come_back() {
    let semaphore = semaphore(2);
    let [first, second] = [take(&semaphore, 1), take(&semaphore, 1)];
    let mut waiting = [Call::waiting(&semaphore, 1), Call::waiting(&semaphore, 1)];
    semaphore.close();
    for call in &mut waiting {
        assert!(call.is_woken());
        assert_eq!(call.reason(), Reason::Closed);
    }
    assert_eq!(free(&semaphore), 0);
    for (slot, expected) in [(first, 1), (second, 2)] {
        drop(slot);
        assert_eq!((free(&semaphore), Call::new(&semaphore, 1).reason()), (expected, Reason::Closed));
    }
}

/// tokio `cancel_acquire_releases_permits`.
#[test]
fn a_cancelled_call_leaves_the_free_units_to_others() {
    let semaphore = semaphore(10);
    let _four = take(&semaphore, 4);
    let waiting = Call::waiting(&semaphore, 8);
    assert_eq!(refused(&semaphore, 6), Reason::Saturated);
    drop(waiting);
    assert_eq!(free(&semaphore), 6);
    drop(take(&semaphore, 6));
}

/// tokio `release_permits_at_drop`: a waker that owns a slot is replaced by the next poll, and its
/// slot is released then.
#[test]
fn a_waker_that_owns_a_slot_can_be_replaced() {
    struct Owner {
        _slot: Option<OwnedSlot>,
    }
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {}
    }
    let semaphore = semaphore(1);
    let mut call = pin!(semaphore.slot());
    let owner = Waker::from(Arc::new(Owner { _slot: Some(take(&semaphore, 1)) }));
    assert!(call.as_mut().poll(&mut Context::from_waker(&owner)).is_pending());
    drop(owner);
    let other = Waker::from(Arc::new(Owner { _slot: None }));
    let mut context = Context::from_waker(&other);
    // The slot is released while the call is polled.
    assert!(call.as_mut().poll(&mut context).is_ready() || call.as_mut().poll(&mut context).is_ready());
}

/// tokio `update_permits_many_times`: a call for seven of five permits waits until there are more.
/// At a bulkhead, a cost above the capacity is an error, as no release could ever admit it.
#[test]
fn a_cost_above_the_capacity_is_an_error_until_the_bulkhead_grows() {
    let semaphore = semaphore(5);
    assert_eq!(Call::new(&semaphore, 7).reason(), Reason::InvalidCost);
    semaphore.resize(10).expect("open");
    let _seven = Call::new(&semaphore, 7).slot();
    assert_eq!(free(&semaphore), 3);
    semaphore.resize(7).expect("open");
    assert_eq!(free(&semaphore), 0);
}

/// tokio-util `can_poll_different_amounts_of_permits`: one object is polled for other amounts. Here
/// each call has its cost, and another cost is another call.
#[test]
fn a_call_can_be_replaced_by_a_smaller_one() {
    let semaphore = semaphore(4);
    let _one = take(&semaphore, 1);
    let four = Call::waiting(&semaphore, 4);
    drop(four);
    let _three = Call::new(&semaphore, 3).slot();
    assert_eq!((free(&semaphore), semaphore.status().waiting), (0, 0));
}

/// tokio-util `it_works`: after closing, each poll is rejected.
#[test]
fn each_call_after_closing_is_rejected() {
    let semaphore = semaphore(1);
    let running = take(&semaphore, 1);
    let mut call = Call::waiting(&semaphore, 1);
    drop(running);
    drop(call.slot());
    semaphore.close();
    for _ in 0..3 {
        assert_eq!(Call::new(&semaphore, 1).reason(), Reason::Closed);
    }
}

/// tokio loom `basic_usage`, `batch`, on threads of the machine. The loom scenes try every order.
#[test]
fn threads_never_use_more_units_than_the_capacity() {
    let semaphore = semaphore(10);
    let threads = [(); 4].map(|()| {
        let semaphore = semaphore.clone();
        thread::spawn(move || {
            for cost in [4, 10, 8].repeat(50) {
                let slot = semaphore.with(Request::new().cost(cost)).blocking_slot().expect("room");
                assert!(semaphore.status().in_use <= 10);
                drop(slot);
            }
        })
    });
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert_eq!(free(&semaphore), 10);
}

/// tokio, tokio-owned `forget`; embassy-sync `disarm`.
#[test]
fn a_slot_that_is_written_off_never_becomes_free() {
    let one = semaphore(1);
    take(&one, 1).forget();
    assert_eq!((free(&one), refused(&one, 1)), (0, Reason::Saturated));
    let three = semaphore(3);
    three.try_slot().expect("free").forget();
    assert_eq!((free(&three), three.status().in_flight), (2, 0));
    drop(take(&three, 2));
    assert_eq!((free(&three), refused(&three, 3)), (2, Reason::Saturated));
}

/// tokio, tokio-owned `merge`.
#[test]
fn a_merged_slot_gives_back_the_units_of_both() {
    let semaphore = semaphore(3);
    let (mut one, two) = (take(&semaphore, 1), take(&semaphore, 2));
    one.merge(two).expect("of the same bulkhead");
    assert_eq!((one.cost(), free(&semaphore)), (3, 0));
    drop(one);
    assert_eq!(free(&semaphore), 3);
    let mut one = semaphore.owned().try_slot().expect("free");
    let two = semaphore.with(Request::new().cost(2)).try_slot().expect("free");
    one.merge(two).expect("of the same bulkhead");
    assert_eq!(free(&semaphore), 0);
    drop(one);
    assert_eq!(free(&semaphore), 3);
}

/// tokio, tokio-owned `merge_unrelated_permits`: a panic there, and an error here, which returns
/// the slot.
#[test]
fn a_slot_of_another_bulkhead_is_not_merged() {
    let (first, second) = (semaphore(3), semaphore(3));
    let mut slot = take(&first, 1);
    let other = slot.merge(take(&second, 1)).expect_err("of another bulkhead");
    assert_eq!((free(&first), free(&second)), (2, 2));
    drop((slot, other));
    assert_eq!((free(&first), free(&second)), (3, 3));
}

/// tokio, tokio-owned `split`: a permit may be of zero there. Here each part has a unit.
#[test]
fn each_part_of_a_split_slot_is_given_back_by_itself() {
    let semaphore = semaphore(5);
    let mut slot = take(&semaphore, 3);
    let mut part = slot.split(1).expect("it has three");
    assert_eq!((slot.cost(), part.cost(), free(&semaphore)), (2, 1, 2));
    assert!(slot.split(0).is_none() && slot.split(2).is_none() && part.split(1).is_none());
    drop(slot);
    assert_eq!(free(&semaphore), 4);
    drop(part);
    assert_eq!(free(&semaphore), 5);
}

/// tokio `poll_acquire_many_unavailable`, `try_acquire_many_unavailable`: permits come back in
/// parts.
#[test]
fn a_waiter_is_admitted_when_enough_parts_have_come_back() {
    let semaphore = semaphore(5);
    let mut slot = take(&semaphore, 5);
    let mut waiting = Call::waiting(&semaphore, 3);
    for _ in 0..2 {
        drop(slot.split(1).expect("it has more"));
        assert!(waiting.waits());
    }
    drop(slot.split(1).expect("it has more"));
    assert!(waiting.is_woken());
    assert_eq!((waiting.slot().cost(), slot.cost()), (3, 2));
}
