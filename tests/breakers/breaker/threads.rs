//! Threads: nothing is lost, and no more probes run than may.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Wake};
use std::thread::{self, Thread};
use std::time::Duration;

use bulklink::testing::FakeClock;
use bulklink_breaker::{Breaker, BreakerTotals, Outcome, Settings, State};

use super::{breaker, builder, ms, recorded, state, taken, two_in_a_row};

const THREADS: u32 = 8;

/// The counts of the threads, to compare with those of the breaker.
#[derive(Default)]
struct Seen {
    admitted: AtomicU64,
    successes: AtomicU64,
    failures: AtomicU64,
    ignored: AtomicU64,
    cancelled: AtomicU64,
    panicked: AtomicU64,
    rejected: AtomicU64,
    probes: AtomicU64,
}

impl Seen {
    fn compare(&self, totals: &BreakerTotals) {
        let of = |seen: &AtomicU64| seen.load(SeqCst);
        assert_eq!(totals.ended(), of(&self.admitted));
        assert_eq!(totals.ended(), totals.successes + totals.failures + totals.ignored + totals.cancelled);
        let counted = [totals.successes, totals.failures, totals.ignored, totals.cancelled, totals.panicked];
        let seen = [&self.successes, &self.failures, &self.ignored, &self.cancelled, &self.panicked].map(of);
        assert_eq!(counted, seen);
        assert_eq!((totals.rejected, totals.probes), (of(&self.rejected), of(&self.probes)));
        assert!(totals.stale <= totals.ended());
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, SeqCst);
}

/// One random step: a call and how it ends, or another input.
fn step(breaker: &Breaker, clock: &FakeClock, seen: &Seen, random: &mut fastrand::Rng) {
    match random.u32(..200) {
        0 => breaker.force_open(),
        1..4 => breaker.force_closed(),
        4..20 => clock.advance(Duration::from_micros(random.u64(..500))),
        20 => drop((breaker.status().circuit, breaker.status().totals, breaker.health())),
        21..30 if breaker.check().is_err() => add(&seen.rejected),
        _ => call(breaker, seen, random),
    }
}

fn call(breaker: &Breaker, seen: &Seen, random: &mut fastrand::Rng) {
    let Ok(call) = breaker.admit() else { return add(&seen.rejected) };
    add(&seen.admitted);
    if call.is_probe() {
        add(&seen.probes);
    }
    if random.u32(..8) == 0 {
        thread::yield_now();
    }
    match random.u32(..100) {
        0..70 => {
            add(&seen.successes);
            call.succeed();
        }
        70..85 => {
            add(&seen.failures);
            call.fail();
        }
        85..90 => {
            add(&seen.ignored);
            call.settle(Outcome::Ignore);
        }
        90..99 => {
            add(&seen.cancelled);
            drop(call);
        }
        _ => {
            add(&seen.failures);
            add(&seen.panicked);
            let panicked = breaker_panics(call);
            assert!(panicked);
        }
    }
}

/// Drops a call by a panic, without a report of it.
fn breaker_panics(call: bulklink_breaker::Call<'_>) -> bool {
    let unwinding = std::panic::AssertUnwindSafe(move || {
        let _call = call;
        std::panic::resume_unwind(Box::new(()));
    });
    std::panic::catch_unwind(unwinding).is_err()
}

/// In random interleavings on 8 threads, no call is lost or counted twice, and the transitions are
/// a path: each begins where the one before has ended.
#[test]
fn nothing_is_lost_in_random_interleavings() {
    let rate = Settings::of_last(20).failure_rate(40).min_calls(5).cool_down(ms(1));
    let settings = [
        two_in_a_row().cool_down(ms(1)),
        rate.slow_rate(Duration::from_micros(200), 50).probes(3).close_after(2),
        Settings::over(ms(10)).failures(10).cool_down(ms(1)).reopen_after(2).probes(2),
        Settings::of_last(8).failures(4).cool_down(ms(1)).probe_lease(ms(1)),
    ];
    for (seed, settings) in (0..).zip(settings) {
        let (clock, seen) = (FakeClock::new(), Seen::default());
        let breaker = breaker(&clock, settings);
        let log = recorded(&breaker);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let mut random = fastrand::Rng::with_seed(seed * 100 + u64::from(thread));
                let (breaker, clock, seen) = (&breaker, &clock, &seen);
                scope.spawn(move || (0..5_000).for_each(|_| step(breaker, clock, seen, &mut random)));
            }
        });
        let totals = breaker.status().totals;
        seen.compare(&totals);
        let log = taken(&log);
        assert!(log.iter().map(|transition| transition.generation).eq(1..=breaker.status().circuit.generation));
        assert!(log.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(totals.opened, log.iter().filter(|transition| transition.to == State::Open).count() as u64);
        assert!(totals.opened > 10 && totals.probes > 10 && totals.stale > 0, "the scene is too tame: {totals:?}");
    }
}

/// Successes are counted beside the lock in few bits: more of them than that, of several threads,
/// are all counted, and push the failures before them out of the window.
#[test]
fn a_full_stripe_counts_on() {
    const EACH: u64 = 140_000;
    let breaker = breaker(&FakeClock::new(), Settings::of_last(100).failures(3));
    let fail = || breaker.admit().expect("closed").fail();
    fail();
    fail();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..EACH).for_each(|_| breaker.admit().expect("closed").succeed()));
        }
    });
    fail();
    let (totals, counts) = (breaker.status().totals, breaker.status().circuit.counts);
    assert_eq!((totals.successes, totals.failures, totals.stale, totals.opened), (2 * EACH, 3, 0, 0));
    assert_eq!((counts.calls, counts.failures), (100, 1));
}

/// Calls all come at once when the cool-down is over.
fn rush(breaker: &Breaker, threads: usize, call: impl Fn(&Breaker) + Sync) {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                barrier.wait();
                call(breaker);
            });
        }
    });
}

/// safe-client-gateway #3442: every call after the cool-down was let through, so that a dependency
/// that just recovered got 17 times its load.
#[test]
fn as_many_probes_run_as_may_however_many_calls_come_at_once() {
    for probes in [1, 3] {
        let clock = FakeClock::new();
        let breaker = breaker(&clock, two_in_a_row().probes(probes).close_after(1000).reopen_after(1000));
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        breaker.force_closed();
        for _ in 0..2 {
            breaker.blocking_execute(|| Err::<(), _>(())).expect_err("it fails");
        }
        clock.advance(ms(10));
        rush(&breaker, 16, |breaker| {
            for _ in 0..50 {
                let _ = breaker.blocking_execute(|| {
                    let now = running.fetch_add(1, SeqCst) + 1;
                    most.fetch_max(now, SeqCst);
                    thread::yield_now();
                    running.fetch_sub(1, SeqCst);
                    Err::<(), _>(())
                });
            }
        });
        assert!(most.load(SeqCst) <= probes as usize, "{most:?} probes ran at once");
        let totals = breaker.status().totals;
        assert_eq!(totals.probes + 2, totals.failures);
        assert!(totals.rejected > 0);
    }
}

/// The same while each probe fails: one call reaches the dependency in each cool-down.
#[test]
fn a_dependency_that_stays_down_gets_one_call_in_each_cool_down() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, Settings::consecutive(1).cool_down(ms(10)));
    breaker.blocking_execute(|| Err::<(), _>(())).expect_err("it fails");
    for round in 1..=200 {
        clock.advance(ms(10));
        rush(&breaker, 8, |breaker| drop(breaker.blocking_execute(|| Err::<(), _>(()))));
        assert_eq!(breaker.status().totals.probes, round);
        assert_eq!(state(&breaker), State::Open);
    }
    assert_eq!(breaker.status().totals.failures, 201);
}

/// gobreaker #91: 30,000 calls were in flight before a trip, and their results decided on what came
/// after it.
#[test]
fn calls_in_flight_before_a_trip_change_nothing_after_it() {
    const EACH: u64 = 30_000 / THREADS as u64;
    let clock = FakeClock::new();
    let breaker = breaker(&clock, two_in_a_row());
    let (flying, tripped) = (Barrier::new(THREADS as usize + 1), Barrier::new(THREADS as usize + 1));
    let log = recorded(&breaker);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (breaker, flying, tripped) = (&breaker, &flying, &tripped);
            scope.spawn(move || {
                let calls: Vec<_> = (0..EACH).map(|_| breaker.admit().expect("closed")).collect();
                flying.wait();
                tripped.wait();
                for call in calls {
                    call.settle(if thread % 2 == 0 { Outcome::Success } else { Outcome::Failure });
                }
            });
        }
        flying.wait();
        for _ in 0..2 {
            breaker.admit().expect("closed").fail();
        }
        clock.advance(ms(10));
        let probe = breaker.admit().expect("the cool-down is over");
        let half_open = breaker.status().circuit;
        tripped.wait();
        while breaker.status().totals.stale < u64::from(THREADS) * EACH {
            let view = breaker.status().circuit;
            assert_eq!(view, half_open);
            thread::yield_now();
        }
        probe.succeed();
    });
    assert_eq!(state(&breaker), State::Closed);
    assert_eq!(taken(&log).len(), 3);
    assert_eq!(breaker.status().totals.ended(), u64::from(THREADS) * EACH + 3);
}

/// Unparks its thread.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A task that listens, and then looks at the circuit, misses no transition.
#[test]
fn no_transition_falls_between_listening_and_looking() {
    const ROUNDS: usize = 2_000;
    let breaker = builder(&FakeClock::new(), two_in_a_row()).build().expect("valid settings");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let waker = Arc::new(Unparks(thread::current())).into();
                    let mut context = Context::from_waker(&waker);
                    while !done.load(SeqCst) {
                        let mut transition = std::pin::pin!(breaker.transition());
                        if done.load(SeqCst) {
                            break;
                        }
                        while transition.as_mut().poll(&mut context).is_pending() {
                            let parked = std::time::Instant::now();
                            thread::park_timeout(Duration::from_secs(10));
                            assert!(parked.elapsed() < Duration::from_secs(10), "a wake-up was lost");
                        }
                    }
                })
            })
            .collect();
        for round in 0..ROUNDS {
            done.store(round + 1 == ROUNDS, SeqCst);
            breaker.force_open();
            if round % 64 == 0 {
                thread::yield_now();
            }
        }
        for waiter in waiters {
            waiter.join().expect("no panic");
        }
    });
}
