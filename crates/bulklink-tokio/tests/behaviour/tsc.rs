//! Bulkheads with the processor's counter as their clock, and tokio's timers.

use std::time::Duration;

use bulklink::runtime::Spawn;
use bulklink_tokio::tsc::Bulkhead;
use bulklink_tokio::{Reason, Request, Tsc};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

const LIMIT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(60);

fn bulkhead(limit: Duration) -> Bulkhead {
    Bulkhead::builder("counted").parallelism(1).waiting_room(50).wait_limit(limit).build().expect("valid")
}

#[tokio::test]
async fn a_limit_passes() {
    let bulkhead = bulkhead(LIMIT);
    let _running = bulkhead.slot().await.expect("free");
    let begun = Instant::now();
    let rejection = bulkhead.slot().await.expect_err("it is taken");
    assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(LIMIT)));
    assert!(rejection.waited() >= LIMIT && begun.elapsed() > LIMIT * 9 / 10, "{rejection} in {:?}", begun.elapsed());
    assert!(begun.elapsed() < LONG);
}

#[tokio::test]
async fn a_deadline_of_tokios_clock_is_kept() {
    let bulkhead = bulkhead(LONG);
    let now = Instant::now();
    let rejection = bulkhead.with(Request::new().before(now)).slot().await.expect_err("past");
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, Duration::ZERO));
    let _running = bulkhead.with(Request::new().before(now + LONG)).slot().await.expect("in time");
    let deadline = Instant::now() + LIMIT;
    let rejection = bulkhead.with(Request::new().before(deadline)).slot().await.expect_err("it is taken");
    assert_eq!(rejection.reason(), Reason::Expired);
    assert!(rejection.limit().is_some_and(|limit| limit > LIMIT / 2 && limit <= LIMIT), "{rejection}");
    assert!(deadline.elapsed() < LONG && Instant::now() + LIMIT / 10 >= deadline);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_wait_and_are_measured() {
    let bulkhead = bulkhead(LONG);
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let bulkhead = bulkhead.clone();
            tokio::spawn(async move { bulkhead.execute(async { sleep(Duration::from_millis(1)).await }).await })
        })
        .collect();
    for call in calls {
        call.await.expect("no panic").expect("a minute is enough");
    }
    let status = bulkhead.status();
    assert_eq!((status.totals.finished, status.totals.expired), (50, 0));
    assert!(status.longest_wait() >= Duration::from_millis(20), "{:?}", status.longest_wait());
    assert!(status.totals.average_wait().is_some_and(|wait| wait > Duration::ZERO && wait < status.longest_wait()));
}

#[tokio::test]
async fn submitted_operations_run_on_tokio() {
    let (sender, receiver) = oneshot::channel();
    Tsc::default().spawn(async { sender.send(5).expect("the handle is awaited") }).expect("in a runtime");
    assert_eq!((receiver.await, size_of::<Tsc>()), (Ok(5), 0));
    let submitted = bulkhead(LONG).submit_blocking(|| 6).expect("free");
    assert_eq!(submitted.await.expect("no panic"), 6);
}
