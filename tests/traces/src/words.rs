//! Bulklink's status and events in the words of the traces. Deliberate differences are normalised
//! only here.

use std::time::Duration;

use bulklink_core::{Event, EventKind, Limits, Snapshot, partitions};
use serde_json::{Map, Value, json};

/// The kind of a trace. The reference has a class for plain bulkheads, one for weighted ones, and
/// one for partitions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Weighted,
    Partitioned,
}

/// Converts our events to the form in which the reference records them.
///
/// - The reference records `released` and `abandoned` with the occupancy after the hand-over that
///   follows. Ours have the occupancy right after their own transition, so that a handler can
///   follow every step.
/// - The reference leaves `affected_waiters` of a weighted `resized` at 0. Ours is the number of
///   admitted waiters, as for plain bulkheads.
pub fn normalised(kind: Kind, mut events: Vec<Event>) -> Vec<Value> {
    for place in 0..events.len() {
        if matches!(events[place].kind, EventKind::Released | EventKind::Abandoned) {
            let followers = events[place + 1..].iter();
            let handed_over = followers.take_while(|event| event.kind == EventKind::Admitted).last();
            events[place].occupancy = handed_over.unwrap_or(&events[place]).occupancy;
        }
    }
    let in_words = |normal: &Event| {
        let mut words = event(kind, normal);
        if (kind, normal.kind) == (Kind::Weighted, EventKind::Resized) {
            words["affected_waiters"] = json!(0);
        }
        words
    };
    events.iter().map(in_words).collect()
}

fn event(kind: Kind, event: &Event) -> Value {
    let mut words = json!({
        "kind": event_kind(event.kind),
        "in_flight": event.occupancy.in_flight(),
        "waiting": event.occupancy.waiting(),
        "from_queue": event.from_queue(),
        "waited_ms": event.waited().map(millis),
        "is_closed": event.is_closed,
        "affected_waiters": event.affected_waiters(),
    });
    let capacity = event.occupancy.capacity();
    match kind {
        Kind::Plain | Kind::Partitioned => {
            words["parallelism"] = json!(capacity);
            words["previous_parallelism"] = json!(event.previous_capacity());
        }
        Kind::Weighted => {
            words["capacity"] = json!(capacity);
            words["previous_capacity"] = json!(event.previous_capacity());
            words["used"] = json!(event.occupancy.in_use());
            words["cost"] = json!(event.cost());
        }
    }
    words
}

fn event_kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Admitted => "admitted",
        EventKind::Queued => "queued",
        EventKind::Saturated => "saturated",
        EventKind::Expired => "expired",
        EventKind::Cancelled => "cancelled",
        EventKind::Abandoned => "abandoned",
        EventKind::Released => "released",
        EventKind::Closed => "closed",
        EventKind::ClosedRejection => "closed_rejection",
        EventKind::Drained => "drained",
        EventKind::Resized => "resized",
        _ => "unknown",
    }
}

pub fn status(kind: Kind, snapshot: &Snapshot) -> Map<String, Value> {
    let mut words = common_status(snapshot);
    words.extend(match kind {
        Kind::Plain | Kind::Partitioned => plain_status(snapshot),
        Kind::Weighted => weighted_status(snapshot),
    });
    words
}

fn common_status(s: &Snapshot) -> Map<String, Value> {
    let t = &s.totals;
    object(json!({
        "waiting_room": s.limits.waiting_room,
        "in_flight": s.in_flight,
        "waiting": s.waiting,
        "admitted_total": t.admitted,
        "admitted_from_queue_total": t.admitted_from_queue,
        "abandoned_after_admission_total": t.abandoned,
        "queued_total": t.queued,
        "saturated_total": t.saturated,
        "expired_total": t.expired,
        "expired_before_queue_total": t.expired_before_queue,
        "cancelled_while_waiting_total": t.cancelled,
        "closed_before_queue_total": t.closed_before_queue,
        "closed_while_waiting_total": t.closed_while_waiting,
        "finished_total": t.finished,
        "peak_in_flight": s.peak_in_flight,
        "peak_waiting": s.peak_waiting,
        "cumulative_wait_ms": millis(t.cumulative_wait()),
        "longest_wait_ms": millis(s.longest_wait()),
        "is_closed": s.is_closed,
        "capacity_excess": s.capacity_excess(),
        "is_over_capacity": s.is_over_capacity(),
        "is_saturated": s.is_saturated(),
        "is_drained": s.is_drained(),
        "rejected_total": t.rejected(),
    }))
}

fn plain_status(s: &Snapshot) -> Map<String, Value> {
    object(json!({ "parallelism": s.limits.capacity, "free_slots": s.free() }))
}

fn weighted_status(s: &Snapshot) -> Map<String, Value> {
    let t = &s.totals;
    object(json!({
        "capacity": s.limits.capacity,
        "used": s.in_use,
        "waiting_units": s.waiting_units,
        "admitted_units_total": t.admitted_units,
        "admitted_from_queue_units_total": t.admitted_from_queue_units,
        "abandoned_units_total": t.abandoned_units,
        "queued_units_total": t.queued_units,
        "finished_units_total": t.finished_units,
        "peak_used": s.peak_in_use,
        "peak_waiting_units": s.peak_waiting_units,
    }))
}

/// Returns the status of partitions, each with the limits `each`.
pub fn partitions_status(s: &partitions::Snapshot, each: &Limits) -> Map<String, Value> {
    let t = &s.totals;
    object(json!({
        "parallelism": each.capacity,
        "waiting_room": each.waiting_room,
        "max_partitions": s.limits.max_partitions,
        "partition_count": s.partitions,
        "active_partitions": s.active_partitions,
        "leased_operations": s.leased_operations,
        "created_total": t.created,
        "evicted_total": t.evicted,
        "discarded_total": t.discarded,
        "limit_rejected_total": t.limit_rejected,
        "peak_partitions": s.peak_partitions,
        "peak_leased_operations": s.peak_leased_operations,
        "is_closed": s.is_closed,
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(words) => words,
        other => panic!("not an object: {other}"),
    }
}

/// Converts a wait to whole milliseconds, as recorded.
fn millis(duration: Duration) -> u64 {
    (duration.as_nanos() / 1_000_000).try_into().unwrap_or(u64::MAX)
}
