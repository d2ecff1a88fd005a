//! How long a call that was rejected would have to wait, on the fake clock.

use std::time::Duration;

use bulklink::runtime::{Clock, Instant};
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, Partitions, Request};

use crate::panicking_clock::PanickingClock;
use crate::{TestBulkhead, builder, bulkhead, call, executor, ms, slot};

const SECOND: Duration = Duration::from_secs(1);

fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// Runs `calls` calls, one after the other, each for `time`.
fn run(executor: &mut Executor, bulkhead: &TestBulkhead, calls: usize, time: Duration) {
    for _ in 0..calls {
        let running = bulkhead.try_slot().expect("free");
        executor.advance(time);
        drop(running);
    }
}

/// Returns the estimate for one more call while the only slot is taken.
fn estimate(bulkhead: &TestBulkhead) -> Option<Duration> {
    let _running = bulkhead.try_slot().expect("free");
    bulkhead.estimated_wait(1)
}

#[test]
fn an_estimate_is_the_units_before_a_call_and_its_own_by_the_recent_rate() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(10).waiting_room(5).build().expect("valid");
    let cost = |units| Request::new().cost(units);
    assert_eq!(bulkhead.estimated_wait(10), Some(Duration::ZERO), "all is free");
    let running = bulkhead.with(cost(10)).try_slot().expect("free");
    executor.advance(SECOND);
    drop(running);
    let mut running = bulkhead.with(cost(9)).try_slot().expect("free");
    assert_eq!(bulkhead.estimated_wait(1), Some(Duration::ZERO), "one unit is free");
    assert_eq!(bulkhead.estimated_wait(3), Some(ms(200)), "10 units a second, and two are missing");
    let _more = bulkhead.try_slot().expect("free");
    assert_eq!(bulkhead.estimated_wait(3), Some(ms(300)));
    let _waiting = executor.spawn(bulkhead.with(cost(7)).slot());
    executor.run_until_idle();
    assert_eq!(bulkhead.estimated_wait(3), Some(ms(1000)), "7 units are waited for");
    drop(running.split(4));
    assert_eq!(bulkhead.estimated_wait(3), Some(nanos(428_571_429)), "6 s by 14 units");
}

#[test]
fn a_bulkhead_over_its_capacity_must_first_get_below_it() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 4, 0);
    assert_eq!(bulkhead.estimated_wait(1), Some(Duration::ZERO));
    let mut running: Vec<_> = (0..4).map(|_| bulkhead.try_slot().expect("free")).collect();
    executor.advance(SECOND);
    running.pop();
    bulkhead.resize(1).expect("open");
    assert_eq!(bulkhead.estimated_wait(1), Some(3 * SECOND));
}

#[test]
fn a_first_estimate_needs_a_hundred_milliseconds_or_eight_slots() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    assert_eq!(estimate(&bulkhead), None, "the first sample");
    run(&mut executor, &bulkhead, 1, ms(98));
    assert_eq!(estimate(&bulkhead), None, "99 ms are too few");
    run(&mut executor, &bulkhead, 1, ms(2));
    // Each estimate gives a slot back after it.
    assert_eq!(estimate(&bulkhead), Some(ms(25)));

    let wave = crate::bulkhead(&executor, 1, 0);
    assert_eq!(estimate(&wave), None);
    run(&mut executor, &wave, 20, Duration::ZERO);
    assert_eq!(estimate(&wave), None, "many in no time are no rate");
    executor.advance(Duration::from_micros(999));
    assert_eq!(estimate(&wave), None);
    executor.advance(Duration::from_micros(1));
    assert_eq!(estimate(&wave), Some(nanos(43_479)), "23 in 1 ms");
}

#[test]
fn a_wave_of_rejections_after_a_silence_has_no_rate_at_first() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    run(&mut executor, &bulkhead, 10, ms(100));
    let running = bulkhead.try_slot().expect("free");
    let wave: Vec<_> = (0..1000).map(|_| bulkhead.estimated_wait(1)).collect();
    assert!(wave.iter().all(Option::is_none));
    executor.advance(ms(100));
    drop(running);
    assert_eq!(estimate(&bulkhead), Some(ms(100)));
}

#[test]
fn an_old_rate_is_replaced_within_ten_seconds() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let asked = |executor: &mut Executor, seconds, per_second: u32| {
        let rate = |_| {
            run(executor, &bulkhead, per_second as usize, SECOND / per_second);
            let _running = bulkhead.try_slot().expect("free");
            bulkhead.estimated_wait(1).map(|wait| wait.as_millis())
        };
        (0..seconds).map(rate).collect::<Vec<_>>()
    };
    // A slot a second is given back by asking.
    assert_eq!(bulkhead.estimated_wait(1), Some(Duration::ZERO));
    let slow = asked(&mut executor, 30, 1);
    assert!(slow.iter().skip(10).all(|&wait| (Some(500)..Some(530)).contains(&wait)), "{slow:?}");
    let fast = asked(&mut executor, 10, 99);
    assert!(fast.iter().skip(6).all(|&wait| wait == Some(10)), "{fast:?}");
    let slow = asked(&mut executor, 11, 1);
    assert!((Some(500)..Some(530)).contains(&slow[10]), "{slow:?}");
}

#[test]
fn a_rate_is_forgotten_after_thirty_seconds_without_a_rejection() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    assert_eq!(estimate(&bulkhead), None);
    run(&mut executor, &bulkhead, 30, SECOND);
    assert_eq!(estimate(&bulkhead), Some(nanos(967_741_936)), "31 in 30 s");
    run(&mut executor, &bulkhead, 30, SECOND);
    executor.advance(ms(1));
    assert_eq!(estimate(&bulkhead), None);
    run(&mut executor, &bulkhead, 1, SECOND);
    assert_eq!(estimate(&bulkhead), Some(ms(500)));
    // Both samples are older than that, because the work is slow.
    let slow = crate::bulkhead(&executor, 1, 0);
    rejections(&mut executor, &slow, 20, 60);
    executor.advance(29 * SECOND);
    assert!(estimate(&slow).is_some());
    executor.advance(30 * SECOND + ms(1));
    assert_eq!(estimate(&slow), None);
}

#[test]
fn a_rate_looks_back_no_further_than_a_second_that_has_eight_slots() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    assert_eq!(estimate(&bulkhead), None);
    run(&mut executor, &bulkhead, 8, ms(625));
    assert_eq!(estimate(&bulkhead), Some(nanos(555_555_556)), "the younger sample from now on");
    run(&mut executor, &bulkhead, 9, ms(100));
    assert_eq!(estimate(&bulkhead), Some(nanos(310_526_316)), "19 in 5.9 s");
    run(&mut executor, &bulkhead, 1, ms(100));
    assert_eq!(estimate(&bulkhead), Some(nanos(83_333_334)), "12 in 1 s");
    let few = crate::bulkhead(&executor, 1, 0);
    assert_eq!(estimate(&few), None);
    run(&mut executor, &few, 8, ms(625));
    assert_eq!(estimate(&few), Some(nanos(555_555_556)));
    run(&mut executor, &few, 6, ms(500));
    assert_eq!(estimate(&few), Some(ms(500)), "16 in 8 s, since the last 3 s have only 7");
}

/// Else a bulkhead that had little to do would seem slow.
#[test]
fn a_rate_of_a_quiet_time_is_replaced_as_soon_as_there_is_another() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    assert_eq!(estimate(&bulkhead), None);
    run(&mut executor, &bulkhead, 1, 20 * SECOND);
    assert_eq!(estimate(&bulkhead), Some(10 * SECOND));
    run(&mut executor, &bulkhead, 5, ms(1));
    assert_eq!(estimate(&bulkhead), Some(nanos(2_500_625_000)), "8 in 20 s: the next sample");
    run(&mut executor, &bulkhead, 7, ms(1));
    assert_eq!(estimate(&bulkhead), Some(nanos(875_000)));
}

/// Of one slot, each call of which takes `hold`: a call is rejected each second, and the rejections
/// show how many calls have ended, and how long it takes until the next one ends.
fn rejections(
    executor: &mut Executor,
    bulkhead: &TestBulkhead,
    calls: u32,
    hold: u32,
) -> Vec<(u32, u32, Option<Duration>)> {
    let mut rejections = Vec::new();
    for ended in 0..calls {
        let running = bulkhead.try_slot().expect("free");
        for second in 0..hold {
            rejections.push((ended, second, bulkhead.estimated_wait(1)));
            executor.advance(SECOND);
        }
        drop(running);
    }
    rejections
}

#[test]
fn the_rate_of_slow_work_is_known_from_the_first_release_on() {
    for hold in [15, 60, 400, 1500] {
        let mut executor = executor();
        let bulkhead = bulkhead(&executor, 1, 0);
        let truth = SECOND * hold;
        for (ended, second, estimate) in rejections(&mut executor, &bulkhead, 25, hold) {
            let at = format!("{estimate:?} after {ended} calls of {hold} s and {second} s");
            let Some(estimate) = estimate else {
                assert_eq!(ended, 0, "{at}");
                continue;
            };
            assert!((truth / 2..2 * truth).contains(&estimate), "{at}");
            // A window ends in the middle of a call, and has at least five.
            let is_steady = ended >= 16 && hold <= 60;
            assert!(!is_steady || (truth * 5 / 6..=truth * 6 / 5).contains(&estimate), "{at}");
        }
    }
}

#[test]
fn a_change_from_slow_to_fast_work_and_back_is_followed() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    rejections(&mut executor, &bulkhead, 20, 60);
    let mut fast = |calls: u32| -> Vec<_> {
        let call = |_| {
            let running = bulkhead.try_slot().expect("free");
            let estimate = bulkhead.estimated_wait(1).expect("known");
            executor.advance(ms(20));
            drop(running);
            estimate
        };
        (0..calls).map(call).collect()
    };
    let estimates = fast(500);
    assert!(estimates[17..].iter().all(|&estimate| estimate == ms(20)), "{estimates:?}");
    for (ended, second, estimate) in rejections(&mut executor, &bulkhead, 20, 60) {
        let estimate = estimate.expect("known");
        // As long as nothing has been given back, the time of that is all that is known.
        let least = if ended == 0 { SECOND * second.saturating_sub(6) } else { ms(26_900) };
        assert!((least..75 * SECOND).contains(&estimate), "{estimate:?} after {ended} calls and {second} s");
    }
}

#[test]
fn when_nothing_is_given_back_any_more_the_estimates_grow() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 30, 0);
    let fill = || [(); 3].map(|()| bulkhead.with(Request::new().cost(10)).try_slot().expect("free"));
    assert_eq!(bulkhead.estimated_wait(10), Some(Duration::ZERO));
    for _ in 0..100 {
        let running = fill();
        executor.advance(ms(100));
        assert!(bulkhead.estimated_wait(10) <= Some(ms(100)));
        drop(running);
    }
    let _stuck = fill();
    let mut last = bulkhead.estimated_wait(10).expect("known");
    for second in 1..3600 {
        executor.advance(SECOND);
        let estimate = bulkhead.estimated_wait(10).expect("known");
        assert!(estimate >= last && estimate <= SECOND * (second + 5), "{estimate:?} after {second} s");
        // The three that ended last may count, and then the next one.
        assert!(estimate >= SECOND * second / 4, "{estimate:?} after {second} s");
        last = estimate;
    }
    assert!(last > 3000 * SECOND, "{last:?}");
    let three = bulkhead.estimated_wait(30).expect("known");
    assert!(three.abs_diff(3 * last) <= nanos(30), "in proportion to the units");
}

#[test]
fn there_is_no_estimate_without_a_rate() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 0);
    let _both = (bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free"));
    for _ in 0..100 {
        assert_eq!(bulkhead.estimated_wait(1), None, "nothing was given back");
        executor.advance(ms(700));
    }
}

#[test]
fn there_is_no_estimate_for_a_call_that_cannot_be_admitted() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    assert_eq!(estimate(&bulkhead), None);
    run(&mut executor, &bulkhead, 1, SECOND);
    assert_eq!(estimate(&bulkhead), Some(ms(500)));
    assert_eq!((bulkhead.estimated_wait(0), bulkhead.estimated_wait(2)), (None, None));
    assert_eq!(bulkhead.estimated_wait(usize::MAX), None);
    bulkhead.pause();
    assert_eq!(bulkhead.estimated_wait(1), None);
    bulkhead.resume();
    assert_eq!(bulkhead.estimated_wait(1), Some(Duration::ZERO));
    bulkhead.close();
    assert_eq!(bulkhead.estimated_wait(1), None);
}

#[test]
fn abandoned_slots_count_as_given_back() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let running = slot(&call(&mut executor, &bulkhead));
    assert_eq!(bulkhead.estimated_wait(1), None);
    let mut waiting = Box::pin(bulkhead.slot());
    assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
    executor.advance(SECOND);
    drop((running, waiting));
    assert_eq!(bulkhead.status().totals.abandoned, 1);
    assert_eq!(estimate(&bulkhead), Some(ms(500)));
}

#[test]
fn a_slot_that_was_written_off_is_never_free_again() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 0);
    assert_eq!(bulkhead.estimated_wait(1), Some(Duration::ZERO));
    bulkhead.owned().try_slot().expect("free").forget();
    executor.advance(SECOND);
    assert_eq!(estimate(&bulkhead), None, "nothing was given back");
    executor.advance(SECOND);
    assert_eq!(estimate(&bulkhead), Some(2 * SECOND));
}

#[test]
fn a_clock_that_stands_still_or_goes_back_gives_no_estimate() {
    let mut executor = executor();
    let (clock, bulkhead) = (executor.clock(), bulkhead(&executor, 1, 0));
    let start = clock.now();
    for _ in 0..100 {
        assert_eq!(estimate(&bulkhead), None);
    }
    executor.advance(ms(500));
    assert_eq!(estimate(&bulkhead), Some(ms(5)));
    clock.set(Instant::EPOCH);
    assert_eq!(estimate(&bulkhead), None, "the samples are of the future");
    run(&mut executor, &bulkhead, 1, SECOND);
    assert_eq!(estimate(&bulkhead), Some(ms(500)), "it was sampled anew");
    for at in [Instant::FAR_FUTURE, Instant::EPOCH, Instant::FAR_FUTURE, start] {
        clock.set(at);
        assert_eq!(estimate(&bulkhead), None);
    }
}

#[test]
fn a_time_slightly_before_the_younger_sample_keeps_the_older_one() {
    let mut executor = executor();
    let (clock, bulkhead) = (executor.clock(), bulkhead(&executor, 1, 0));
    assert_eq!(estimate(&bulkhead), None);
    run(&mut executor, &bulkhead, 1, 6 * SECOND);
    assert_eq!(estimate(&bulkhead), Some(3 * SECOND));
    clock.set(clock.now().saturating_sub(2 * SECOND));
    assert_eq!(estimate(&bulkhead), Some(nanos(1_333_333_334)), "3 in 4 s");
}

#[test]
fn a_clock_that_panics_gives_no_estimate_and_loses_nothing() {
    let clock = PanickingClock::default();
    let bulkhead = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).build().expect("valid");
    clock.panic(true);
    assert_eq!(bulkhead.estimated_wait(1), Some(Duration::ZERO), "needs no time");
    let _running = bulkhead.try_slot().expect("free");
    assert_eq!(bulkhead.estimated_wait(1), None);
    clock.panic(false);
    assert_eq!(bulkhead.estimated_wait(1), None, "the first sample");
}

#[test]
fn the_largest_figures_neither_overflow_nor_mislead() {
    let mut executor = Executor::new(FakeClock::at(Instant::EPOCH));
    let bulkhead = builder(&executor).capacity(bulklink::Limits::MAX).waiting_room(2).build().expect("valid");
    let all = Request::new().cost(bulklink::Limits::MAX);
    assert_eq!(bulkhead.estimated_wait(1), Some(Duration::ZERO));
    executor.clock().set(Instant::from_nanos(29_999_999_999));
    drop(bulkhead.try_slot());
    let _running = bulkhead.with(all).try_slot().expect("free");
    let _waiting: Vec<_> = (0..2).map(|_| executor.spawn(bulkhead.with(all).slot())).collect();
    executor.run_until_idle();
    let most = Duration::from_nanos(29_999_999_999).as_nanos() * 3 * bulklink::Limits::MAX as u128;
    assert!(most > u128::from(u64::MAX));
    assert_eq!(bulkhead.estimated_wait(bulklink::Limits::MAX), Some(Duration::MAX));
    assert_eq!(bulkhead.estimated_wait(0), None);
}

#[test]
fn each_partition_has_a_rate_of_its_own() {
    let mut executor = executor();
    let builder = Partitions::builder_on(executor.clock(), "test").parallelism(1).max_partitions(2);
    let tenants: Partitions<String, _> = builder.build().expect("valid");
    let estimate = |tenant, cost| tenants.partition(tenant).and_then(|partition| partition.estimated_wait(cost));
    assert_eq!(estimate("ann", 1), None, "there is no partition");
    assert_eq!(tenants.status().partitions, 0, "and none was created");
    let (ann, bob) = (tenants.key("ann").try_slot().expect("free"), tenants.key("bob").try_slot().expect("free"));
    assert_eq!((estimate("ann", 1), estimate("bob", 1)), (None, None));
    executor.advance(SECOND);
    drop(ann);
    let _ann = tenants.key("ann").try_slot().expect("free");
    assert_eq!((estimate("ann", 1), estimate("bob", 1)), (Some(SECOND), None));
    assert_eq!((estimate("ann", 0), estimate("ann", 2)), (None, None));
    drop(bob);
}
