//! bulklink 0.6 for Python: its unit tests.

use bulklink::runtime::Instant;
use bulklink::testing::{Executor, FakeClock, Task};
use bulklink::{Bulkhead, EventKind, Reason, Request, Totals};

use crate::{Call, TestBulkhead, bulkhead, free, kinds, ms, refused, semaphore, take};

/// Python `test_many_cancellation_races_do_not_leak_slots`.
#[test]
fn of_forty_waiters_every_second_is_cancelled_and_no_slot_is_lost() {
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = bulkhead(&executor.clock(), 2, 100);
    let running = [take(&bulkhead, 1), take(&bulkhead, 1)];
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let bulkhead = bulkhead.clone();
            executor.spawn(async move { bulkhead.execute(async {}).await })
        })
        .collect();
    executor.run_until_idle();
    tasks.iter().step_by(2).for_each(Task::cancel);
    drop(running);
    executor.run_until_idle();
    let done = tasks.iter().filter(|task| task.output() == Some(Ok(()))).count();
    assert_eq!((done, free(&bulkhead), bulkhead.status().totals.cancelled), (20, 2, 20));
}

/// What ends a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Admission,
    Expiry,
    Cancellation,
    Closing,
}

use End::{Admission, Cancellation, Closing, Expiry};

impl End {
    fn count(self, totals: &Totals) -> u64 {
        match self {
            Admission => totals.admitted_from_queue,
            Expiry => totals.expired,
            Cancellation => totals.cancelled,
            Closing => totals.closed_while_waiting,
        }
    }
}

/// Python `test_*_wins_*_race_*`: of two ends of a wait, the first counts, and only that. (Whether
/// a limit comes before a release or a close is decided by the clock, not by the order in which a
/// timer and the other end got a lock.)
#[test]
fn of_two_ends_of_a_wait_the_first_counts_and_only_that() {
    let all = [Admission, Expiry, Cancellation, Closing];
    for first in all {
        for second in all.into_iter().filter(|&second| second != first) {
            let totals = ended_by(first, second);
            let counts = all.map(|end| (end, end.count(&totals)));
            let expected = all.map(|end| (end, u64::from(end == first)));
            assert_eq!(counts, expected, "{first:?}, then {second:?}");
            assert_eq!(totals.settled_waiting(), 1);
            let abandoned = first == Admission && second == Cancellation;
            assert_eq!(totals.abandoned, u64::from(abandoned));
        }
    }
}

/// Returns the totals after a wait was ended by one thing, and another followed.
fn ended_by(first: End, second: End) -> Totals {
    let clock = FakeClock::new();
    let builder = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(1);
    let bulkhead: TestBulkhead = builder.wait_limit(ms(30)).build().expect("valid");
    let mut running = Some(take(&bulkhead, 1));
    let mut call = Some(Call::waiting(&bulkhead, 1));
    let mut outcome = None;
    for end in [first, second] {
        match end {
            Admission => running = None,
            Cancellation => call = None,
            Closing => drop(bulkhead.close()),
            // Its timer wakes the task, which polls.
            Expiry => {
                clock.advance(ms(50));
                outcome = call.take().map(|mut call| outcome_of(&mut call));
            }
        }
    }
    let outcome = outcome.or_else(|| call.as_mut().map(outcome_of));
    let expected = match first {
        Admission => Some(Ok(())),
        Expiry => Some(Err(Reason::Expired)),
        Closing => Some(Err(Reason::Closed)),
        Cancellation => None,
    };
    assert!(outcome.is_none() || outcome == expected, "{outcome:?} of {first:?}, then {second:?}");
    drop((running, call));
    assert_eq!((free(&bulkhead), bulkhead.status().waiting), (1, 0));
    bulkhead.status().totals
}

fn outcome_of(call: &mut Call) -> Result<(), Reason> {
    call.answer().map(drop).map_err(|rejection| rejection.reason())
}

/// Python `test_cancellation_after_resize_handoff_returns_the_new_slot`.
#[test]
fn a_slot_that_growing_granted_to_a_cancelled_call_stays_free() {
    let semaphore = semaphore(1);
    let _running = take(&semaphore, 1);
    let granted = Call::waiting(&semaphore, 1);
    semaphore.resize(2).expect("open");
    drop(granted);
    let status = semaphore.status();
    assert_eq!((status.free(), status.waiting, status.totals.abandoned), (1, 0, 1));
}

/// Python `test_resize_emits_one_summary_event_before_fifo_admissions`.
#[test]
fn growing_is_reported_before_the_admissions_that_it_causes() {
    let semaphore = semaphore(1);
    let _running = take(&semaphore, 1);
    let mut waits = [Call::waiting(&semaphore, 1), Call::waiting(&semaphore, 1)];
    let log = kinds(&semaphore);
    semaphore.resize(3).expect("open");
    assert_eq!(*log.lock().expect("no panic"), [EventKind::Resized, EventKind::Admitted, EventKind::Admitted]);
    let _slots = waits.each_mut().map(Call::slot);
}

/// Python `test_resize_after_close_is_rejected_without_changing_metrics`.
#[test]
fn a_refused_change_of_size_changes_no_figure() {
    let semaphore = semaphore(2);
    semaphore.close();
    let before = semaphore.status();
    semaphore.resize(4).expect_err("closed");
    let after = semaphore.status();
    assert_eq!((after.limits, after.totals), (before.limits, before.totals));
}

/// Python `test_weighted_execute_accounts_capacity_units`,
/// `test_weighted_status_exposes_capacity_and_interval_units`.
#[test]
fn an_interval_has_the_units_of_its_calls() {
    let semaphore = semaphore(5);
    let before = semaphore.status();
    drop(take(&semaphore, 3));
    let interval = semaphore.status().since(&before).expect("of the same bulkhead");
    let totals = interval.totals;
    assert_eq!((totals.admitted, totals.admitted_units, totals.direct_admitted()), (1, 3, 1));
    assert_eq!((totals.finished, totals.finished_units, interval.has_activity()), (1, 3, true));
}

/// Python `test_interval_combines_capacity_and_deadline_rejections`.
#[test]
fn an_interval_counts_rejections_for_room_and_for_time() {
    let semaphore = semaphore(1);
    let _running = take(&semaphore, 1);
    let before = semaphore.status();
    assert_eq!(refused(&semaphore, 1), Reason::Saturated);
    let late = Call::of(&semaphore, Request::new().before(Instant::EPOCH)).reason();
    assert_eq!(late, Reason::Expired);
    let totals = semaphore.status().since(&before).expect("of the same bulkhead").totals;
    assert_eq!((totals.saturated, totals.expired_before_queue, totals.expired, totals.rejected()), (1, 1, 0, 2));
}

/// Python `test_status_sequence_is_unique_under_concurrency`,
/// `test_weighted_status_identity_is_stable_and_sequence_is_contiguous`.
#[test]
fn statuses_of_several_threads_have_numbers_of_their_own() {
    let semaphore = semaphore(2);
    let threads = [(); 4].map(|()| {
        let semaphore = semaphore.clone();
        std::thread::spawn(move || [(); 25].map(|()| semaphore.status()).map(|status| (status.instance, status.number)))
    });
    let mut seen: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
    seen.sort_unstable();
    let (instance, first) = seen[0];
    assert_eq!(seen, (first..first + 100).map(|number| (instance, number)).collect::<Vec<_>>());
}
