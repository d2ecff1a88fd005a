//! .NET: the tests of `System.Threading.RateLimiting.ConcurrencyLimiter`.

use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, Limits, Reason, Request};

use crate::{Call, TestBulkhead, bulkhead, free, refused, take};

/// A bulkhead with a queue that is limited in units, as the permits of .NET's are.
fn limiter(permits: usize, queue: usize) -> TestBulkhead {
    let builder = Bulkhead::builder_on(FakeClock::new(), "test").capacity(permits).waiting_room(Limits::MAX);
    builder.waiting_room_units(queue).build().expect("valid")
}

/// .NET `CanAcquireResource`, `CanAcquireResourceAsync`.
#[test]
fn a_slot_is_acquired_refused_and_acquired_again() {
    let limiter = limiter(1, 1);
    let lease = take(&limiter, 1);
    assert_eq!(refused(&limiter, 1), Reason::Saturated);
    let mut waiting = Call::waiting(&limiter, 1);
    drop(lease);
    drop(waiting.slot());
    drop(take(&limiter, 1));
}

/// .NET `CanAcquireResourceAsync_QueuesAndGrabsOldest`. (`…GrabsNewest` has no counterpart: the
/// order is always first come, first served.)
#[test]
fn the_oldest_waiter_is_next() {
    let limiter = limiter(1, 2);
    let lease = take(&limiter, 1);
    let mut waits = [Call::waiting(&limiter, 1), Call::waiting(&limiter, 1)];
    drop(lease);
    let first = waits[0].slot();
    assert!(waits[1].waits());
    drop(first);
    drop(waits[1].slot());
}

/// .NET `FailsWhenQueuingMoreThanLimit_OldestFirst`,
/// `QueueAvailableAfterQueueLimitHitAndResources_BecomeAvailable`. (With `NewestFirst`, the oldest
/// waiter is dropped instead. Here a call that waits is never rejected for a newer one.)
#[test]
fn a_full_queue_rejects_the_newest_call_until_there_is_room_again() {
    let limiter = limiter(1, 1);
    let mut lease = take(&limiter, 1);
    let mut waiting = Call::waiting(&limiter, 1);
    for _ in 0..3 {
        assert_eq!(Call::new(&limiter, 1).reason(), Reason::Saturated);
        assert!(waiting.waits());
        drop(lease);
        lease = waiting.slot();
        waiting = Call::waiting(&limiter, 1);
    }
}

/// .NET `LargeAcquiresAndQueuesDoNotIntegerOverflow`.
#[test]
fn the_largest_costs_and_queues_do_not_overflow() {
    let limiter = bulkhead(&FakeClock::new(), Limits::MAX, Limits::MAX);
    let all = take(&limiter, Limits::MAX);
    let mut waits = [3, Limits::MAX, Limits::MAX, Limits::MAX].map(|cost| Call::waiting(&limiter, cost));
    assert_eq!(limiter.status().waiting_units, 3 + 3 * Limits::MAX as u64);
    drop(all);
    for call in &mut waits {
        drop(call.slot());
    }
    assert_eq!((free(&limiter), limiter.status().waiting_units), (Limits::MAX, 0));
}

/// .NET `CanDequeueMultipleResourcesAtOnce`.
#[test]
fn one_release_admits_several_calls() {
    let limiter = limiter(2, 2);
    let both = take(&limiter, 2);
    let mut waits = [Call::waiting(&limiter, 1), Call::waiting(&limiter, 1)];
    drop(both);
    assert!(waits.iter().all(Call::is_woken));
    let _slots = waits.each_mut().map(Call::slot);
}

/// .NET `CannotAcquireResourcesWithAcquireAsyncWithQueuedItemsIfOldestFirst`,
/// `CannotAcquireResourcesWithAcquireWithQueuedItemsIfOldestFirst`. (With `NewestFirst` they can.)
#[test]
fn a_free_unit_goes_to_no_call_behind_a_waiter() {
    let limiter = limiter(2, 3);
    let lease = take(&limiter, 1);
    let mut both = Call::waiting(&limiter, 2);
    let mut one = Call::waiting(&limiter, 1);
    assert_eq!(refused(&limiter, 1), Reason::Saturated);
    drop(lease);
    let slot = both.slot();
    assert!(one.waits());
    drop(slot);
    drop(one.slot());
}

/// .NET `CanCancelAcquireAsyncAfterQueuing`, `CancelUpdatesQueueLimit`.
#[test]
fn a_cancelled_call_frees_its_place() {
    let limiter = limiter(1, 1);
    let lease = take(&limiter, 1);
    drop(Call::waiting(&limiter, 1));
    let mut waiting = Call::waiting(&limiter, 1);
    assert_eq!(Call::new(&limiter, 1).reason(), Reason::Saturated);
    drop(lease);
    drop(waiting.slot());
    assert_eq!(free(&limiter), 1);
}

/// .NET `CanDisposeAfterCancelingQueuedRequest`.
#[test]
fn closing_after_a_cancellation_rejects_no_call() {
    let limiter = limiter(1, 1);
    let _lease = take(&limiter, 1);
    drop(Call::waiting(&limiter, 1));
    limiter.close();
    let totals = limiter.status().totals;
    assert_eq!((totals.cancelled, totals.closed(), totals.rejected()), (1, 0, 0));
}

/// .NET `DisposeReleasesQueuedAcquires`, `DisposeAsyncReleasesQueuedAcquires`: later calls throw.
/// Here they are rejected, as the queued ones are.
#[test]
fn closing_rejects_queued_and_later_calls() {
    let limiter = limiter(1, 3);
    let lease = take(&limiter, 1);
    let mut waits = [(); 3].map(|()| Call::waiting(&limiter, 1));
    limiter.close();
    assert_eq!(waits.each_mut().map(Call::reason), [Reason::Closed; 3]);
    drop(lease);
    assert_eq!([refused(&limiter, 1), Call::new(&limiter, 1).reason()], [Reason::Closed; 2]);
}

/// .NET `ReasonMetadataOnFailedWaitAsync`, `NoMetadataOnAcquiredLease`,
/// `MetadataNamesContainsAllMetadata`: a failed lease has a reason. Here only a rejection has one.
#[test]
fn a_rejection_says_why_in_words() {
    let limiter = limiter(2, 1);
    let _lease = take(&limiter, 2);
    let rejection = Call::new(&limiter, 2).answer().expect_err("more than the queue holds");
    assert_eq!((rejection.reason(), rejection.waiting_room_units()), (Reason::Saturated, Some(1)));
    assert!(rejection.to_string().contains("0 of 1 units"), "{rejection}");
}

/// .NET `GetStatisticsReturnsNewInstances`.
#[test]
fn a_status_does_not_change_later() {
    let limiter = limiter(1, 1);
    let before = limiter.status();
    let _lease = take(&limiter, 1);
    assert_eq!((before.free(), limiter.status().free()), (1, 0));
}

/// .NET `GetStatisticsHasCorrectValues`.
#[test]
fn a_status_has_the_free_and_the_queued_units_and_the_outcomes() {
    let limiter = limiter(100, 50);
    let figures = || {
        let status = limiter.status();
        (status.free(), status.waiting_units, status.totals.rejected(), status.totals.admitted)
    };
    assert_eq!(figures(), (100, 0, 0, 0));
    let lease = take(&limiter, 60);
    assert_eq!(figures(), (40, 0, 0, 1));
    let mut waiting = Call::waiting(&limiter, 50);
    assert_eq!(figures(), (40, 50, 0, 1));
    assert_eq!(Call::new(&limiter, 1).reason(), Reason::Saturated);
    assert_eq!(figures(), (40, 50, 1, 1));
    assert_eq!(refused(&limiter, 100), Reason::Saturated);
    assert_eq!(figures(), (40, 50, 2, 1));
    drop(lease);
    let _slot = waiting.slot();
    assert_eq!(figures(), (50, 0, 2, 2));
}

/// .NET `AcquireZero_*`, `AcquireAsyncZero_*`, `GetStatisticsWithZeroPermitCount`: zero permits ask
/// whether there are any. Here a cost of zero is an error, and a status answers the question.
#[test]
fn a_cost_of_zero_is_an_error_with_and_without_free_units() {
    let limiter = limiter(1, 1);
    for _lease in [None, Some(take(&limiter, 1))] {
        assert_eq!(refused(&limiter, 0), Reason::InvalidCost);
        assert_eq!(Call::of(&limiter, Request::new().cost(0)).reason(), Reason::InvalidCost);
    }
    assert_eq!((limiter.status().totals.rejected(), limiter.status().is_saturated()), (0, false));
}
