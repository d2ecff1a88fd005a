//! The measurement of goodput, and its report.

use std::time::Duration;

use bulklink_benches::overload::front::Protection;
use bulklink_benches::overload::report::{judge, tables};
use bulklink_benches::overload::scene::Scene;
use bulklink_benches::overload::tally::{Figures, Used};
use bulklink_benches::overload::{Effort, Outcome, measure};
use bulklink_benches::report::verdict::Verdict;

const TWICE: Scene = Scene::Load(2.0);

#[test]
fn each_protection_answers_a_light_load() {
    let effort = Effort { warm_up: Duration::ZERO, measured: Duration::from_millis(300), ..Effort::QUICK };
    for protection in Scene::Load(0.25).protections().into_iter().chain(Scene::Tenants.protections()) {
        let figures = measure(protection, Scene::Load(0.25), effort).unwrap().figures;
        assert!(figures.in_time > 0.0 && figures.p99.is_some(), "{}: {figures:?}", protection.name());
    }
}

pub(crate) fn outcome(protection: Protection, scene: Scene, in_time: f64) -> Outcome {
    let p99 = Some(Duration::from_millis(150));
    let figures = Figures { in_time, p99, wasted: 0.25, ..Figures::default() };
    Outcome { protection, scene, figures, greedy: None, used: Used::default() }
}

#[test]
fn a_scene_has_a_table_and_each_outcome_a_line() {
    let greedy = Some(Figures { in_time: 45.0, rejected: 0.5, given_up: 0.25, ..Figures::default() });
    let used = Used { within: 0.45, beyond: 0.5125, in_vain: 0.015 };
    let text = tables(&[
        outcome(Protection::Bulklink, Scene::Load(0.5), 99.6),
        outcome(Protection::Nothing, Scene::Load(10.0), 0.0),
        outcome(Protection::Tower, Scene::Bursts, 150.0),
        Outcome { greedy, used, ..outcome(Protection::BulklinkPart, Scene::Tenants, 100.0) },
    ]);
    let lines: Vec<_> = text.lines().map(|line| line.replace(' ', "")).collect();
    assert_eq!(lines[2], "|load0.5×|Bulklink|100/s|100%|-|150ms|0%|0%|25%|");
    assert_eq!(lines[3], "|load10×|nothing|0/s|100%|-|150ms|0%|0%|25%|");
    assert_eq!((&*lines[4], &*lines[7]), ("", "|bursts|tower'sthreelayers|150/s|100%|-|150ms|0%|0%|25%|"));
    assert_eq!(lines[11], "|Bulklink,anequalparteach|100.0%|-|150ms|45/s|-|96.2%|1.5%|");
}

fn holding(outcomes: &[Outcome]) -> Vec<bool> {
    judge(outcomes).iter().map(Verdict::holds).collect()
}

#[test]
fn ours_must_use_the_capacity_and_be_no_worse_than_each_peer() {
    let judged = |ours, tower| {
        holding(&[
            outcome(Protection::Bulklink, Scene::Load(1.0), 1.0),
            outcome(Protection::Bulklink, TWICE, ours),
            outcome(Protection::Nothing, TWICE, 0.0),
            outcome(Protection::Tower, TWICE, tower),
        ])
    };
    assert_eq!(judged(190.0, 191.0), [true, true, true, true]);
    assert_eq!(judged(189.0, 191.0), [false, true, false, true]);
}

#[test]
fn one_capacity_must_answer_the_tenants_within_their_share_and_be_used() {
    let judged = |rejected, used, peer| {
        let mut ours = outcome(Protection::BulklinkShared, Scene::Tenants, 98.0);
        ours.figures.rejected = rejected;
        ours.used = Used { within: 0.5, beyond: used - 0.5, in_vain: 0.02 };
        let alone = outcome(Protection::Bulklink, Scene::Tenants, 120.0);
        holding(&[ours, alone, outcome(Protection::SemaphorePerTenant, Scene::Tenants, peer)])
    };
    assert_eq!(judged(0.01, 0.97, 98.5), [true, true, true, true]);
    assert_eq!(judged(0.02, 0.96, 100.0), [false, false, false, true]);
}

#[test]
fn a_row_without_answers_does_not_hold() {
    let outcomes = [Outcome { figures: Figures::default(), ..outcome(Protection::Bulklink, TWICE, 0.0) }];
    assert!(judge(&outcomes).iter().all(|verdict| !verdict.holds()));
}
