//! Threads that block on a bulkhead on tokio, in its pool and outside any runtime.

use std::thread;
use std::time::{Duration, Instant};

use bulklink_tokio::{Bulkhead, Reason, Request};

const LIMIT: Duration = Duration::from_millis(20);

fn bulkhead() -> Bulkhead {
    Bulkhead::builder("shared").parallelism(1).waiting_room(9).build().expect("valid")
}

#[test]
fn outside_a_runtime_limits_and_deadlines_apply() {
    let bulkhead = bulkhead();
    let _running = bulkhead.blocking_slot().expect("free");
    // Made in its turn: the first wait may end late, and must not use up the time of the second.
    let requests: [fn() -> Request; 2] =
        [|| Request::new().within(LIMIT), || Request::new().before(tokio::time::Instant::now() + 2 * LIMIT)];
    for request in requests {
        let begun = Instant::now();
        let request = request();
        let rejection = bulkhead.with(request).blocking_slot().expect_err("the slot is taken");
        assert_eq!((rejection.reason(), bulkhead.status().waiting), (Reason::Expired, 0));
        assert!(begun.elapsed() >= rejection.waited() && rejection.waited() >= LIMIT / 2);
    }
}

/// Threads of the pool use the time of their runtime, which is paused as long as they run.
#[tokio::test(start_paused = true)]
async fn a_thread_of_the_pool_expires_in_paused_time() {
    let bulkhead = bulkhead();
    let _running = bulkhead.slot().await.expect("free");
    let thread = tokio::task::spawn_blocking({
        let bulkhead = bulkhead.clone();
        move || bulkhead.within(LIMIT).blocking_slot().map(drop)
    });
    while bulkhead.status().waiting == 0 {
        thread::yield_now();
    }
    tokio::time::advance(LIMIT).await;
    let rejection = thread.await.expect("no panic").expect_err("the slot is taken");
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, LIMIT));
}

/// tokio's `Semaphore` panics then (`blocking_acquire_in_async_context`). A bulkhead returns, or
/// blocks the thread of the runtime no longer than the limit.
#[tokio::test]
async fn a_blocking_call_in_a_task_returns_at_its_limit() {
    let bulkhead = bulkhead();
    let running = bulkhead.blocking_slot().expect("free");
    let late = bulkhead.within(LIMIT).blocking_slot().expect_err("the slot is taken");
    assert_eq!(late.reason(), Reason::Expired);
    drop(running);
    drop(bulkhead.owned().blocking_slot().expect("free again"));
}

/// A thread is its own timer, so it can wait for a higher ceiling; a task without one cannot.
#[test]
fn a_blocking_call_waits_for_a_higher_ceiling() {
    let bulkhead = Bulkhead::builder("shared").parallelism(2).build().expect("valid");
    let share = bulkhead.handle().ceiling("share");
    share.set_fetch(LIMIT);
    share.set(0);
    let late = bulkhead.with(Request::new().now()).blocking_slot().expect_err("nothing is allowed");
    assert_eq!((late.reason(), late.waited() >= LIMIT), (Reason::Expired, true));
    share.set_fetch(Duration::from_secs(100));
    let thread = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || bulkhead.with(Request::new().now()).blocking_slot().map(drop)
    });
    while bulkhead.status().waiting == 0 {
        thread::yield_now();
    }
    share.set(1);
    assert!(thread.join().expect("no panic").is_ok());

    let without_timers = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    share.set(0);
    let now = without_timers.block_on(bulkhead.with(Request::new().now()).slot()).expect_err("nothing is allowed");
    assert_eq!(now.reason(), Reason::Saturated);
}
