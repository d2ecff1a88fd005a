//! What an adapter provides, and bulkheads that outlive their runtimes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;

use bulklink::runtime::{Clock, Spawn, SpawnBlocking, Timer};
use bulklink::{Bulkhead, Reason, Request};

use crate::Harness;
use crate::scene::{LIMIT, Scene, play, yield_now};

pub(crate) fn tasks_run_in_the_background<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                let outer = async move {
                    yield_now().await;
                    let inner = async move { _ = ran.fetch_add(1, SeqCst) };
                    H::runtime().spawn(inner).expect("a task may spawn another");
                };
                scene.runtime.spawn(outer).expect("it runs");
            }
            scene.until(|_| ran.load(SeqCst) == 10).await;
            assert_eq!(scene.spawn(async { 7 }).await, 7);
        },
    );
}

/// More closures than any of these executors has threads, while tasks go on.
pub(crate) fn closures_run_where_they_may_block<H: Harness>() {
    const CLOSURES: usize = 16;
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let ran = Arc::new(AtomicUsize::new(0));
            let mut ends = vec![];
            for _ in 0..CLOSURES {
                let (ran, (end, ended)) = (Arc::clone(&ran), channel());
                let closure = move || {
                    ran.fetch_add(1, SeqCst);
                    ended.recv().expect("a task lets it end");
                };
                scene.runtime.spawn_blocking(closure).expect("it runs");
                ends.push(end);
            }
            scene.until(|_| ran.load(SeqCst) == CLOSURES).await;
            let releases = async move {
                for end in ends {
                    end.send(()).expect("it waits");
                }
            };
            scene.spawn(releases).await;
        },
    );
}

pub(crate) fn timers_fire_when_the_clock_has_reached_their_time<H: Harness>() {
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let runtime = &scene.runtime;
            let first = runtime.now();
            let present = runtime.instant(scene.after(Duration::ZERO));
            assert!(first <= present && present <= runtime.now(), "the clock is that of the runtime's users");
            let distance = runtime.instant(scene.after(LIMIT)).saturating_since(present);
            assert!(distance >= LIMIT, "{distance:?}");
            for by in [Duration::ZERO, LIMIT / 4] {
                let due = runtime.now() + by;
                runtime.sleep_until(due).await;
                assert!(runtime.now() >= due, "too early");
            }
        },
    );
}

/// Lets one call expire while another runs, and one be admitted.
async fn serves<H: Harness>(scene: &Scene<H>) {
    let running = scene.bulkhead.owned().slot().await.expect("free");
    let late = scene.bulkhead.within(LIMIT / 4).slot().await;
    assert_eq!(late.expect_err("taken").reason(), Reason::Expired);
    let next = scene.queued(Request::new()).await;
    drop(running);
    drop(next.await.expect("it was admitted"));
}

pub(crate) fn a_bulkhead_outlives_its_runtimes<H: Harness>() {
    const RUNTIMES: u64 = 3;
    let bulkhead = Bulkhead::builder_on(H::runtime(), "lasting").parallelism(1).waiting_room(5);
    let bulkhead = bulkhead.build().expect("valid");
    for _ in 0..RUNTIMES {
        Scene::<H>::on_new_runtime(bulkhead.clone()).play(serves);
    }
    let totals = bulkhead.status().totals;
    assert_eq!((totals.finished, totals.expired), (2 * RUNTIMES, RUNTIMES));
}

/// The limit of the call passes there as well.
pub(crate) fn a_call_that_waits_can_move_to_another_runtime<H: Harness>() {
    let bulkhead = Bulkhead::builder_on(H::runtime(), "moving").parallelism(1).waiting_room(5).wait_limit(LIMIT);
    let bulkhead = bulkhead.build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let first = Scene::<H>::on_new_runtime(bulkhead.clone());
    let moves = first.act(async |scene| scene.polled_once(Request::new()));
    drop(first);
    Scene::<H>::on_new_runtime(bulkhead.clone()).play(async |_| {
        assert_eq!(moves.await.expect_err("taken").reason(), Reason::Expired);
        drop(running);
    });
    assert_eq!(bulkhead.status().totals.expired, 1);
}
