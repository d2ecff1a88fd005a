//! Tokio's cooperative budget: a task that never has to wait for a slot still lets other tasks run.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::runtime::{Clock, Timer};
use bulklink_tokio::{Bulkhead, EventFilter, Partitions, Reason, Request, Tokio};
use tokio::sync::oneshot;
use tokio::task::coop::poll_proceed;
use tokio::task::yield_now;

fn bulkhead(parallelism: usize) -> Bulkhead {
    Bulkhead::builder("busy").parallelism(parallelism).waiting_room(9).build().expect("valid")
}

/// A bound that only a failing test reaches.
const ROUNDS: usize = 2_000_000;

/// Returns how many rounds a loop made before another task of the same thread had run ten times.
async fn rounds_beside_another<T>(mut round: impl AsyncFnMut() -> T) -> usize {
    let (ran, mut has_run) = oneshot::channel();
    let other = tokio::spawn(async move {
        for _ in 0..10 {
            yield_now().await;
        }
        ran.send(()).expect("the loop goes on");
    });
    let mut rounds = 0;
    while has_run.try_recv().is_err() && rounds < ROUNDS {
        rounds += 1;
        round().await;
    }
    other.abort();
    rounds
}

#[tokio::test]
async fn a_loop_that_is_always_rejected_lets_other_tasks_run() {
    let full = bulkhead(1);
    let _running = full.try_slot().expect("free");
    let rounds = rounds_beside_another(async || {
        let rejection = full.with(Request::new().now()).slot().await.expect_err("full");
        assert_eq!(rejection.reason(), Reason::Saturated);
    });
    assert!(rounds.await < 10_000);
    let closed = bulkhead(1);
    closed.close();
    assert!(rounds_beside_another(async || closed.execute(async {}).await.expect_err("closed")).await < 10_000);
    let tenants: Partitions<u8> = Partitions::builder("busy").parallelism(1).max_partitions(1).build().expect("valid");
    let _running = tenants.key(&1).try_slot().expect("free");
    assert!(
        rounds_beside_another(async || tenants.key(&2).slot().await.expect_err("the waiting room is full")).await
            < 10_000
    );
}

#[tokio::test]
async fn a_loop_that_gets_slots_lets_other_tasks_run() {
    let free = bulkhead(10);
    let rounds = rounds_beside_another(async || drop(free.slot().await.expect("free"))).await;
    assert!(rounds < 200_000, "{rounds}");
    let observed = bulkhead(10);
    observed.handle().add_event_handler(EventFilter::ALL, |_| ());
    let rounds = rounds_beside_another(async || drop(observed.owned().slot().await.expect("free"))).await;
    assert!(rounds < 10_000, "through the gate each time: {rounds}");
}

#[tokio::test]
async fn a_loop_that_receives_events_lets_other_tasks_run() {
    let bulkhead = bulkhead(1);
    let mut events = bulkhead.handle().subscribe(EventFilter::ALL, usize::MAX).expect("valid");
    for _ in 0..1_000 {
        drop(bulkhead.try_slot());
    }
    let rounds = rounds_beside_another(async || {
        drop(bulkhead.try_slot());
        events.recv().await.expect("one more")
    });
    assert!(rounds.await < 10_000);
    assert_eq!(events.dropped(), 0);
}

/// Fills the word's counts, so that the next call folds them into the gate.
fn fill(bulkhead: &Bulkhead) {
    for _ in 0..4_096 {
        drop(bulkhead.try_slot().expect("free"));
    }
    assert_eq!(bulkhead.status().in_flight, 0, "reading the status empties the word");
    for _ in 0..4_095 {
        drop(bulkhead.try_slot().expect("free"));
    }
}

/// Uses this many of the 128 units of a task's budget.
fn spend(units: usize, context: &mut Context<'_>) -> usize {
    let spent = (0..units).take_while(|_| match poll_proceed(context) {
        Poll::Ready(unit) => {
            unit.made_progress();
            true
        }
        Poll::Pending => false,
    });
    spent.count()
}

/// Tokio's own timer is not ready, and is not registered either.
#[tokio::test(start_paused = true)]
async fn a_timer_fires_in_a_task_that_has_used_up_its_budget() {
    let mut timer = pin!(Tokio.sleep_until(Tokio.now() + Duration::from_millis(10)));
    let mut poll = async || {
        std::future::poll_fn(|context| {
            assert!(spend(ROUNDS, context) < ROUNDS);
            Poll::Ready(timer.as_mut().poll(context))
        })
        .await
    };
    assert!(poll().await.is_pending());
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(poll().await.is_ready());
}

#[tokio::test]
async fn a_fold_of_the_word_costs_budget_and_grants() {
    let free = bulkhead(9);
    fill(&free);
    yield_now().await;
    let (slot, left) = std::future::poll_fn(|context| {
        assert_eq!(spend(100, context), 100);
        let slot = pin!(free.slot()).poll(context).is_ready();
        Poll::Ready((slot, spend(128, context)))
    })
    .await;
    // By the lock alone there is no word that counts, and each slot costs one unit.
    let left_alone = if cfg!(bulklink_lock_only) { 27 } else { 0 };
    assert_eq!((slot, left), (true, left_alone), "no more than is left");
}

#[tokio::test]
async fn a_call_that_joins_the_queue_costs_no_budget() {
    let full = bulkhead(1);
    fill(&full);
    let _running = full.try_slot().expect("free");
    yield_now().await;
    let mut call = Box::pin(full.slot());
    let left = std::future::poll_fn(|context| {
        assert!(call.as_mut().poll(context).is_pending());
        Poll::Ready(spend(200, context))
    })
    .await;
    assert_eq!(left, 128);
}

#[tokio::test]
async fn a_loop_that_joins_ended_operations_lets_other_tasks_run() {
    let many = bulkhead(9);
    let mut handles = vec![];
    for _ in 0..2_000 {
        handles.push(many.submit(async {}).expect("room"));
        yield_now().await;
    }
    let mut handles = handles.into_iter();
    assert!(
        rounds_beside_another(async || handles.next().expect("fewer").await.expect("the operation ran")).await < 2_000
    );
}

/// A pending poll costs no budget: a task can poll any number of calls, and each gets into the
/// queue.
#[tokio::test]
async fn one_task_can_queue_thousands_of_calls() {
    const CALLS: usize = 3_000;
    let bulkhead = Bulkhead::builder("many").parallelism(1).waiting_room(CALLS).build().expect("valid");
    let mut running = Some(bulkhead.owned().try_slot().expect("free"));
    let mut calls: Vec<_> = (0..CALLS).map(|_| Some(Box::pin(bulkhead.owned().slot()))).collect();
    let mut admitted = 0;
    std::future::poll_fn(|context| {
        for place in &mut calls {
            let Some(call) = place else { continue };
            if let Poll::Ready(slot) = call.as_mut().poll(context) {
                running = Some(slot.expect("its turn"));
                admitted += 1;
                *place = None;
            }
        }
        if bulkhead.status().waiting > 0 || running.is_some() {
            running = None;
        }
        if admitted == CALLS { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    assert_eq!(bulkhead.status().totals.queued, CALLS as u64);
}

/// Timers of other tasks fire while the loop runs.
#[tokio::test]
async fn timers_fire_beside_a_loop_that_gets_slots() {
    let ticks = Arc::new(AtomicUsize::new(0));
    let ticking = tokio::spawn({
        let ticks = Arc::clone(&ticks);
        async move {
            let mut interval = tokio::time::interval(Duration::from_millis(5));
            loop {
                interval.tick().await;
                ticks.fetch_add(1, Relaxed);
            }
        }
    });
    let free = bulkhead(10);
    let mut rounds = 0;
    while ticks.load(Relaxed) < 10 && rounds < ROUNDS {
        rounds += 1;
        drop(free.slot().await.expect("free"));
    }
    assert!(ticks.load(Relaxed) >= 10, "{} ticks in {rounds} rounds", ticks.load(Relaxed));
    ticking.abort();
}
