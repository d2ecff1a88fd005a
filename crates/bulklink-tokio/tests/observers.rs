//! Event channels and registries on a real runtime, whose tasks run on several threads.

use bulklink_tokio::{Bulkhead, EventKind, Handle, Registry, Tokio};
use tokio::task::JoinSet;

const CALLS: u64 = 1000;

fn builder(label: &str) -> bulklink_tokio::Builder<Tokio> {
    Bulkhead::builder(label).parallelism(4).waiting_room(1000)
}

async fn call_often(bulkhead: &Bulkhead) {
    let mut calls = JoinSet::new();
    for _ in 0..CALLS {
        let bulkhead = bulkhead.clone();
        calls.spawn(async move { bulkhead.execute(tokio::task::yield_now()).await });
    }
    assert!(calls.join_all().await.iter().all(Result::is_ok));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_receives_every_event_and_then_the_end() {
    let payments = builder("payments").build().expect("valid");
    let mut events = payments.subscribe(usize::MAX).expect("a capacity");
    let consumer = tokio::spawn(async move {
        let mut told = vec![];
        while let Some(event) = events.recv().await {
            told.push(event);
        }
        told
    });
    call_often(&payments).await;
    let totals = payments.status().totals;
    drop(payments);
    let mut told = consumer.await.expect("no panic");
    told.sort_unstable_by_key(|event| event.number);
    assert!(told.iter().map(|event| event.number).eq(1..=told.len() as u64), "each once, without gaps");
    let count = |kind| told.iter().filter(|event| event.kind == kind).count() as u64;
    assert_eq!((count(EventKind::Admitted), count(EventKind::Released)), (CALLS, CALLS));
    assert_eq!(count(EventKind::Queued), totals.queued);
    assert!(told[told.len() - 1].figures.in_flight() == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_registry_closes_and_drains_under_load() {
    let registry = Registry::new();
    let made = ["payments", "reports"].map(|label| registry.create(builder(label)).expect("a new name"));
    call_often(&made[0]).await;
    let running = made.each_ref().map(|bulkhead| bulkhead.try_slot_owned().expect("free"));
    let (removal, closing) = (registry.clone(), registry.clone());
    let removal = tokio::spawn(async move { removal.remove("reports").await });
    let closing = tokio::spawn(async move { closing.close_and_wait().await });
    for slot in running {
        tokio::task::yield_now().await;
        drop(slot);
    }
    let reports = removal.await.expect("no panic").expect("it was there");
    assert_eq!(closing.await.expect("no panic"), Ok(()));
    assert!(reports.status().is_drained());
    assert_eq!(registry.handles().iter().map(Handle::label).collect::<Vec<_>>(), ["payments"]);
}
