//! Slots that are not used, because the circuit has opened: the bulkhead learns nothing from them.

use std::future::Future;

use bulklink::testing::Executor;
use bulklink::{Bulkhead, EventFilter, EventKind, Request};

use super::{Outcome, TestGuard, builder, ended, executor, is_idle, ms, open, running, trip, waiting};

/// Checks that one operation has ended in so many slots, and that the others were abandoned.
#[track_caller]
fn finished_one_of(guard: &TestGuard, admitted: u64, way: &str) {
    let status = guard.bulkhead().status();
    let totals = status.totals;
    assert_eq!((totals.admitted, totals.finished, totals.abandoned), (admitted, 1, admitted - 1), "{way}");
    assert_eq!((status.holds, status.cumulative_hold()), (1, ms(100)), "{way}: holds of operations alone");
    is_idle(guard);
}

fn measured(executor: &Executor, waiting_room: usize) -> TestGuard {
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "test").parallelism(1).waiting_room(waiting_room);
    builder(&bulkhead.measure_holds(true).build().expect("valid limits")).build().expect("valid settings")
}

/// A way to call a guard with an operation that must not run.
type Way = fn(&mut Executor, TestGuard) -> Outcome<()>;

fn run(executor: &mut Executor, call: impl Future<Output = Outcome<()>> + 'static) -> Outcome<()> {
    let call = executor.spawn(call);
    executor.run_until_idle();
    ended(&call)
}

const fn never() -> Result<(), &'static str> {
    panic!("the operation ran")
}

const WAYS: &[(&str, Way)] = &[
    ("execute", |executor, guard| run(executor, async move { guard.execute(async { never() }).await })),
    ("a request", |executor, guard| run(executor, async move { guard.within(ms(5)).execute(async { never() }).await })),
    ("execute, without a wait", |executor, guard| {
        run(executor, async move { guard.with(Request::new().now()).execute(async { never() }).await })
    }),
    ("wrap", |executor, guard| run(executor, async move { guard.wrap(async |()| never()).call(()).await })),
    ("a closure", |executor, guard| run(executor, async move { guard.execute_blocking(never).await })),
    ("a thread", |_, guard| guard.blocking_execute(never)),
];

/// The circuit opens at the moment when the call gets its slot.
#[test]
fn a_slot_that_is_not_used_is_abandoned_on_each_way() {
    for (name, way) in WAYS {
        let mut executor = executor();
        let guard = measured(&executor, 0);
        let first = running(&mut executor, &guard);
        executor.advance(ms(100));
        first.cancel();
        let breaker = guard.breaker().clone();
        let admitted = EventFilter::of(EventKind::Admitted);
        let handler = guard.bulkhead().handle().add_event_handler(admitted, move |_| breaker.force_open());
        open(way(&mut executor, guard.clone()));
        guard.bulkhead().handle().remove_event_handler(handler);
        finished_one_of(&guard, 2, name);
    }
}

/// Each call of the queue gets the slot from the one before it, and finds the circuit open.
#[test]
fn the_queue_of_a_circuit_that_opens_teaches_the_bulkhead_nothing() {
    let mut executor = executor();
    let guard = measured(&executor, 16);
    let first = running(&mut executor, &guard);
    assert_eq!(guard.bulkhead().estimated_wait(1), None, "no rate yet");
    let queue: Vec<_> = (0..16).map(|_| waiting(&mut executor, &guard)).collect();
    executor.advance(ms(100));
    trip(&guard);
    first.cancel();
    executor.run_until_idle();
    for waiting in &queue {
        open(ended(waiting));
    }
    let totals = guard.bulkhead().status().totals;
    assert_eq!((totals.admitted + totals.cancelled, totals.finished), (17, 1));
    assert!(totals.abandoned > 0, "{totals:?}");
    let other = guard.bulkhead().try_slot().expect("free");
    assert_eq!(guard.bulkhead().estimated_wait(1), Some(ms(100)), "one slot was given back by an operation");
    other.abandon();
    finished_one_of(&guard, totals.admitted + 1, "a queue");
}
