//! Guards on tokio and smol, in real time.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bulklink::runtime::{Runtime, SpawnBlocking};
use bulklink_breaker::{Guard, GuardError, Settings, State};

use super::{bulkhead, is_idle, ms, state};

type Outcome<T> = Result<T, GuardError<&'static str>>;

fn guard<R: Runtime>(runtime: R) -> Guard<R> {
    let bulkhead = bulkhead(runtime, 2, 10);
    let settings = Settings::of_last(10).failures(3).cool_down(ms(20));
    Guard::builder(&bulkhead).settings(settings).build().expect("valid settings")
}

/// The same with a limit.
fn limited<R: Runtime>(guard: &Guard<R>) -> Guard<R> {
    let builder = Guard::builder(guard.bulkhead()).breaker(guard.breaker());
    builder.run_limit(ms(50)).build().expect("valid settings")
}

async fn all<R: Runtime + SpawnBlocking>(runtime: R) {
    let guard = &guard(runtime);
    assert_eq!(guard.execute(async { Ok::<_, &str>(1) }).await.ok(), Some(1));
    assert_eq!(guard.execute_blocking(|| Ok::<_, &str>(2)).await.ok(), Some(2));

    // The limit, of operations and of closures.
    let (begun, limited) = (Instant::now(), limited(guard));
    let slow: Outcome<()> = limited.execute(pending()).await;
    assert!(matches!(slow, Err(GuardError::TimedOut(_))) && begun.elapsed() >= ms(50));
    let ended = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&ended);
    let slow: Outcome<()> = limited
        .execute_blocking(move || {
            std::thread::sleep(ms(100));
            own.store(1, SeqCst);
            Ok(())
        })
        .await;
    assert!(matches!(slow, Err(GuardError::TimedOut(_))));
    assert_eq!((guard.bulkhead().status().in_flight, ended.load(SeqCst)), (1, 0), "it still runs, in its slot");
    while guard.bulkhead().status().in_flight > 0 {
        guard.bulkhead().runtime().sleep_until(guard.bulkhead().runtime().now() + ms(2)).await;
    }
    assert_eq!(ended.load(SeqCst), 1);

    // The circuit opens while a call waits, and closes by a probe.
    let slots = [guard.bulkhead().try_slot().expect("free"), guard.bulkhead().try_slot().expect("free")];
    let mut waiting = Box::pin(guard.execute(async { Ok::<_, &str>(3) }));
    assert!(std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context))).await.is_pending());
    guard.breaker().force_open();
    assert!(matches!(waiting.await, Err(GuardError::Open(_))));
    drop(slots);
    guard.breaker().force_closed();
    for _ in 0..3 {
        guard.breaker().admit().expect("closed").fail();
    }
    assert_ne!(state(guard), State::Closed);
    std::thread::sleep(ms(20));
    assert_eq!(guard.execute(async { Ok::<_, &str>(4) }).await.ok(), Some(4));
    assert_eq!(state(guard), State::Closed);
    is_idle(guard);
    let totals = guard.breaker().status().totals;
    assert_eq!((totals.successes, totals.timed_out, totals.failures, totals.rejected, totals.probes), (3, 2, 5, 1, 1));
}

#[tokio::test]
async fn on_tokio() {
    all(bulklink_tokio::Tokio).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_threads_of_tokio() {
    tokio::spawn(all(bulklink_tokio::Tokio)).await.expect("no panic");
}

#[test]
fn on_smol() {
    smol::block_on(all(bulklink_smol::Smol));
}

#[tokio::test(start_paused = true)]
async fn on_paused_time() {
    let guard = limited(&guard(bulklink_tokio::Tokio));
    let begun = tokio::time::Instant::now();
    let slow: Outcome<()> = guard.execute(pending()).await;
    assert!(matches!(slow, Err(GuardError::TimedOut(_))));
    assert!(begun.elapsed() >= ms(50) && begun.elapsed() < ms(55), "{:?}", begun.elapsed());
}

/// It uses up the budget of its task in each poll, as reading from a channel that is never empty
/// does.
#[tokio::test]
async fn an_operation_that_is_always_busy_ends_at_its_limit() {
    let guard = limited(&guard(bulklink_tokio::Tokio));
    let begun = Instant::now();
    let busy: Outcome<()> = guard
        .execute(async {
            while begun.elapsed() < ms(2000) {
                tokio::task::consume_budget().await;
            }
            Ok(())
        })
        .await;
    assert!(matches!(busy, Err(GuardError::TimedOut(_))), "{busy:?}");
    is_idle(&guard);
}

/// Tasks wait, time out, fail and are rejected while the circuit opens and closes all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_by_tasks_under_load() {
    let bulkhead = bulkhead(bulklink_tokio::Tokio, 4, 1000);
    let settings = Settings::of_last(10).failures(6).cool_down(Duration::from_micros(300)).probes(2);
    let guard = Guard::builder(&bulkhead).settings(settings).run_limit(ms(2)).build().expect("valid settings");
    let ran = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..400_u64 {
        let (guard, ran) = (guard.clone(), Arc::clone(&ran));
        tasks.spawn(async move {
            let mut random = fastrand::Rng::with_seed(task);
            for _ in 0..20 {
                let kind = random.u32(..20);
                let operation = async {
                    ran.fetch_add(1, SeqCst);
                    match kind {
                        0 => pending().await,
                        9 => tokio::time::sleep(ms(1)).await,
                        _ => tokio::task::yield_now().await,
                    }
                    if (1..9).contains(&kind) { Err("fails") } else { Ok(()) }
                };
                let call = guard.execute(operation);
                let ended = if random.u32(..10) == 0 {
                    tokio::time::timeout(Duration::from_micros(random.u64(..800)), call).await.ok()
                } else {
                    Some(call.await)
                };
                // So that not all calls are rejected within the first milliseconds.
                if matches!(ended, Some(Err(GuardError::Open(_)))) {
                    tokio::time::sleep(ms(1)).await;
                }
            }
        });
    }
    tokio::time::timeout(Duration::from_secs(60), tasks.join_all()).await.expect("no call hangs");
    is_idle(&guard);
    let totals = guard.breaker().status().totals;
    assert_eq!(totals.ended(), ran.load(SeqCst) as u64);
    assert!(totals.opened > 0 && totals.timed_out > 0 && totals.probes > 0 && totals.rejected > 0, "{totals:?}");
}
