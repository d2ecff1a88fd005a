//! Events of tasks that run at the same time.

use std::sync::{Arc, Mutex};

use bulklink::{Bulkhead, Event, EventFilter, EventKind, Totals};

use crate::scene::{play, yield_now};
use crate::{Harness, accounts};

/// Every transition is reported once, the numbers have no gaps, and the events agree with the
/// counters.
pub(crate) fn events_of_many_tasks_add_up<H: Harness>() {
    const TASKS: usize = 300;
    play::<H>(
        |limits| limits.parallelism(3).waiting_room(TASKS / 2),
        async |scene| {
            let received = Arc::new(Mutex::new(vec![]));
            let log = Arc::clone(&received);
            let handler = move |event: &Event| log.lock().expect("no panic").push(event.clone());
            scene.bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
            let alive = Arc::new(());
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let (bulkhead, alive) = (scene.bulkhead.clone(), Arc::clone(&alive));
                    scene.spawn(async move {
                        let outcome = bulkhead.execute(yield_now()).await;
                        drop(alive);
                        outcome
                    })
                })
                .collect();
            for (number, task) in tasks.into_iter().enumerate() {
                // Some calls are dropped in any state, the others run to their end.
                if number % 5 > 0 {
                    let _outcome = task.await;
                }
            }
            scene.bulkhead.close_and_wait().await;
            // A dropped task may still make its call, which the closed bulkhead rejects.
            scene.until(|_| Arc::strong_count(&alive) == 1).await;
            // The task that caused the last event may still be delivering it.
            scene.until(|status| all(&status.totals) == received.lock().expect("no panic").len() as u64).await;
            let mut events = received.lock().expect("no panic").clone();
            events.sort_by_key(|event: &Event| event.number);
            let numbers = events.iter().map(|event| event.number);
            assert!(numbers.eq(1..=events.len() as u64), "a number is missing");
            add_up(&events, &scene.bulkhead.status().totals);
        },
    );
}

/// The events are received through a channel, in a separate task.
pub(crate) fn a_subscriber_receives_every_event_and_then_the_end<H: Harness>() {
    const CALLS: usize = 300;
    play::<H>(
        |limits| limits.parallelism(1),
        async |scene| {
            let bulkhead = Bulkhead::builder_on(H::runtime(), "events").parallelism(4).waiting_room(CALLS);
            let bulkhead = bulkhead.build().expect("valid");
            let mut events = bulkhead.handle().subscribe(EventFilter::ALL, usize::MAX).expect("a capacity");
            let subscriber = scene.spawn(async move {
                let mut received = vec![];
                while let Some(event) = events.recv().await {
                    received.push(event);
                }
                received
            });
            let call = || {
                let bulkhead = bulkhead.clone();
                scene.spawn(async move { bulkhead.execute(yield_now()).await })
            };
            for call in (0..CALLS).map(|_| call()).collect::<Vec<_>>() {
                call.await.expect("room for all to wait");
            }
            bulkhead.close();
            let status = bulkhead.status();
            accounts::are_settled(&status);
            drop(bulkhead);
            let mut received = subscriber.await;
            received.sort_unstable_by_key(|event| event.number);
            assert!(received.iter().map(|event| event.number).eq(1..=received.len() as u64), "each once, without gaps");
            add_up(&received, &status.totals);
        },
    );
}

fn counted(totals: &Totals) -> [(EventKind, u64); 9] {
    [
        (EventKind::Admitted, totals.admitted),
        (EventKind::Queued, totals.queued),
        (EventKind::Saturated, totals.saturated),
        (EventKind::Cancelled, totals.cancelled),
        (EventKind::Abandoned, totals.abandoned),
        (EventKind::Released, totals.finished),
        (EventKind::ClosedRejection, totals.closed()),
        (EventKind::Closed, 1),
        (EventKind::Drained, 1),
    ]
}

fn all(totals: &Totals) -> u64 {
    counted(totals).map(|(_, count)| count).iter().sum()
}

fn add_up(events: &[Event], totals: &Totals) {
    for (kind, count) in counted(totals) {
        let received = events.iter().filter(|event| event.kind == kind).count();
        assert_eq!(received as u64, count, "{kind:?}: {totals:#?}");
    }
}
