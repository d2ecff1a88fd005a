//! The fields of each kind of event.

use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink::{Event, EventFilter, EventKind, Request};

use crate::{Log, TestBulkhead, builder, bulkhead, call, executor, ms, recorder, slot, taken};

fn observe(bulkhead: &TestBulkhead) -> Log<Event> {
    let (log, handler) = recorder(Event::clone);
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    log
}

type Fields = (EventKind, bool, Option<Duration>);

/// Returns the kind of each event, whether its call came from the queue, and how long it waited.
fn fields(log: &Log<Event>) -> Vec<Fields> {
    taken(log).iter().map(|event| (event.kind, event.from_queue(), event.waited())).collect()
}

#[test]
fn each_kind_has_from_queue_and_waited() {
    use EventKind::{
        Abandoned, Admitted, Cancelled, Closed, ClosedRejection, Drained, Expired, Paused, Queued, Reconfigured,
        Released, Resized, Resumed, Saturated, Uncollected,
    };
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(1).wait_limit(ms(50)).build().expect("valid");
    let log = observe(&bulkhead);

    let running = slot(&call(&mut executor, &bulkhead));
    let late = call(&mut executor, &bulkhead);
    drop(bulkhead.try_slot());
    drop(bulkhead.with(Request::new().before(Instant::EPOCH)).try_slot());
    executor.advance(ms(50));
    assert!(late.is_finished());
    assert_eq!(
        fields(&log),
        [
            (Admitted, false, None),
            (Queued, true, None),
            (Saturated, false, None),
            (Expired, false, Some(ms(0))),
            (Expired, true, Some(ms(50))),
        ]
    );

    let cancelled = call(&mut executor, &bulkhead);
    executor.advance(ms(10));
    cancelled.cancel();
    let uncollected = call(&mut executor, &bulkhead);
    executor.advance(ms(20));
    drop(running);
    bulkhead.handle().take_back_uncollected(ms(0));
    drop(uncollected);
    assert_eq!(
        fields(&log),
        [
            (Queued, true, None),
            (Cancelled, true, Some(ms(10))),
            (Queued, true, None),
            (Released, false, None),
            (Admitted, true, Some(ms(20))),
            (Uncollected, true, Some(ms(20))),
        ]
    );

    let running = slot(&call(&mut executor, &bulkhead));
    let abandoned = call(&mut executor, &bulkhead);
    executor.advance(ms(20));
    drop(running);
    abandoned.cancel();
    assert_eq!(
        fields(&log),
        [
            (Admitted, false, None),
            (Queued, true, None),
            (Released, false, None),
            (Admitted, true, Some(ms(20))),
            (Abandoned, true, Some(ms(20))),
        ]
    );

    bulkhead.resize(2).expect("open");
    bulkhead.resize(1).expect("open");
    assert_eq!(fields(&log), [(Resized, false, None); 2]);
    assert!(bulkhead.pause() && bulkhead.resume());
    bulkhead.reconfigure(bulkhead.limits().with_waiting_room(2)).expect("valid");
    bulkhead.reconfigure(bulkhead.limits().with_waiting_room(1)).expect("valid");
    let expected =
        [(Paused, false, None), (Resumed, false, None), (Reconfigured, false, None), (Reconfigured, false, None)];
    assert_eq!(fields(&log), expected);

    let running = slot(&call(&mut executor, &bulkhead));
    let closed_out = call(&mut executor, &bulkhead);
    executor.advance(ms(5));
    bulkhead.close();
    drop(bulkhead.try_slot());
    drop((running, closed_out));
    assert_eq!(
        fields(&log),
        [
            (Admitted, false, None),
            (Queued, true, None),
            (Closed, false, None),
            (ClosedRejection, true, Some(ms(5))),
            (ClosedRejection, false, None),
            (Released, false, None),
            (Drained, false, None),
        ]
    );
}

#[test]
fn closed_and_resized_have_affected_waiters_and_previous_capacity() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let _running = bulkhead.try_slot().expect("free");
    let _waiting = [(); 4].map(|()| call(&mut executor, &bulkhead));
    let log = observe(&bulkhead);
    bulkhead.resize(3).expect("open");
    bulkhead.resize(3).expect("open");
    bulkhead.close();
    let affected: Vec<_> = taken(&log)
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Resized | EventKind::Closed))
        .map(|event| (event.kind, event.affected_waiters(), event.previous_capacity(), event.occupancy.capacity()))
        .collect();
    let expected = [(EventKind::Resized, 2, Some(1), 3), (EventKind::Closed, 2, None, 3)];
    assert_eq!(affected, expected, "a resize to the same size makes no event");
}

#[test]
fn abandoned_is_reported_before_the_next_admission() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let running = bulkhead.try_slot().expect("free");
    let [first, _second] = [(); 2].map(|()| call(&mut executor, &bulkhead));
    drop(running);
    let log = observe(&bulkhead);
    first.cancel();
    let kinds: Vec<_> = taken(&log).iter().map(|event| (event.kind, event.occupancy.in_flight())).collect();
    assert_eq!(kinds, [(EventKind::Abandoned, 0), (EventKind::Admitted, 1)]);
}

#[test]
fn every_event_has_label_time_limits_and_is_closed() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 3);
    let log = observe(&bulkhead);
    let start = bulklink::runtime::Clock::now(&executor.clock());
    drop(bulkhead.try_slot());
    executor.advance(ms(7));
    bulkhead.close();
    let events = taken(&log);
    let limits = |event: &Event| (event.occupancy.capacity(), event.occupancy.waiting_room());
    assert!(events.iter().all(|event| &*event.label == "test" && limits(event) == (2, 3)));
    let seen: Vec<_> = events.iter().map(|event| (event.at().saturating_since(start), event.is_closed)).collect();
    assert_eq!(seen, [(ms(0), false), (ms(0), false), (ms(7), true), (ms(7), true)]);
}

#[test]
fn events_of_parts_of_slots_come_from_no_queue() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 1);
    let log = observe(&bulkhead);
    let running = bulkhead.with(Request::new().cost(3)).try_slot().expect("free");
    let waiting = executor.spawn(bulkhead.with(Request::new().cost(3)).slot());
    executor.advance(ms(5));
    drop(running);
    executor.run_until_idle();
    let mut whole = slot(&waiting);
    let part = whole.split(1).expect("it has more");
    whole.merge(part).expect("of the same bulkhead");
    whole.forget();
    assert_eq!(
        fields(&log)[3..],
        [
            (EventKind::Admitted, true, Some(ms(5))),
            (EventKind::Split, false, None),
            (EventKind::Merged, false, None),
            (EventKind::WrittenOff, false, None),
        ]
    );
}
