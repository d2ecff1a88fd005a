//! Each call has one end.

use bulklink_overload::contestants::CONTESTANTS;
use bulklink_overload::plant::Plant;
use bulklink_overload::plants::SETS;
use bulklink_overload::simulation::{Run, run};

use crate::run_fixed;

/// The start of a plant, with at most this many calls.
fn start(plant: Plant) -> Plant {
    let span = (8_000.0 / plant.load[0].1).min(40.0);
    let warm = (span / 4.0).min(plant.warm);
    plant.measured(warm, span)
}

fn assert_complete(plant: &Plant, run: &Run) {
    let ends = run.good + run.late + run.failed + run.refused + run.unfinished;
    assert_eq!(run.offered + run.retried, ends, "{}: {run:?}", plant.name);
    assert_eq!(run.latencies.len() as u64, run.good, "{}", plant.name);
    if plant.warm <= 0.0 {
        let in_time: u32 = run.by_second.iter().sum();
        assert_eq!(u64::from(in_time), run.good, "{}", plant.name);
    }
}

#[test]
fn each_call_that_is_offered_is_good_late_failed_refused_or_unfinished() {
    for plant in SETS.iter().flat_map(|set| (set.plants)()).map(start) {
        for limit in [3, 60] {
            let run = run_fixed(&plant, limit);
            assert!(run.offered > 0, "{}", plant.name);
            assert_complete(&plant, &run);
        }
    }
}

#[test]
fn each_call_has_one_end_while_the_limit_moves() {
    let aimd = CONTESTANTS.iter().find(|contestant| contestant.name == "AIMD").expect("it is in the table");
    for plant in SETS.iter().filter(|set| set.name != "Y").flat_map(|set| (set.plants)()).map(start) {
        let run = run(&plant, &mut *(aimd.make)(&plant, 1), 1);
        assert_complete(&plant, &run);
    }
}

#[test]
fn callers_try_again_as_often_as_they_may() {
    let plants = SETS.iter().flat_map(|set| (set.plants)());
    for plant in plants.filter(|plant| plant.retries > 0) {
        // No slot is free for most, so that nearly all their tries are refused.
        let overloaded = Plant { wait: 0.0, room: 0, timeout: 0.0, ..plant.load(2_000.0).measured(0.0, 5.0) };
        let run = run_fixed(&overloaded, 1);
        let tries = run.retried as f64 / run.offered as f64;
        assert!(tries > 0.9 * f64::from(overloaded.retries) && tries <= f64::from(overloaded.retries), "{tries}");
        assert_complete(&overloaded, &run);
    }
}
