//! Classes, against the formulas of queues with priorities.

use bulklink_core::pool::Class;

use crate::plant::Source;
use crate::{HOLD, WAIT_LIMIT, estimate, limits, run_plain, usual_or_long};

const SLOTS: u32 = 10;
const ANY: u32 = 1_000_000;
/// Arrivals of the better class and of the worse one, per second.
const RATES: [f64; 2] = [300.0, 500.0];
const CLASSES: [Class; 2] = [Class::Critical, Class::Normal];
const SEEDS: u64 = 60;
/// Student's quantile for these.
const QUANTILE: f64 = 3.463;

/// Cobham, 1954: the mean waits of two classes with M/M/c, in milliseconds.
fn cobham() -> [f64; 2] {
    let (slots, load) = (f64::from(SLOTS), (RATES[0] + RATES[1]) * HOLD);
    // By Erlang's second formula, the part of the calls that wait.
    let blocked = (1..=SLOTS).map(f64::from).fold(1.0, |blocked, n| load * blocked / (n + load * blocked));
    let waits = slots * blocked / (slots - load * (1.0 - blocked));
    let mean = 1e3 * waits * HOLD / slots;
    let [better, all] = [RATES[0] * HOLD / slots, load / slots];
    [mean / (1.0 - better), mean / (1.0 - better) / (1.0 - all)]
}

/// Returns the mean waits of the two classes, and of all calls; and the halves of their intervals.
fn waits(relief: u32) -> [(f64, f64); 3] {
    let sources = [0, 1].map(|n| Source::open(RATES[n]).class(CLASSES[n]));
    let mut limits = limits(SLOTS, ANY);
    limits.relief = relief;
    let mut samples = [vec![], vec![], vec![]];
    for seed in 1..=SEEDS {
        let figures = run_plain(&limits, &sources, usual_or_long(60.0, 400.0), None, seed);
        let means = [figures.of([0]), figures.of([1]), figures.of([0, 1])].map(|tally| tally.mean());
        samples.iter_mut().zip(means).for_each(|(samples, mean)| samples.push(mean));
    }
    let estimates = samples.map(|samples| estimate(&samples, QUANTILE));
    println!("relief {relief}: waits {estimates:.4?} ms");
    estimates
}

#[test]
fn without_relief_classes_wait_as_cobham_has_it() {
    let exact = cobham();
    println!("exact: {exact:.6?} ms");
    assert!((exact[0] - 0.584_543).abs() < 1e-6 && (exact[1] - 2.922_715).abs() < 1e-6, "{exact:?}");
    for ((mean, half), exact) in waits(0).into_iter().zip(exact) {
        assert!((mean - exact).abs() <= half, "{mean} ± {half}, and not {exact}");
        assert!(half < 0.1 * exact, "the interval is too wide to show anything");
    }
}

/// Relief takes from one class what it gives to the other: the mean of all waits is that of one
/// queue.
#[test]
fn relief_trades_the_wait_of_one_class_for_that_of_the_other() {
    let exact = cobham();
    let of_all = (RATES[0] * exact[0] + RATES[1] * exact[1]) / (RATES[0] + RATES[1]);
    let mut before = exact;
    for relief in [5, 1] {
        let [better, worse, all] = waits(relief);
        assert!((all.0 - of_all).abs() <= all.1, "{all:?}, and not {of_all}");
        assert!(better.0 > before[0] && worse.0 < before[1], "{better:?}, {worse:?}, before {before:?}");
        before = [better.0, worse.0];
    }
    assert!(before[0] > 1.0 && before[1] < 2.7, "{before:?}");
}

#[test]
fn a_better_class_is_served_beside_one_that_asks_for_twelve_times_the_capacity() {
    let sources = [Source::open(100.0).class(Class::Critical), Source::open(12_000.0).class(Class::Sheddable)];
    for (headroom, most_wait, least_busy) in [(0, 6.0, 0.999), (1, 3.0, 0.90), (2, 0.2, 0.80)] {
        let mut limits = limits(SLOTS, 100);
        limits.headroom[Class::Sheddable as usize] = headroom;
        let figures = run_plain(&limits, &sources, usual_or_long(40.0, 400.0), Some(WAIT_LIMIT), 5);
        let mut better = figures.of([0]);
        let (wait, busy) = (better.quantile(0.99), figures.running().iter().sum::<f64>() / f64::from(SLOTS));
        println!("headroom {headroom}: success {:.5}, p99 {wait:.2} ms, busy {busy:.3}", better.success());
        assert!(better.success() > 0.99999, "{}", better.success());
        assert!(wait <= most_wait && busy >= least_busy, "{wait}, {busy}");
    }
}
