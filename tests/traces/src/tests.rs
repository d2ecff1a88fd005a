//! Traces that differ, and traces with impossible steps: the replay reports them and goes on.

use serde_json::{Value, json};

use crate::front::FrontSubject;
use crate::gate::GateSubject;
use crate::partitioned::{PartitionedGates, PartitionsFront};
use crate::replay::replay;
use crate::subject::Subject;
use crate::words::Kind;
use crate::world::{FakeWorld, PausedTokio};
use crate::{own_copy, parse, replay_all};

/// Runs every test once against each subject.
macro_rules! against {
    ($($subject:ident: $type:ty, $kind:expr;)*) => {$(
        mod $subject {
            use super::*;

            #[test]
            fn a_trace_that_differs_early_is_compared_to_its_end() {
                differs_early::<$type>($kind);
            }

            #[test]
            fn a_step_of_another_kind_is_reported() {
                step_of_another_kind::<$type>($kind);
            }

            #[test]
            fn an_id_whose_call_has_not_ended_is_reported() {
                id_used_twice::<$type>($kind);
            }

            #[test]
            fn limits_out_of_range_are_reported() {
                limits_out_of_range::<$type>($kind);
            }

            #[test]
            fn absurd_numbers_are_replayed() {
                absurd_numbers::<$type>($kind);
            }
        }
    )*};
}

against! {
    gate: GateSubject, "plain";
    front: FrontSubject<FakeWorld>, "plain";
    tokio: FrontSubject<PausedTokio>, "plain";
    weighted_gate: GateSubject, "weighted";
    account_and_gates: PartitionedGates, "partitioned";
    partitioned_front: PartitionsFront<FakeWorld>, "partitioned";
    partitioned_tokio: PartitionsFront<PausedTokio>, "partitioned";
}

/// One slot, and no place to wait.
fn config() -> Value {
    json!({ "capacity": 1, "waiting_room": 0, "wait_limit_ms": null, "max_partitions": 1, "idle_timeout_us": 1 })
}

/// Returns the step and the kind of each difference. Events are left out, because those of
/// partitions were not recorded.
fn differences<S: Subject>(kind: &str, config: Value, steps: &[Value]) -> Vec<(usize, &'static str)> {
    let trace = json!({ "kind": kind, "seed": 0, "config": config, "steps": steps });
    let (kind, trace) = parse(&trace.to_string()).expect("a trace");
    let differences = replay::<S>(kind, &trace);
    let differences = differences.iter().map(|difference| (difference.step, difference.what));
    differences.filter(|(_, what)| !what.ends_with("events")).collect()
}

fn step(at: u64, op: &str, fields: Value, outcomes: Value) -> Value {
    let mut step = json!({ "at": at, "op": op, "expect": { "outcomes": outcomes, "status": {} } });
    let fields = fields.as_object().expect("fields").clone();
    step.as_object_mut().expect("a step").extend(fields);
    step
}

fn enter(at: u64, id: usize, outcome: &str) -> Value {
    step(at, "enter", json!({ "id": id, "mode": "plain" }), json!({ id.to_string(): outcome }))
}

/// By the trace, the first call is rejected and the second admitted. In the replay it is the other
/// way round, so there is no second operation to release, and no call waits.
fn differs_early<S: Subject>(kind: &str) {
    let mut steps = vec![
        enter(1, 0, "saturated"),
        enter(2, 1, "admitted"),
        step(3, "release", json!({ "id": 1 }), json!({ "1": "finished" })),
        step(4, "cancel", json!({ "id": 1 }), json!({ "1": "cancelled" })),
        // The call runs, and does not wait.
        step(5, "cancel", json!({ "id": 0 }), json!({})),
        step(6, "release", json!({ "id": 0 }), json!({ "0": "finished" })),
        enter(7, 2, "saturated"),
        step(8, "release", json!({ "id": 2 }), json!({ "2": "finished" })),
    ];
    let mut expected = vec![
        (0, "outcomes"),
        (1, "outcomes"),
        (2, "step"),
        (2, "outcomes"),
        (3, "step"),
        (3, "outcomes"),
        (4, "step"),
        (6, "outcomes"),
    ];
    if kind != "partitioned" {
        let both = json!({ "id": 1, "cancel": 2 });
        steps.push(enter(9, 3, "admitted"));
        steps.push(step(10, "release_then_cancel", both, json!({})));
        steps.push(step(11, "release_then_cancel", json!({ "id": 3, "cancel": 2 }), json!({ "3": "finished" })));
        steps.push(enter(12, 4, "admitted"));
        expected.extend([(9, "step"), (10, "step")]);
    }
    assert_eq!(differences::<S>(kind, config(), &steps), expected);
}

fn step_of_another_kind<S: Subject>(kind: &str) {
    let foreign = if kind == "partitioned" {
        [
            step(2, "resize", json!({ "to": 2, "result": "ok" }), json!({})),
            step(3, "release_then_cancel", json!({ "id": 0, "cancel": 1 }), json!({})),
        ]
    } else {
        [
            step(2, "cleanup_idle", json!({ "removed": 0 }), json!({})),
            step(3, "discard", json!({ "partition": "a", "removed": false }), json!({})),
        ]
    };
    let mut steps = vec![enter(1, 0, "admitted")];
    steps.extend(foreign);
    steps.push(step(4, "release", json!({ "id": 0 }), json!({ "0": "finished" })));
    steps.push(enter(5, 1, "saturated"));
    let expected = [(1, "step"), (2, "step"), (4, "outcomes")];
    assert_eq!(differences::<S>(kind, config(), &steps), expected);
}

/// The id is used again while the call runs, while it waits, and after its end, when the id is
/// free.
fn id_used_twice<S: Subject>(kind: &str) {
    let mut config = config();
    config["waiting_room"] = json!(1);
    let unchanged = |at, id| step(at, "enter", json!({ "id": id, "mode": "plain" }), json!({}));
    let steps = [
        enter(1, 0, "admitted"),
        unchanged(2, 0),
        enter(3, 1, "queued"),
        unchanged(4, 1),
        step(5, "release", json!({ "id": 0 }), json!({ "0": "finished", "1": "admitted" })),
        step(6, "release", json!({ "id": 1 }), json!({ "1": "finished" })),
        enter(7, 0, "admitted"),
    ];
    assert_eq!(differences::<S>(kind, config, &steps), [(1, "step"), (3, "step")]);
}

fn limits_out_of_range<S: Subject>(kind: &str) {
    let mut absurd = vec![
        ("capacity", json!(0)),
        ("capacity", json!(u64::MAX)),
        ("waiting_room", json!(u64::MAX)),
        ("wait_limit_ms", json!(0)),
    ];
    if kind == "partitioned" {
        absurd.extend([("max_partitions", json!(0)), ("max_partitions", json!(u64::MAX))]);
    }
    for (field, value) in absurd {
        let mut config = config();
        config[field] = value;
        let steps = [enter(1, 0, "admitted"), enter(2, 1, "admitted")];
        assert_eq!(differences::<S>(kind, config.clone(), &steps), [(0, "limits")], "{config}");
    }
}

/// The trace has time that runs backwards and to its end, deadlines before time 0, and huge costs
/// and capacities.
fn absurd_numbers<S: Subject>(kind: &str) {
    let mut config = config();
    config["waiting_room"] = json!(9);
    config["wait_limit_ms"] = json!(u64::MAX);
    config["idle_timeout_us"] = json!(u64::MAX);
    let enter = |at, id: usize, fields: Value| {
        let mut fields = fields;
        fields["id"] = json!(id);
        step(at, "enter", fields, json!({}))
    };
    let mut steps = vec![
        enter(1_000, 0, json!({ "mode": "plain" })),
        enter(5, 1, json!({ "mode": "within", "within_ms": u64::MAX })),
        enter(6, 2, json!({ "mode": "before", "before_ms": i64::MAX })),
        enter(7, 3, json!({ "mode": "before", "before_ms": i64::MIN })),
        enter(8, 4, json!({ "mode": "now", "cost": u64::MAX })),
        enter(9, 5, json!({ "mode": "plain", "cost": 0 })),
        enter(10, 6, json!({ "mode": "within", "within_ms": 0 })),
        step(u64::MAX, "advance", json!({}), json!({})),
        enter(u64::MAX, 7, json!({ "mode": "within", "within_ms": 5 })),
        step(u64::MAX, "release", json!({ "id": 0 }), json!({})),
        step(0, "advance", json!({}), json!({})),
        step(u64::MAX, "close", json!({}), json!({})),
    ];
    if kind != "partitioned" {
        steps.push(step(0, "resize", json!({ "to": u64::MAX, "result": "invalid" }), json!({})));
    }
    assert!(!differences::<S>(kind, config, &steps).is_empty());
}

#[test]
fn the_recorded_traces_do_not_differ() {
    let tally = replay_all(&own_copy()).unwrap();
    assert_eq!((tally.traces, tally.differences), (180, 0));
}

#[test]
fn an_invalid_trace_is_an_error_and_not_a_panic() {
    let foreign =
        json!({ "kind": "plain", "seed": 0, "config": config(), "steps": [step(1, "fly", json!({}), json!({}))] });
    for line in ["", "7", "[]", "{}", r#"{"kind":"plain"}"#, r#"{"kind":"square"}"#, &foreign.to_string()] {
        assert!(parse(line).is_err(), "{line}");
    }
    let empty = json!({ "kind": "plain", "seed": 0, "config": config(), "steps": [] });
    assert!(parse(&empty.to_string()).is_ok_and(|(kind, _)| kind == Kind::Plain));
}
