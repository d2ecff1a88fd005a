//! All figures in one reading: the status, and the lengths of waits and holds.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use bulklink::testing::{FakeClock, Task};
use bulklink::{Bulkhead, Figures, Handle, Histogram, Limits, Partitions, Reason, Request, StdClock, partitions};

use crate::panicking_clock::PanickingClock;
use crate::{bulkhead, call, executor, ms, reason, slot};

fn figures(bulkhead: &impl AsRef<Handle>) -> Figures {
    let mut figures = Figures::new();
    bulkhead.as_ref().figures(&mut figures);
    figures
}

fn of(durations: &[Duration]) -> Histogram {
    let mut histogram = Histogram::new();
    for &duration in durations {
        histogram.record(duration);
    }
    histogram
}

/// Checks everything that holds in each reading.
fn check(figures: &Figures) {
    let (status, totals) = (&figures.status, &figures.status.totals);
    assert_eq!(figures.waits.count(), totals.admitted_from_queue);
    assert_eq!(figures.holds.count(), status.holds);
    assert_eq!(totals.admitted, totals.finished + totals.abandoned + status.in_flight as u64);
    assert_eq!(totals.admitted_units, totals.finished_units + totals.abandoned_units + status.in_use as u64);
    assert_eq!(totals.queued, totals.settled_waiting() + status.waiting as u64);
    assert_eq!(totals.rejected(), totals.saturated + totals.expired + totals.expired_before_queue + totals.closed());
    // Each wait is longer than the edge before that of its bucket, and at most as long as its own.
    let longest = figures.waits.quantile(1.0).unwrap_or_default();
    let shortest = Duration::from_micros(1);
    assert!(status.longest_wait() <= longest && longest <= status.longest_wait().max(shortest) * 11 / 10);
}

#[test]
fn a_reading_has_the_status_and_the_length_of_each_wait_that_ended_in_admission() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 3);
    let mut running = bulkhead.owned().try_slot().expect("free");
    let mut waits = Vec::new();
    for millis in [3, 70, 1_000] {
        let waiting = call(&mut executor, &bulkhead);
        let cancelled = call(&mut executor, &bulkhead);
        executor.clock().advance(ms(millis));
        cancelled.cancel();
        drop(running);
        executor.run_until_idle();
        running = slot(&waiting);
        waits.push(ms(millis));
    }
    let read = figures(bulkhead.handle());
    check(&read);
    assert_eq!((&*read.status.label, read.status.in_use, read.status.totals.cancelled), ("test", 1, 3));
    assert_eq!((read.waits, read.status.totals.cumulative_wait()), (of(&waits), waits.iter().sum()));
    assert!(read.holds.is_empty(), "not measured");
}

#[test]
fn a_place_for_figures_is_used_again_for_another_bulkhead() {
    let mut executor = executor();
    let (first, second) = (bulkhead(&executor, 1, 1), Bulkhead::builder_on(executor.clock(), "second"));
    let second = second.parallelism(2).build().expect("valid");
    let running = first.try_slot().expect("free");
    let waiting = call(&mut executor, &first);
    drop(running);
    executor.run_until_idle();
    let mut read = Figures::default();
    assert_eq!((&*read.status.label, read.status.in_flight), ("", 0));
    for (bulkhead, label, waits) in [(&first, "test", 1), (&second, "second", 0), (&first, "test", 1)] {
        bulkhead.handle().figures(&mut read);
        assert_eq!((&*read.status.label, read.waits.count()), (label, waits));
        assert_eq!(
            read.status.snapshot,
            bulkhead.status().since(&read.status).map(|_| read.status.snapshot).expect("earlier")
        );
    }
    drop(waiting);
}

#[test]
fn quantiles_of_recorded_waits_are_at_most_a_tenth_above_the_exact_ones() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let mut running = bulkhead.owned().try_slot().expect("free");
    let mut waits: Vec<_> = (0..500_u64).map(|n| Duration::from_micros(2 + n * n * n)).collect();
    for &wait in waits.iter().rev() {
        let waiting = call(&mut executor, &bulkhead);
        executor.clock().advance(wait);
        drop(running);
        executor.run_until_idle();
        running = slot(&waiting);
    }
    let read = figures(bulkhead.handle());
    check(&read);
    waits.sort();
    for (part, rank) in [(0.0, 1), (0.01, 5), (0.5, 250), (0.9, 450), (0.99, 495), (1.0, 500)] {
        let (exact, found) = (waits[rank - 1], read.waits.quantile(part).expect("not empty"));
        assert!(exact <= found && found <= exact * 11 / 10, "{part}: {exact:?}, found {found:?}");
    }
}

#[test]
fn measured_holds_have_lengths_and_tell_the_use_across_a_resize() {
    let executor = executor();
    let clock = executor.clock();
    let builder = Bulkhead::builder_on(clock.clone(), "test").capacity(4).waiting_room(1);
    let bulkhead = builder.measure_holds(true).build().expect("valid");
    let before = bulkhead.status();
    let (mut three, one) = (bulkhead.with(Request::new().cost(3)).try_slot().expect("free"), bulkhead.try_slot());
    clock.advance(ms(10));
    let part = three.split(1).expect("it has more");
    three.merge(part).expect("of the same bulkhead");
    clock.advance(ms(10));
    bulkhead.resize(8).expect("valid");
    clock.advance(ms(20));
    drop(one);
    clock.advance(ms(20));
    drop(three);
    clock.advance(ms(40));
    let read = figures(bulkhead.handle());
    check(&read);
    assert_eq!(read.holds, of(&[ms(10), ms(40), ms(60)]), "the part too");
    assert_eq!((read.status.busy(), read.status.offered()), (ms(3 * 60 + 40), ms(4 * 20 + 8 * 80)));
    let interval = read.status.since(&before).expect("in order");
    assert_eq!((interval.mean_in_use(), interval.utilization()), (Some(220.0 / 100.0), Some(220.0 / 720.0)));
}

#[test]
fn use_is_exact_where_waiting_calls_are_admitted_or_give_their_slot_up() {
    let mut executor = executor();
    let builder = Bulkhead::builder_on(executor.clock(), "test").parallelism(1).waiting_room(5);
    let bulkhead = builder.measure_holds(true).build().expect("valid");
    let clock = executor.clock();
    let busy = |bulkhead: &Bulkhead<FakeClock>| bulkhead.status().busy();
    bulkhead.pause();
    let calls = [(); 5].map(|()| call(&mut executor, &bulkhead));
    clock.advance(ms(5));
    assert_eq!(busy(&bulkhead), Duration::ZERO);
    bulkhead.resume();
    clock.advance(ms(5));
    assert_eq!(busy(&bulkhead), ms(5), "the first has a slot, and has not collected it");
    bulkhead.reconfigure(bulkhead.limits().with_capacity(3)).expect("valid");
    clock.advance(ms(5));
    let [first, second, third, fourth, fifth] = calls;
    first.cancel();
    clock.advance(ms(5));
    assert_eq!(busy(&bulkhead), ms(5 + 3 * 5 + 3 * 5), "the fourth has its slot");
    assert_eq!(bulkhead.handle().take_back_uncollected(ms(10)), 2);
    clock.advance(ms(5));
    assert_eq!(busy(&bulkhead), ms(5 + 3 * 5 + 3 * 5 + 2 * 5), "the fifth has its slot");
    bulkhead.close();
    executor.run_until_idle();
    drop((slot(&fourth), slot(&fifth)));
    clock.advance(ms(5));
    assert_eq!(busy(&bulkhead), ms(5 + 3 * 5 + 3 * 5 + 2 * 5));
    assert!([second, third].iter().all(|call| reason(call) == Reason::Uncollected));
}

#[test]
fn after_ten_thousand_calls_of_which_a_third_was_cancelled_every_gauge_is_zero() {
    let mut executor = executor();
    let builder = Bulkhead::builder_on(executor.clock(), "test").parallelism(7).waiting_room(10_000);
    let bulkhead = builder.measure_holds(true).build().expect("valid");
    bulkhead.pause();
    let mut calls: Vec<_> = (0..10_000).map(|_| executor.spawn(bulkhead.owned().slot())).collect();
    executor.run_until_idle();
    // Of two thirds of a third, the wait is cancelled.
    calls.iter().step_by(3).skip(1_000).for_each(Task::cancel);
    bulkhead.resume();
    // Of the others, some have a slot by now, which they have not collected.
    calls.iter().step_by(3).take(1_000).for_each(Task::cancel);
    let cancelled = calls.len().div_ceil(3);
    while !bulkhead.status().is_drained() {
        executor.clock().advance(ms(1));
        executor.run_until_idle();
        calls.retain(|call| !call.is_finished() || call.output().is_none());
        if figures(bulkhead.handle()).status.waiting == 0 {
            bulkhead.close();
        }
        check(&figures(bulkhead.handle()));
    }
    let read = figures(bulkhead.handle());
    let status = &read.status;
    assert_eq!((status.in_flight, status.in_use, status.waiting, status.waiting_units), (0, 0, 0, 0));
    assert_eq!((status.uncollected, status.uncollected_units, status.capacity_excess()), (0, 0, 0));
    let totals = &status.totals;
    assert_eq!(totals.finished + totals.cancelled + totals.abandoned, 10_000);
    assert!(totals.abandoned > 0 && totals.cancelled + totals.abandoned == cancelled as u64);
    assert_eq!(read.holds.count(), totals.finished, "each in its own bucket, once");
}

#[test]
fn readings_during_a_storm_of_resizes_and_closes_are_consistent() {
    for measured in [false, true] {
        for _ in 0..8 {
            let builder = Bulkhead::builder_on(StdClock, "storm").capacity(3).waiting_room(6).wait_limit(ms(1));
            storm(&builder.measure_holds(measured).build().expect("valid"));
        }
    }
}

fn storm(bulkhead: &Bulkhead<StdClock>) {
    let is_over = AtomicBool::new(false);
    let mut before = figures(bulkhead);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..3)
            .map(|caller| {
                scope.spawn(move || {
                    for round in 0..400 {
                        let request = Request::new().cost(1 + (caller + round) % 2);
                        if let Ok(slot) = bulkhead.with(request).blocking_slot() {
                            if round % 3 == 0 {
                                thread::yield_now();
                            }
                            drop(slot);
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            for round in 0..300 {
                // Refused while a call waits that asks for more.
                let _ = bulkhead.resize(1 + round % 5);
                if round % 50 == 0 {
                    bulkhead.pause();
                    bulkhead.resume();
                }
            }
            bulkhead.close();
            for caller in callers {
                caller.join().expect("no panic");
            }
            is_over.store(true, SeqCst);
        });
        let mut after = before.clone();
        while !is_over.load(SeqCst) {
            bulkhead.handle().figures(&mut after);
            check(&after);
            let interval = after.status.since(&before.status).expect("in order");
            assert_eq!(after.waits.since(&before.waits).count(), interval.totals.admitted_from_queue);
            assert!(after.status.busy() >= before.status.busy());
            before.clone_from(&after);
        }
    });
    let after = figures(bulkhead);
    check(&after);
    assert!(after.status.is_drained() && after.status.in_use == 0 && after.status.waiting == 0);
}

fn tenants(clock: FakeClock) -> Partitions<u32, FakeClock> {
    let builder = Partitions::builder_on(clock, "tenants").parallelism(1).waiting_room(2).max_partitions(3);
    builder.measure_holds(true).build().expect("valid")
}

#[test]
fn the_partitions_are_read_together_and_what_is_dropped_stays_counted() {
    let mut executor = executor();
    let tenants = tenants(executor.clock());
    let mut read = partitions::Figures::new();
    let mut before = read.clone();
    for key in 0..10 {
        let running = tenants.key(&key).try_slot().expect("free");
        let waiting = executor.spawn(tenants.key(&key).slot());
        executor.run_until_idle();
        executor.clock().advance(ms(5));
        drop(running);
        executor.run_until_idle();
        drop(waiting.output());
        tenants.handle().figures(&mut read);
        assert_eq!((read.waits.count(), read.holds.count()), (u64::from(key) + 1, 2 * u64::from(key) + 2));
        assert_eq!(read.waits.count(), read.sums.totals.admitted_from_queue);
        assert_eq!(read.holds.count(), read.sums.holds);
        assert_eq!(read.sums.busy, ms(5) * (key + 1), "the second call of each ends at once");
        assert!(read.sums.offered >= before.sums.offered && read.sums.cumulative_hold >= before.sums.cumulative_hold);
        before.clone_from(&read);
    }
    assert_eq!((read.status.partitions, read.status.totals.evicted), (3, 7));
    assert_eq!((read.sums.capacity, read.sums.waiting_room, read.sums.in_use), (3, 6, 0));
    assert_eq!(read.waits, of(&[ms(5); 10]));
    assert!(!format!("{:?}", read.sums).contains("key"));
}

/// In each partition, the capacity is set after it was made, when its clock is not read.
#[test]
fn partitions_offer_nothing_before_their_first_reading() {
    for by_key in [false, true] {
        let clock = FakeClock::new();
        let builder = Partitions::builder_on(clock.clone(), "tenants").parallelism(1).max_partitions(3);
        let builder = builder.measure_holds(true);
        let double = move |_: &u32, each: Limits| each.with_capacity(if by_key { 2 } else { each.capacity });
        let tenants = builder.limits_for(double).build().expect("valid");
        if !by_key {
            tenants.reconfigure(tenants.status().each.with_capacity(2)).expect("valid");
        }
        let running = tenants.key(&1).try_slot().expect("free");
        let mut read = partitions::Figures::new();
        tenants.handle().figures(&mut read);
        assert_eq!((read.sums.offered, read.sums.busy), (Duration::ZERO, Duration::ZERO));
        clock.advance(ms(10));
        tenants.handle().figures(&mut read);
        assert_eq!((read.sums.offered, read.sums.busy), (ms(20), ms(10)));
        drop(running);
    }
}

#[test]
fn a_clock_that_panics_while_limits_are_set_offers_nothing_before_it_works_again() {
    let clock = PanickingClock::default();
    let builder = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).measure_holds(true);
    let bulkhead = builder.build().expect("valid");
    clock.panic(true);
    bulkhead.pause();
    bulkhead.resume();
    clock.panic(false);
    assert_eq!(figures(bulkhead.handle()).status.offered(), Duration::ZERO);
}

#[test]
fn the_bulkhead_of_a_partition_has_no_histograms_of_its_own() {
    let mut executor = executor();
    let tenants = tenants(executor.clock());
    let running = tenants.key(&1).try_slot().expect("free");
    let waiting = executor.spawn(tenants.key(&1).slot());
    executor.run_until_idle();
    drop(running);
    executor.run_until_idle();
    let read = figures(&tenants.partition(&1).expect("kept"));
    assert_eq!((read.status.totals.admitted_from_queue, read.waits.count(), read.holds.count()), (1, 0, 0));
    drop(waiting);
}

#[test]
fn partitions_are_read_while_calls_of_many_threads_wait_in_them() {
    let builder = Partitions::<usize, _>::builder_on(StdClock, "tenants").parallelism(1).waiting_room(4);
    let tenants = Arc::new(builder.max_partitions(2).build().expect("valid"));
    thread::scope(|scope| {
        for caller in 0..3 {
            let tenants = &tenants;
            scope.spawn(move || (0..500).for_each(|round| _ = tenants.key(&((caller + round) % 3)).blocking_slot()));
        }
        let (mut read, mut waits) = (partitions::Figures::new(), 0);
        for _ in 0..200 {
            tenants.handle().figures(&mut read);
            assert!(read.waits.count() >= read.sums.totals.admitted_from_queue && read.waits.count() >= waits);
            waits = read.waits.count();
        }
    });
    let mut read = partitions::Figures::new();
    tenants.handle().figures(&mut read);
    assert_eq!(read.waits.count(), read.sums.totals.admitted_from_queue);
}

#[test]
fn no_sum_over_time_runs_back_when_partitions_are_dropped_during_a_reading() {
    let clock = FakeClock::new();
    let builder = Partitions::builder_on(clock.clone(), "tenants").parallelism(1).max_partitions(50);
    let tenants: Partitions<u32, _> = builder.measure_holds(true).build().expect("valid");
    let (mut read, mut offered) = (partitions::Figures::new(), Duration::ZERO);
    for round in 0..300 {
        clock.advance(ms(1_000));
        let begin = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                begin.wait();
                // Each drops one that was idle for a second.
                (0..50).for_each(|key| _ = tenants.key(&(50 * round + key)).try_slot());
            });
            begin.wait();
            for _ in 0..10 {
                tenants.handle().figures(&mut read);
                assert!(read.sums.offered >= offered, "{:?} after {offered:?}", read.sums.offered);
                offered = read.sums.offered;
            }
        });
    }
}

#[test]
fn a_clock_that_panics_hides_no_figures() {
    let clock = PanickingClock::default();
    let bulkhead = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).build().expect("valid");
    let builder = Partitions::<u32, _>::builder_on(clock.clone(), "tenants").parallelism(1).max_partitions(1);
    let tenants = builder.build().expect("valid");
    let _running = (bulkhead.try_slot().expect("free"), tenants.key(&1).try_slot().expect("free"));
    clock.panic(true);
    let mut of_tenants = partitions::Figures::new();
    tenants.handle().figures(&mut of_tenants);
    assert_eq!((figures(bulkhead.handle()).status.in_use, of_tenants.sums.in_use), (1, 1));
}
