//! Limits and deadlines by the runtime's clock and timers. The tests assert that they do not pass
//! early; how late they pass is not asserted.

use std::time::Duration;

use bulklink::runtime::Clock;
use bulklink::{Reason, Rejection, Request};

use crate::Harness;
use crate::scene::{LIMIT, LONG, play, sleep};

fn is_expired(rejection: &Rejection, limit: Duration) {
    assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(limit)), "{rejection}");
    assert!(rejection.waited() >= limit, "{rejection}");
}

pub(crate) fn a_limit_passes<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5).wait_limit(LIMIT),
        async |scene| {
            let _running = scene.bulkhead.slot().await.expect("free");
            let (outcome, took) = scene.timed(scene.bulkhead.slot()).await;
            is_expired(&outcome.expect_err("taken"), LIMIT);
            assert!(took >= LIMIT, "{took:?}");
            let own = scene.bulkhead.within(LIMIT / 2).slot().await;
            is_expired(&own.expect_err("taken"), LIMIT / 2);
            let longer = scene.spawn(scene.bulkhead.within(LONG).slot()).await;
            is_expired(&longer.expect_err("taken"), LIMIT);
            assert_eq!(scene.bulkhead.status().totals.expired, 3);
        },
    );
}

pub(crate) fn a_deadline_passes<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let _running = scene.bulkhead.slot().await.expect("free");
            let deadline = scene.after(LIMIT);
            let task = scene.spawn(scene.bulkhead.with(Request::new().before(deadline)).slot());
            let rejection = task.await.expect_err("taken");
            assert!(scene.runtime.now() >= scene.runtime.instant(deadline), "{rejection}");
            assert_eq!(rejection.reason(), Reason::Expired);
            assert!(rejection.limit().is_some_and(|limit| limit <= LIMIT), "{rejection}");
        },
    );
}

pub(crate) fn a_past_deadline_expires_immediately<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let past = Request::new().before(scene.after(Duration::ZERO));
            let rejection = scene.bulkhead.with(past).slot().await.expect_err("past, although there is room");
            assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(Duration::ZERO)));
            let running = scene.bulkhead.with(Request::new().before(scene.after(LONG))).slot().await.expect("free");
            assert_eq!(scene.bulkhead.with(past).slot().await.expect_err("past").waited(), Duration::ZERO);
            drop(running);
            assert_eq!(scene.bulkhead.status().totals.expired_before_queue, 2);
        },
    );
}

/// A timer that is set to the end of time neither overflows nor fires.
pub(crate) fn a_limit_beyond_the_range_of_the_clock_never_passes<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5).wait_limit(Duration::MAX),
        async |scene| {
            const CENTURY: Duration = Duration::from_hours(100 * 365 * 24);
            let running = scene.bulkhead.slot().await.expect("free");
            let mut waiting = vec![];
            for limit in [Duration::MAX, Duration::from_secs(u64::MAX / 2), 4 * CENTURY, CENTURY] {
                waiting.push(scene.queued(Request::new().within(limit)).await);
            }
            scene.sleep(LIMIT / 4).await;
            assert_eq!(scene.bulkhead.status().waiting, 4);
            drop(running);
            for call in waiting {
                drop(call.await.expect("it was admitted"));
            }
        },
    );
}

pub(crate) fn a_call_that_is_never_polled_delays_no_other<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(3).wait_limit(LONG),
        async |scene| {
            let _running = scene.bulkhead.slot().await.expect("free");
            let within = |limit| Request::new().within(limit);
            let _held = [LIMIT / 2, LIMIT / 4].map(|limit| scene.polled_once(within(limit)));
            let call = scene.spawn(scene.bulkhead.with(within(LIMIT)).slot());
            is_expired(&call.await.expect_err("taken"), LIMIT);
            let status = scene.bulkhead.status();
            assert_eq!((status.waiting, status.totals.expired), (0, 3), "the call that is never polled is late too");
            let again = scene.spawn(scene.bulkhead.with(within(LIMIT)).slot());
            is_expired(&again.await.expect_err("taken"), LIMIT);
        },
    );
}

/// A driver that waits for the far deadline must be woken for the near one, before and after its
/// first run.
pub(crate) fn a_nearer_deadline_is_kept<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1).waiting_room(5),
        async |scene| {
            let _running = scene.bulkhead.slot().await.expect("free");
            for settled in [false, true] {
                let _far = scene.polled_once(Request::new().within(10 * LONG));
                if settled {
                    scene.sleep(LIMIT / 4).await;
                }
                let near = scene.bulkhead.within(LIMIT).slot().await;
                is_expired(&near.expect_err("taken"), LIMIT);
                assert_eq!(scene.bulkhead.status().waiting, 1, "settled: {settled}");
            }
        },
    );
}

/// Waiters expire while slots are released, and each gets exactly one answer.
pub(crate) fn limits_pass_under_load<H: Harness>() {
    const TASKS: u64 = 500;
    play::<H>(
        |limits| limits.parallelism(2).waiting_room(500).wait_limit(LIMIT / 4),
        async |scene| {
            let taken = [scene.bulkhead.slot().await, scene.bulkhead.slot().await];
            is_expired(&scene.bulkhead.slot().await.expect_err("taken"), LIMIT / 4);
            drop(taken);
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let bulkhead = scene.bulkhead.clone();
                    scene.spawn(async move { bulkhead.execute(sleep::<H>(Duration::from_millis(1))).await })
                })
                .collect();
            let (mut ran, mut late) = (0, 0);
            for task in tasks {
                match task.await {
                    Ok(()) => ran += 1,
                    Err(rejection) => {
                        is_expired(&rejection, LIMIT / 4);
                        late += 1;
                    }
                }
            }
            let totals = scene.bulkhead.status().totals;
            assert_eq!((totals.finished, totals.expired), (2 + ran, 1 + late));
            assert!(ran >= 2, "{totals:?}");
        },
    );
}
