//! Go's `golang.org/x/sync/semaphore`.

use std::thread;

use bulklink::testing::{Executor, FakeClock};
use bulklink::{Reason, Request};

use crate::{Call, bulkhead, free, ms, refused, semaphore, take};

/// Go `TestWeighted`. (There, one of the costs is zero, which is an error here.)
#[test]
fn threads_with_different_costs_leave_all_units_free() {
    let semaphore = semaphore(4);
    let threads = [1, 2, 3, 4].map(|cost| {
        let semaphore = semaphore.clone();
        thread::spawn(move || {
            for _ in 0..300 {
                let slot = semaphore.with(Request::new().cost(cost)).blocking_slot().expect("room");
                assert!(semaphore.status().in_use <= 4);
                drop(slot);
            }
        })
    });
    for thread in threads {
        thread.join().expect("no panic");
    }
    drop(take(&semaphore, 4));
}

/// Go `TestWeightedTryAcquire`.
#[test]
fn a_try_succeeds_exactly_if_a_unit_is_free() {
    let semaphore = semaphore(2);
    let both = (take(&semaphore, 1), take(&semaphore, 1));
    assert_eq!(refused(&semaphore, 1), Reason::Saturated);
    drop(both);
    let _both = (take(&semaphore, 1), take(&semaphore, 1));
    assert_eq!(refused(&semaphore, 1), Reason::Saturated);
}

/// Go `TestWeightedAcquire`: the same with calls that wait for 10 ms.
#[test]
fn a_call_with_a_limit_succeeds_or_expires_at_it() {
    let mut executor = Executor::new(FakeClock::new());
    let semaphore = bulkhead(&executor.clock(), 2, 1);
    let limited = Request::new().within(ms(10));
    for _ in 0..2 {
        let _one = take(&semaphore, 1);
        let second = executor.spawn(semaphore.with(limited).slot());
        executor.run_until_idle();
        let _two = second.output().expect("free").expect("admitted");
        let third = executor.spawn(semaphore.with(limited).slot());
        executor.advance(ms(9));
        assert!(!third.is_finished());
        executor.advance(ms(1));
        let rejection = third.output().expect("it is late").expect_err("no unit is free");
        assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, ms(10)));
    }
    assert_eq!(free(&semaphore), 2);
}

/// Go `TestWeightedDoesntBlockIfTooBig`: a call for more than there is waits until its context
/// ends, and blocks no other. At a bulkhead it is an error at once.
#[test]
fn a_call_that_asks_for_too_much_blocks_no_other() {
    let semaphore = semaphore(2);
    let mut too_big = Call::new(&semaphore, 3);
    assert_eq!(too_big.reason(), Reason::InvalidCost);
    let first = [take(&semaphore, 1), take(&semaphore, 1)];
    let mut others = [(); 4].map(|()| Call::waiting(&semaphore, 1));
    drop(first);
    for call in &mut others {
        drop(call.slot());
    }
}

/// Go `TestLargeAcquireDoesntStarve`: small calls come back as soon as they end.
#[test]
fn a_large_call_is_admitted_though_small_ones_keep_coming() {
    let semaphore = semaphore(4);
    let small = [(); 4].map(|()| take(&semaphore, 1));
    let mut large = Call::waiting(&semaphore, 4);
    let mut again: Vec<_> = small
        .into_iter()
        .map(|slot| {
            assert!(large.waits());
            drop(slot);
            Call::waiting(&semaphore, 1)
        })
        .collect();
    let all = large.slot();
    assert!(again.iter_mut().all(Call::waits));
    drop(all);
    let _slots: Vec<_> = again.iter_mut().map(Call::slot).collect();
    assert_eq!(free(&semaphore), 0);
}

/// Go `TestWeightedAcquireCanceled`: a call past its time before the units were free does not get
/// them, and a call past its time gets none even where they are free.
#[test]
fn a_call_whose_time_has_ended_takes_no_unit() {
    let clock = FakeClock::new();
    let semaphore = bulkhead(&clock, 2, 1);
    let one = take(&semaphore, 1);
    let end = bulklink::runtime::Clock::now(&clock) + ms(10);
    let mut both = Call::of(&semaphore, Request::new().cost(2).before(end));
    assert!(both.waits());
    clock.advance(ms(10));
    drop(one);
    assert_eq!(both.reason(), Reason::Expired);
    drop(take(&semaphore, 2));
    assert_eq!(Call::of(&semaphore, Request::new().before(end)).reason(), Reason::Expired);
}

/// Go `Example_workerPool`: a call for the whole capacity waits for all workers.
#[test]
fn taking_the_whole_capacity_waits_for_all_workers() {
    let mut executor = Executor::new(FakeClock::new());
    let pool = bulkhead(&executor.clock(), 3, 32);
    let results: Vec<_> = (0..32)
        .map(|number: u32| {
            let (pool, clock) = (pool.clone(), executor.clock());
            let work = async move {
                clock.sleep(ms(1)).await;
                number * number
            };
            executor.spawn(async move { pool.execute(work).await })
        })
        .collect();
    executor.run_until_idle();
    let all = executor.spawn(pool.with(Request::new().cost(3)).slot());
    executor.advance(ms(10));
    assert!(!all.is_finished(), "the last two of 32 calls run");
    executor.advance(ms(1));
    assert!(all.is_finished());
    let squares: Vec<_> = results.iter().map(|result| result.output().expect("done").expect("room")).collect();
    assert_eq!(squares, (0..32).map(|number| number * number).collect::<Vec<_>>());
}
