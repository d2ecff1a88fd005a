//! Threads that block, run closures and change the circuit at random.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use bulklink::Reason;
use bulklink::testing::FakeClock;
use bulklink_breaker::{Guard, GuardError, Settings};

use super::{bulkhead, is_idle, ms};

/// On 8 threads, every call is counted once, by the bulkhead or by the breaker, and no slot is
/// lost.
#[test]
fn everything_adds_up() {
    const THREADS: u64 = 8;
    const EACH: u64 = 3_000;
    let clock = FakeClock::new();
    let settings = Settings::of_last(8).failures(4).cool_down(ms(1)).probes(2);
    let guard = &Guard::builder(&bulkhead(clock.clone(), 2, 3)).settings(settings).half_open_capacity(1).build();
    let guard = guard.as_ref().expect("valid settings");
    let (ran, open, full) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (clock, ran, open, full) = (&clock, &ran, &open, &full);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..EACH {
                    match random.u32(..100) {
                        0 => guard.breaker().force_closed(),
                        1 => guard.breaker().force_open(),
                        2..20 => clock.advance(ms(1)),
                        _ => {}
                    }
                    let is_failure = random.u32(..3) == 0;
                    let result = guard.blocking_execute(|| {
                        ran.fetch_add(1, SeqCst);
                        thread::yield_now();
                        if is_failure { Err("fails") } else { Ok(()) }
                    });
                    match result {
                        Err(GuardError::Open(_)) => _ = open.fetch_add(1, SeqCst),
                        Err(GuardError::Rejected(rejection)) => {
                            assert_eq!(rejection.reason(), Reason::Saturated);
                            full.fetch_add(1, SeqCst);
                        }
                        Err(GuardError::Operation("fails")) => assert!(is_failure),
                        Ok(()) => assert!(!is_failure),
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
    guard.breaker().force_closed();
    assert_eq!(guard.bulkhead().limits().capacity, 2);
    is_idle(guard);
    let (totals, [ran, open, full]) = (guard.breaker().status().totals, [ran, open, full].map(AtomicU64::into_inner));
    assert_eq!(ran + open + full, THREADS * EACH);
    assert_eq!((totals.ended(), totals.successes + totals.failures, totals.rejected), (ran, ran, open));
    assert!(totals.opened > 10 && totals.probes > 0 && full > 0 && ran > 100, "the scene is too tame: {totals:?}");
}
