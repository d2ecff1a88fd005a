//! The scenes for adaptive limits, their figures, and their report.

use std::time::Duration;

use bulklink_benches::overload::adaptive::front::Guard;
use bulklink_benches::overload::adaptive::report::table;
use bulklink_benches::overload::adaptive::scene::Scene;
use bulklink_benches::overload::adaptive::tally::{Reading, Recovery, answers, mean, phases, readings, recoveries};
use bulklink_benches::overload::adaptive::{Effort, Outcome, measure};
use bulklink_benches::overload::load::{Fate, Sent};
use bulklink_benches::overload::tally::Figures;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

#[test]
fn each_guard_answers_calls() {
    let effort = Effort { warm_up: Duration::ZERO, measured: millis(50) };
    for guard in Guard::all(Scene::Capacity) {
        let outcome = measure(guard, Scene::Capacity, effort).unwrap();
        assert!(outcome.figures.in_time > 0.0, "{guard}: {outcome:?}");
        assert!(outcome.mean_limit > 0.0, "{guard}: {outcome:?}");
    }
}

#[test]
fn each_scene_has_its_load_and_its_work() {
    for (scene, calls, work) in
        [(Scene::Capacity, 1_200.0, 0.04), (Scene::Falling, 800.0, 0.01), (Scene::Bursts, 450.0, 0.04)]
    {
        let script = scene.script(200 * SECOND);
        let count = f64::from(u32::try_from(script.len()).unwrap());
        assert!((count / 200.0 / calls - 1.0).abs() < 0.02, "{scene:?}: {count}");
        let mean = script.iter().map(|call| call.work.unwrap().as_secs_f64()).sum::<f64>() / count;
        assert!((mean / work - 1.0).abs() < 0.02, "{scene:?}: {mean}");
    }
}

#[test]
fn no_work_alone_is_what_tower_resilience_holds_for_congestion() {
    for scene in [Scene::Capacity, Scene::Falling] {
        assert!(scene.script(20 * SECOND).iter().all(|call| call.work < Some(millis(100))), "{scene:?}");
    }
}

#[test]
fn every_scene_but_bursts_is_overloaded_all_the_time() {
    let plan = |scene: Scene| scene.plan(Effort::FULL);
    let best = (1..65).map(|calls| plan(Scene::Falling).throughput(calls, 0.01)).fold(0.0, f64::max);
    assert!((395.0..405.0).contains(&best), "{best}: half of the calls");
    let workers = [0.0, 11.9, 12.1, 21.9, 22.1].map(|at| plan(Scene::Capacity).workers(at));
    assert_eq!(workers, [20, 20, 8, 8, 40]);
}

#[test]
fn answers_are_those_in_time_in_their_order() {
    let begin = Instant::now();
    let sent = |fate| Sent { due: begin, tenant: 0, fate };
    let sent =
        [sent(Fate::Answered(begin + millis(30))), sent(Fate::GivenUp), sent(Fate::Answered(begin + millis(10)))];
    assert_eq!(answers(&sent, begin), [millis(10), millis(30)]);
}

#[test]
fn the_mean_limit_is_that_after_the_warm_up() {
    let limits: Vec<_> = [100; 50].into_iter().chain([20; 25]).chain([10; 25]).collect();
    assert_eq!((mean(&limits, SECOND), mean(&[], SECOND)), (15.0, 0.0));
}

/// Returns answers at equal distances: so many a second from each time on.
fn at_rates(rates: &[(u64, u64)], end: u64) -> Vec<Duration> {
    let ends = rates.iter().skip(1).map(|(from, _)| *from).chain([end]);
    let phases = rates.iter().zip(ends);
    phases
        .flat_map(|((from, rate), until)| {
            (0..(until - from) * rate / 1_000).map(move |n| millis(from + n * 1_000 / rate))
        })
        .collect()
}

#[test]
fn a_recovery_lasts_until_nine_tenths_of_the_new_capacity_are_in_use() {
    let effort = Effort { warm_up: SECOND, measured: 3 * SECOND };
    // The workers are 20 until 4 s, 8 until 7 s, and 40 until 10 s: 500, 200 and 1,000 a second.
    let slow = at_rates(&[(0, 500), (4_000, 100), (5_000, 200), (7_000, 500), (9_300, 1_000)], 10_000);
    let (first, second) = (Recovery { at: 4 * SECOND, workers: (20, 8), after: Some(millis(800)) }, 7 * SECOND);
    let never = Recovery { at: second, workers: (8, 40), after: None };
    assert_eq!(recoveries(&slow, effort), [first, never]);
    assert_eq!(phases(&slow, effort), [500.0, 500.0 / 3.0, (2_300.0 * 0.5 + 700.0) / 3.0]);
    let quick = at_rates(&[(0, 500), (4_000, 200), (7_000, 1_000)], 10_000);
    assert!(recoveries(&quick, effort).iter().all(|recovery| recovery.after == Some(Duration::ZERO)));
}

#[test]
fn readings_are_means_of_their_time() {
    let limits: Vec<_> = [20; 25].into_iter().chain([40; 25]).collect();
    let found = readings(&limits, &at_rates(&[(0, 400), (500, 800)], 1_000), SECOND);
    let expected = [(0.25, 20.0, 400.0), (0.5, 20.0, 400.0), (0.75, 40.0, 800.0), (1.0, 40.0, 800.0)];
    assert_eq!(found, expected.map(|(at, limit, in_time)| Reading { at, limit, in_time }));
}

/// Returns an outcome with a reading at each half second.
pub(crate) fn outcome(guard: Guard, scene: Scene, in_time: f64) -> Outcome {
    let figures = Figures { in_time, p99: Some(millis(150)), rejected: 0.5, given_up: 0.25, ..Figures::default() };
    let readings = (1..8).map(|half| Reading { at: 0.5 * f64::from(half), limit: 20.0, in_time });
    let recovery = |at, workers, after| Recovery { at, workers, after };
    let (phases, recoveries) = if scene == Scene::Capacity {
        let never = recovery(2 * SECOND, (8, 40), None);
        (vec![100.0, 20.4, 209.6], vec![recovery(SECOND, (20, 8), Some(millis(1_250))), never])
    } else {
        (Vec::new(), Vec::new())
    };
    Outcome { guard, scene, figures, mean_limit: 20.4, phases, recoveries, readings: readings.collect() }
}

#[test]
fn each_outcome_has_a_line_beside_the_best_fixed_limit_of_its_scene() {
    let text = table(&[
        outcome(Guard::Adaptive, Scene::Capacity, 110.0),
        outcome(Guard::Fixed(24), Scene::Capacity, 100.0),
        outcome(Guard::Fixed(6), Scene::Capacity, 50.0),
        outcome(Guard::Tower(24), Scene::Capacity, 200.0),
        outcome(Guard::Adaptive, Scene::Bursts, 90.0),
    ]);
    let lines: Vec<_> = text.lines().map(|line| line.replace(' ', "")).collect();
    let rest = "50%|25%|-|150ms|20|20→8:1.2s,8→40:never|";
    assert_eq!(lines[2], format!("|capacity20,8,40|Bulklink,adaptive|110/s|100,20,210|1.10|{rest}"));
    assert_eq!(lines[4], format!("|capacity20,8,40|Bulklink,fixedat6|50/s|100,20,210|0.50|{rest}"));
    assert_eq!(lines[6], "|burstsat0.9|Bulklink,adaptive|90/s|-|-|50%|25%|-|150ms|20|-|");
}
