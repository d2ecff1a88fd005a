//! How much of what an upstream can answer is answered in time, with a deadline for each call: a
//! simulation with the real gate, in virtual time.

mod simulation;

use std::cell::RefCell;
use std::time::Duration;

use bulklink_core::Reserve;
use simulation::{Fate, MS, Random, Run, Upstream, count, nanos, whole};

const SLOTS: usize = 16;
/// The mean time of an operation.
const MEAN: u64 = 50 * MS;
/// How long calls come, after a time in which nothing is counted.
const WARM_UP: u64 = 5_000 * MS;
const COUNTED: u64 = 15_000 * MS;

/// The calls to an upstream: the time that each has in all, and how long operations take.
struct Kind {
    name: &'static str,
    budget: u64,
    hold: fn(&mut Random) -> f64,
}

const KINDS: [Kind; 8] = [
    Kind { name: "constant, little time", budget: 80 * MS, hold: |_| 1.0 },
    Kind { name: "constant", budget: 130 * MS, hold: |_| 1.0 },
    Kind { name: "spread by 10 %", budget: 130 * MS, hold: |random| 0.9 + 0.2 * random.unit() },
    Kind { name: "spread by 30 %", budget: 200 * MS, hold: |random| 0.7 + 0.6 * random.unit() },
    Kind { name: "spread by 90 %", budget: 300 * MS, hold: |random| 0.1 + 1.8 * random.unit() },
    Kind { name: "exponential", budget: 500 * MS, hold: Random::exponential },
    Kind { name: "two kinds", budget: 400 * MS, hold: |random| if random.unit() < 0.9 { 0.5 } else { 5.5 } },
    Kind { name: "much time", budget: 2_000 * MS, hold: |random| 0.5 + random.unit() },
];

/// Calls per unit of time that the upstream can answer.
const LOADS: [f64; 6] = [0.5, 0.9, 1.2, 2.0, 4.0, 10.0];
/// At which so few calls are to be late.
const LATE_AT: f64 = 2.0;
const MOST_LATE: f64 = 0.03;

#[test]
fn with_a_learnt_reserve_nearly_all_that_can_be_answered_is_answered_in_time() {
    let (learnt, late) = all_kinds(Reserve::Learnt);
    let (fixed, _) = all_kinds(Reserve::Fixed(Duration::from_nanos(MEAN / 10 * 11)));
    let (without, _) = all_kinds(Reserve::None);
    println!("goodput: {learnt:.3} learnt, {fixed:.3} fixed, {without:.3} without a reserve");
    assert!(learnt > 0.985 && learnt > fixed, "{learnt}, {fixed}");
    assert!(without < 0.2, "{without}");
    assert!(late.iter().all(|&late| late <= MOST_LATE), "{late:?}");
}

/// Returns the geometric mean over all kinds and loads of the goodput, and the part of the admitted
/// calls of each kind that are late, at one of the loads.
fn all_kinds(reserve: Reserve) -> (f64, Vec<f64>) {
    let (mut logarithms, mut lates) = (0.0, vec![]);
    for kind in &KINDS {
        let figures = LOADS.map(|load| figures(kind, load, reserve));
        println!("{reserve:?}, {}: {figures:.3?}", kind.name);
        logarithms += figures.iter().map(|(goodput, _)| goodput.max(0.001).ln()).sum::<f64>();
        lates.extend(LOADS.iter().zip(figures).filter(|(load, _)| **load == LATE_AT).map(|(_, (_, late))| late));
    }
    ((logarithms / count(KINDS.len() * LOADS.len())).exp(), lates)
}

/// Returns the number of calls that were answered in time, per call that came or could have been
/// answered, whichever is less; and the part of the admitted calls that were late.
fn figures(kind: &Kind, load: f64, reserve: Reserve) -> (f64, f64) {
    // So large that only the deadlines bound the queue.
    let upstream = Upstream { slots: SLOTS, waiting_room: 100 * SLOTS, reserve, is_cut: true };
    let random = RefCell::new(Random::new());
    let mut run = Run::new(&upstream, |_| whole((kind.hold)(&mut random.borrow_mut()) * nanos(MEAN)));
    let interval = count(1) * nanos(MEAN) / (count(SLOTS) * load);
    let mut next = 0.0;
    while next < nanos(WARM_UP + COUNTED) {
        run.enter(whole(next), Some(kind.budget));
        // Calls come at random.
        next += interval * random.borrow_mut().exponential();
    }
    let number = |fate| count(run.fates.iter().filter(|&&(of, granted)| of == fate && granted >= WARM_UP).count());
    let (in_time, late) = (number(Fate::InTime), number(Fate::Late));
    let possible = load.min(1.0) * count(SLOTS) * nanos(COUNTED) / nanos(MEAN);
    (in_time / possible, late / (in_time + late))
}
