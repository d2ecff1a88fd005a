//! The breaker under loom: small scenes of two threads, each run in the orders that the lock and
//! the word beside it allow.
//!
//! Loom interrupts threads at the locks, the word, the stripes of successes and the wakers of
//! `block_on`. The clock, the other counters and the recorders are plain `std`. No search has a
//! bound on the preemptions.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant};
use bulklink_breaker::{Breaker, Settings, State};
use loom::future::block_on;
use loom::thread;

/// A clock that is set by hand.
#[derive(Clone, Default)]
struct ByHand(Arc<AtomicU64>);

impl Clock for ByHand {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(SeqCst))
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

/// Runs a scene of two threads, each time on a new breaker that opens at the first failure, for
/// 10 ns. Compares the outcomes with those expected.
fn outcomes<A, B, O>(
    prepare: fn(&Breaker, &ByHand),
    one: fn(&Breaker) -> A,
    other: fn(&Breaker) -> B,
    outcome: fn(&Breaker, A, B) -> O,
    expected: impl IntoIterator<Item = O>,
) where
    A: 'static,
    B: 'static,
    O: Ord + Debug + Send + 'static,
{
    outcomes_with(Settings::consecutive(1), prepare, one, other, outcome, expected);
}

/// The same with other settings.
///
/// The scene runs twice, and each thread begins first in one of them: loom forgets that a thread
/// has read a word once another has read it too, so the first never sees the values that the second
/// wrote before it began.
fn outcomes_with<A, B, O>(
    settings: Settings,
    prepare: fn(&Breaker, &ByHand),
    one: fn(&Breaker) -> A,
    other: fn(&Breaker) -> B,
    outcome: fn(&Breaker, A, B) -> O,
    expected: impl IntoIterator<Item = O>,
) where
    A: 'static,
    B: 'static,
    O: Ord + Debug + Send + 'static,
{
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    for is_swapped in [false, true] {
        let inside = Arc::clone(&seen);
        loom::model(move || {
            let clock = ByHand::default();
            let settings = settings.cool_down(Duration::from_nanos(10));
            let breaker = Breaker::builder_on(clock.clone(), "test").settings(settings).build().expect("valid");
            prepare(&breaker, &clock);
            let [first, second] = [breaker.clone(), breaker.clone()];
            let spawn_first = || thread::spawn(move || one(&first));
            let spawn_second = || thread::spawn(move || other(&second));
            let (first, second) = if is_swapped {
                let second = spawn_second();
                (spawn_first(), second)
            } else {
                (spawn_first(), spawn_second())
            };
            let (first, second) = (first.join().expect("no panic"), second.join().expect("no panic"));
            let outcome = outcome(&breaker, first, second);
            inside.lock().expect("no panic").insert(outcome);
        });
    }
    let seen = Arc::into_inner(seen).expect("the model has ended").into_inner().expect("no panic");
    assert_eq!(seen, expected.into_iter().collect());
}

fn as_it_is(_: &Breaker, _: &ByHand) {}

/// Opens the circuit, and lets its cool-down pass.
fn cooled_down(breaker: &Breaker, clock: &ByHand) {
    breaker.admit().expect("closed").fail();
    clock.0.store(10, SeqCst);
}

fn fails(breaker: &Breaker) -> bool {
    breaker.admit().map(bulklink_breaker::Call::fail).is_ok()
}

fn succeeds(breaker: &Breaker) -> bool {
    breaker.admit().map(bulklink_breaker::Call::succeed).is_ok()
}

/// A success counts before the trip or after it, or its call is rejected.
#[test]
fn a_success_races_with_a_trip() {
    outcomes(
        as_it_is,
        fails,
        succeeds,
        |breaker, _, succeeded| {
            let totals = breaker.status().totals;
            assert_eq!((totals.failures, totals.opened, breaker.status().circuit.state), (1, 1, State::Open));
            assert_eq!((totals.successes, totals.rejected), (u64::from(succeeded), u64::from(!succeeded)));
            (succeeded, totals.stale)
        },
        [(true, 0), (true, 1), (false, 0)],
    );
}

/// A success that is counted beside the lock comes before the failure or after it, for all to see:
/// it has kept the circuit closed, or it is stale and the next call of its thread is rejected.
#[test]
fn a_success_beside_the_lock_races_with_the_failure_that_opens_without_it() {
    outcomes_with(
        Settings::of_last(3).failures(2),
        |breaker, _| breaker.admit().expect("closed").fail(),
        fails,
        |breaker| {
            // The first opens the stripe of this thread. The second pushes the failure out.
            let first = succeeds(breaker);
            // Loom would not see that the circuit opens just here.
            thread::yield_now();
            let succeeded = [first, succeeds(breaker)];
            (succeeded, breaker.check().is_ok())
        },
        |breaker, failed, (succeeded, is_closed)| {
            let totals = breaker.status().totals;
            let is_open = breaker.status().circuit.state == State::Open;
            assert_eq!((is_closed, totals.opened), (!is_open, u64::from(is_open)));
            assert_eq!((failed, totals.failures), (true, 2));
            assert_eq!(totals.successes, succeeded.iter().filter(|succeeded| **succeeded).count() as u64);
            assert_eq!(totals.rejected, 2 - totals.successes + u64::from(is_open));
            (is_closed, succeeded, totals.stale)
        },
        [
            (true, [true, true], 0),
            (false, [true, true], 1),
            (false, [true, false], 0),
            (false, [true, false], 1),
            (false, [false, false], 0),
        ],
    );
}

/// A reading has each success once, whenever it is counted, and the next reading has no fewer.
#[test]
fn a_reading_races_with_successes_beside_the_lock() {
    outcomes_with(
        Settings::consecutive(3),
        as_it_is,
        |breaker| [breaker.status().circuit.counts.calls, breaker.status().totals.successes],
        |breaker| assert!([succeeds(breaker), succeeds(breaker)].iter().all(|succeeded| *succeeded)),
        |breaker, [calls, successes], ()| {
            assert_eq!((breaker.status().totals.successes, breaker.status().circuit.counts.calls), (2, 2));
            (calls, successes)
        },
        [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)],
    );
}

/// Successes of two threads, in one stripe or two, are all counted.
#[test]
fn successes_of_two_threads_are_all_counted() {
    let twice = |breaker: &Breaker| assert!([succeeds(breaker), succeeds(breaker)].iter().all(|succeeded| *succeeded));
    outcomes_with(
        Settings::consecutive(9),
        |breaker, _| assert!(succeeds(breaker)),
        twice,
        twice,
        |breaker, (), ()| (breaker.status().circuit.counts.calls, breaker.status().totals.successes),
        [(5, 5)],
    );
}

/// Of two failures, the second is stale or rejected: the circuit opens once.
#[test]
fn two_trips_are_one() {
    outcomes(
        as_it_is,
        fails,
        fails,
        |breaker, one, other| {
            let totals = breaker.status().totals;
            assert_eq!((totals.opened, breaker.status().circuit.generation), (1, 1));
            assert_eq!(totals.failures + totals.rejected, 2);
            (one, other, totals.stale)
        },
        [(true, true, 1), (true, false, 0), (false, true, 0)],
    );
}

#[test]
fn two_calls_are_not_both_probes() {
    let admit = |breaker: &Breaker| breaker.admit_owned().ok();
    outcomes(
        cooled_down,
        admit,
        admit,
        |breaker, one, other| {
            assert_eq!(breaker.status().circuit.probes, 1);
            assert!(one.iter().chain(&other).all(bulklink_breaker::Call::is_probe));
            (one.is_some(), other.is_some())
        },
        [(true, false), (false, true)],
    );
}

/// A probe succeeds while another call comes: that is rejected, or finds the circuit closed.
#[test]
fn a_call_races_with_a_probe() {
    outcomes(
        cooled_down,
        succeeds,
        succeeds,
        |breaker, one, other| {
            assert_eq!(breaker.status().circuit.state, State::Closed);
            let totals = breaker.status().totals;
            assert_eq!((totals.probes, totals.stale, totals.ended() + totals.rejected), (1, 0, 3));
            (one, other)
        },
        [(true, true), (true, false), (false, true)],
    );
}

/// A call that the word lets through or rejects while the circuit is closed and opened again by
/// hand gets the time of one circuit.
#[test]
fn a_rejection_races_with_two_transitions() {
    outcomes(
        |breaker, _| breaker.admit().expect("closed").fail(),
        |breaker| {
            breaker.force_closed();
            breaker.force_open();
        },
        |breaker| breaker.admit().map(drop).map_err(|open| open.retry_after.map(|time| time.as_nanos())),
        |_, (), admitted| admitted,
        [Ok(()), Err(Some(10)), Err(None)],
    );
}

/// A task that listens before it looks misses no transition: loom would find it asleep for ever.
#[test]
fn no_wake_up_is_lost() {
    outcomes(
        as_it_is,
        |breaker| {
            let transition = breaker.transition();
            let was_closed = breaker.check().is_ok();
            if was_closed {
                block_on(transition);
            }
            breaker.check().expect_err("it was opened");
            was_closed
        },
        fails,
        |_, was_closed, _| was_closed,
        [true, false],
    );
}

#[test]
fn a_task_stops_waiting_while_the_circuit_opens() {
    outcomes(
        as_it_is,
        |breaker| {
            let mut transition = breaker.transition();
            let mut once = std::pin::Pin::new(&mut transition);
            let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
            once.as_mut().poll(context).is_ready()
        },
        Breaker::force_open,
        |_, is_over, ()| is_over,
        [true, false],
    );
}

/// Handlers get both transitions, in order, by whichever thread comes first.
#[test]
fn transitions_are_told_in_order() {
    let told = Arc::new(Mutex::new(Vec::new()));
    loom::model(move || {
        let breaker = Breaker::builder_on(ByHand::default(), "test").build().expect("valid");
        let inside = Arc::clone(&told);
        breaker.add_transition_handler(move |transition| {
            inside.lock().expect("no panic").push((transition.generation, transition.from, transition.to));
            // Another thread may come while this one calls handlers.
            thread::yield_now();
        });
        let own = breaker.clone();
        let other = thread::spawn(move || own.force_open());
        breaker.force_open();
        other.join().expect("no panic");
        let told = std::mem::take(&mut *told.lock().expect("no panic"));
        assert_eq!(told, [(1, State::Closed, State::Open), (2, State::Open, State::Open)]);
    });
}
