//! One bulkhead on several runtimes, one after the other and at the same time.

use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink_tokio::{Bulkhead, ExecuteOwned, Limits, Reason, Registry, Request, StaticBulkhead, Tokio};
use tokio::runtime::{Builder, Runtime};

const HOUR: Duration = Duration::from_secs(3600);
const LIMIT: Duration = Duration::from_millis(20);

fn paused() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime")
}

fn real() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn bulkhead() -> Bulkhead {
    Bulkhead::builder("shared").parallelism(1).waiting_room(5).wait_limit(LIMIT).build().expect("valid")
}

/// Holds the only slot until another call expires.
async fn expires_in_time(bulkhead: &Bulkhead) {
    let _running = bulkhead.slot().await.expect("the slot was free");
    let begun = tokio::time::Instant::now();
    let rejection = bulkhead.slot().await.expect_err("it is taken");
    assert_eq!(rejection.reason(), Reason::Expired);
    assert!(begun.elapsed() >= LIMIT && begun.elapsed() < LIMIT + HOUR / 2, "waited {:?}", begun.elapsed());
}

/// The globs would make `Instant` ambiguous if both had one.
#[test]
fn a_deadline_is_an_instant_of_tokio_or_of_the_standard_library() {
    mod of_std {
        use bulklink_tokio::*;
        use std::time::*;

        pub(super) fn request() -> Request {
            Request::new().before(Instant::now() + Duration::from_secs(3600))
        }
    }

    let bulkhead = bulkhead();
    real().block_on(async {
        let running = bulkhead.with(of_std::request()).slot().await.expect("free");
        let soon = tokio::time::Instant::now() + LIMIT / 4;
        let rejection = bulkhead.with(Request::new().before(soon)).slot().await.expect_err("it is taken");
        assert_eq!(rejection.reason(), Reason::Expired);
        let soon = std::time::Instant::now() + LIMIT / 4;
        let rejection = bulkhead.with(Request::new().deadline(soon)).slot().await.expect_err("it is taken");
        assert!(rejection.kept().is_some(), "{rejection}");
        drop(running);
    });
}

#[test]
fn a_static_bulkhead_needs_no_cell_of_its_own() {
    static SHARED: StaticBulkhead =
        StaticBulkhead::new("shared", Tokio, Limits::new(1).with_waiting_room(5).with_wait_limit(Some(LIMIT)));

    let registry = Registry::new();
    registry.add(&SHARED).expect("a new label");
    for runtime in [real(), paused()] {
        runtime.block_on(expires_in_time(&SHARED));
        let running = runtime.block_on(SHARED.slot()).expect("free");
        let waiting = runtime.spawn(SHARED.with(Request::new()).execute(async { "run" }));
        runtime.block_on(tokio::task::yield_now());
        drop(running);
        assert_eq!(runtime.block_on(waiting).expect("no panic"), Ok("run"));
    }
    assert_eq!(registry.statuses()[0].totals.expired, 2);
}

#[test]
fn an_owned_call_is_spawned_as_it_is() {
    struct Job(ExecuteOwned<std::future::Ready<u8>>);

    let bulkhead = bulkhead();
    let job = Job(bulkhead.owned().execute(std::future::ready(7)));
    drop(bulkhead);
    let task = async { tokio::spawn(job.0).await.expect("it does not panic") };
    assert_eq!(real().block_on(task), Ok(7));
}

#[test]
fn a_static_bulkhead_survives_its_runtimes_and_their_paused_clocks() {
    static SHARED: LazyLock<Bulkhead> = LazyLock::new(bulkhead);
    paused().block_on(async {
        expires_in_time(&SHARED).await;
        tokio::time::advance(HOUR).await;
        expires_in_time(&SHARED).await;
    });
    paused().block_on(expires_in_time(&SHARED));
    real().block_on(expires_in_time(&SHARED));
    let status = SHARED.status();
    assert_eq!((status.in_flight, status.waiting, status.totals.expired), (0, 0, 4));
}

/// The clocks of two runtimes can differ only if time is paused. A call then takes its limit from
/// the clock of its own runtime. It never expires later, and earlier only if a call arrives on a
/// runtime with a clock that is ahead.
#[test]
fn if_the_clocks_of_runtimes_differ_no_limit_ends_late() {
    let shared = Bulkhead::builder("shared").parallelism(1).waiting_room(5).build().expect("valid");
    let (ahead, behind) = (paused(), paused());
    let running = shared.owned().try_slot().expect("free");
    let mut unlimited = Box::pin(shared.owned().slot());
    assert!(unlimited.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let limited = || shared.within(LIMIT).slot();
    let tells_the_time = async {
        tokio::time::advance(HOUR).await;
        assert!(shared.try_slot().is_err(), "the queue is not empty, so this tells the gate the time");
    };
    ahead.block_on(tells_the_time);
    behind.block_on(async {
        let begun = tokio::time::Instant::now();
        let rejection = limited().await.expect_err("it is taken");
        assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, LIMIT));
        assert_eq!(begun.elapsed(), LIMIT, "by the clock of the call's runtime");
    });
    let mut early = Box::pin(limited());
    behind.block_on(async { assert!(early.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()) });
    ahead.block_on(async { assert!(shared.try_slot().is_err()) });
    let expired = behind.block_on(early).expect_err("an hour has passed elsewhere");
    assert_eq!(expired.reason(), Reason::Expired);
    drop((running, unlimited));
}

#[test]
fn a_dropped_runtime_gives_back_its_slots_and_places() {
    let shared = bulkhead();
    let first = real();
    first.block_on(async {
        for _ in 0..3 {
            let shared = shared.clone();
            tokio::spawn(async move { shared.execute(std::future::pending::<()>()).await });
        }
        tokio::task::yield_now().await;
        assert_eq!((shared.status().in_flight, shared.status().waiting), (1, 2));
    });
    drop(first);
    let status = shared.status();
    assert_eq!((status.in_flight, status.waiting), (0, 0));
    real().block_on(expires_in_time(&shared));
}

#[test]
fn a_limit_outside_a_runtime_panics_and_leaks_nothing() {
    let shared = bulkhead();
    let running = shared.try_slot().expect("the slot was free");
    let waited = std::panic::catch_unwind(|| {
        let mut waiting = pin!(shared.slot());
        waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    });
    assert!(waited.is_err(), "tokio has no timer to give");
    assert_eq!(shared.status().waiting, 0);
    drop(running);
    assert_eq!(shared.status().in_flight, 0);
}

#[test]
fn without_a_limit_no_runtime_is_needed() {
    let shared = Bulkhead::builder("bare").parallelism(1).waiting_room(1).build().expect("valid");
    let running = shared.try_slot().expect("the slot was free");
    let mut waiting = pin!(shared.slot());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    drop(running);
    assert!(matches!(waiting.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_before_the_anchor_does_not_overflow() {
    let shared = bulkhead();
    let past = tokio::time::Instant::now() - LIMIT;
    let rejection = shared.with(Request::new().before(past)).slot().await.expect_err("the deadline is past");
    assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(Duration::ZERO)));
}
