//! Polly: the specifications of its bulkhead, and its strategy over a concurrency limiter.

use bulklink::testing::{Executor, FakeClock, Task};
use bulklink::{Bulkhead, EventKind, Limits, Reason, Registry, Rejection};

use crate::{bulkhead, free, kinds, ms, refused, take};

/// The expectations of a scenario at one moment.
#[derive(Debug, PartialEq)]
struct Figures {
    executing: usize,
    queueing: usize,
    rejected: u64,
    cancelled: usize,
    free: usize,
    places: usize,
}

struct Scenario {
    slots: usize,
    places: usize,
    actions: usize,
    cancel_queueing: bool,
    cancel_executing: bool,
}

/// The load of Polly's scenarios: slots, places in the queue, actions.
const LOADS: [(usize, usize, usize); 8] =
    [(5, 0, 3), (20, 0, 3), (3, 0, 4), (3, 1, 5), (6, 3, 9), (5, 3, 8), (1, 6, 5), (1, 0, 1)];

/// Polly `Should_control_executions_per_specification`, for each of its scenarios, with every
/// combination of cancellations. An action ends one millisecond after its predecessor.
#[test]
fn slots_and_places_are_used_as_specified_under_every_load() {
    for (slots, places, actions) in LOADS {
        for cancel_queueing in [false, true] {
            for cancel_executing in [false, true] {
                play(&Scenario { slots, places, actions, cancel_queueing, cancel_executing });
            }
        }
    }
}

fn play(scenario: &Scenario) {
    let Scenario { slots, places, actions, cancel_queueing, cancel_executing } = *scenario;
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = bulkhead(&executor.clock(), slots, places);
    let tasks: Vec<Task<Result<(), Rejection>>> = (0..actions)
        .map(|number| {
            let (bulkhead, clock) = (bulkhead.clone(), executor.clock());
            let sleep = clock.sleep(ms(number as u64 + 1));
            executor.spawn(async move { bulkhead.execute(sleep).await })
        })
        .collect();
    executor.run_until_idle();

    let mut executing: Vec<usize> = (0..actions.min(slots)).collect();
    let mut queueing: Vec<usize> = (executing.len()..actions.min(slots + places)).collect();
    let rejected = actions.saturating_sub(slots + places) as u64;
    let mut cancelled = 0;
    let check = |executing: &[usize], queueing: &[usize], cancelled| {
        let status = bulkhead.status();
        let actual = Figures {
            executing: status.in_flight,
            queueing: status.waiting,
            rejected: status.totals.rejected(),
            cancelled,
            free: status.free(),
            places: status.limits.waiting_room - status.waiting,
        };
        let expected = Figures {
            executing: executing.len(),
            queueing: queueing.len(),
            rejected,
            cancelled,
            free: slots - executing.len(),
            places: places - queueing.len(),
        };
        assert_eq!(actual, expected, "{slots} slots, {places} places, {actions} actions");
    };
    check(&executing, &queueing, cancelled);
    if cancel_queueing && !queueing.is_empty() {
        tasks[queueing.remove(0)].cancel();
        cancelled += 1;
        check(&executing, &queueing, cancelled);
    }
    if cancel_executing {
        tasks[executing.remove(0)].cancel();
        cancelled += 1;
        admit(&mut executing, &mut queueing, slots);
        executor.run_until_idle();
        check(&executing, &queueing, cancelled);
    }
    for number in 0..actions {
        executor.advance(ms(1));
        executing.retain(|&running| running != number);
        admit(&mut executing, &mut queueing, slots);
        check(&executing, &queueing, cancelled);
    }
    let completed = tasks.iter().filter(|task| task.output() == Some(Ok(()))).count();
    assert_eq!(completed, actions.min(slots + places) - cancelled);
}

/// The first that queue begin to execute while there is room.
fn admit(executing: &mut Vec<usize>, queueing: &mut Vec<usize>, slots: usize) {
    while executing.len() < slots && !queueing.is_empty() {
        executing.push(queueing.remove(0));
    }
}

/// Polly `Should_not_throw_when_maxQueuingActions_is_int_MaxValue`.
#[test]
fn the_largest_waiting_room_is_possible() {
    let bulkhead = bulkhead(&FakeClock::new(), 1, Limits::MAX);
    assert_eq!(bulkhead.limits().waiting_room, Limits::MAX);
}

/// Polly `Should_call_onBulkheadRejected_with_passed_context`, `Execute_LeaseRejected`: a callback
/// hears of each rejection. Here it is an event; the caller's knowledge stays with the caller,
/// which gets the rejection.
#[test]
fn each_rejection_is_an_event_and_an_answer() {
    let bulkhead = bulkhead(&FakeClock::new(), 1, 0);
    let _running = take(&bulkhead, 1);
    let log = kinds(&bulkhead);
    assert_eq!(refused(&bulkhead, 1), Reason::Saturated);
    assert_eq!(*log.lock().expect("no panic"), [EventKind::Saturated]);
}

/// Polly `Should_be_able_to_use_BulkheadAvailableCount_via_interface`,
/// `Should_be_able_to_use_QueueAvailableCount_via_interface`.
#[test]
fn a_status_has_the_free_slots_and_the_free_places() {
    let bulkhead = bulkhead(&FakeClock::new(), 20, 10);
    let status = bulkhead.status();
    assert_eq!((free(&bulkhead), status.limits.waiting_room - status.waiting), (20, 10));
}

/// Polly `RateLimiterStrategyOptionsTests.Ctor_EnsureDefaults`: 1,000 permits and no queue. Here
/// the number of slots must be chosen; no call waits by default either.
#[test]
fn by_default_no_call_waits() {
    let builder = Bulkhead::builder_on(FakeClock::new(), "test").parallelism(1);
    let bulkhead = builder.build().expect("valid");
    assert_eq!((bulkhead.limits().waiting_room, bulkhead.limits().wait_limit), (0, None));
}

/// Polly `DisposeRegistry_EnsureRateLimiterDisposed` and
/// `RegistryDispose_DoesNotDisposeExternalLimiter`: a registry disposes its own limiters, and
/// nothing else. Here closing a registry closes all members, however they came in, and dropping it
/// closes none.
#[test]
fn closing_a_registry_closes_all_members_and_dropping_it_none() {
    for closes in [true, false] {
        let registry = Registry::new();
        let own = registry.create(Bulkhead::builder_on(FakeClock::new(), "own").parallelism(1)).expect("new");
        let other = bulkhead(&FakeClock::new(), 1, 0);
        registry.add(&other).expect("new");
        if closes {
            assert!(registry.close_all());
        }
        drop(registry);
        assert_eq!([own.is_closed(), other.is_closed()], [closes; 2]);
    }
}
