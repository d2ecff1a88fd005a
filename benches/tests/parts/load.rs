//! The calls of the scenes.

use std::time::Duration;

use bulklink_benches::overload::scene::{Call, GREEDY, LOADS, Scene};
use bulklink_benches::overload::upstream::{CAPACITY, WORK};

const LENGTH: u32 = 200;

fn script(scene: Scene) -> Vec<Call> {
    scene.script(Duration::from_secs(LENGTH.into()))
}

/// Returns the rate of so many calls, as a multiple of the capacity.
fn load<'a>(calls: impl IntoIterator<Item = &'a Call>) -> f64 {
    f64::from(u32::try_from(calls.into_iter().count()).unwrap()) / f64::from(LENGTH) / CAPACITY
}

fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.03, "{found}, not {expected}");
}

#[test]
fn calls_are_sent_at_the_rate_and_in_order() {
    for expected in LOADS {
        let calls = script(Scene::Load(expected));
        assert_near(load(&calls), expected);
        assert!(calls.is_sorted_by_key(|call| call.at));
    }
}

#[test]
fn a_scene_has_the_same_calls_each_time() {
    for scene in Scene::of_all().chain([Scene::Tenants]) {
        let (short, long) = (scene.script(Duration::from_secs(1)), scene.script(Duration::from_secs(2)));
        assert!(long.starts_with(&short) && long.len() > short.len(), "{scene:?}");
    }
}

#[test]
fn bursts_are_beyond_the_capacity_and_their_mean_is_not() {
    let calls = script(Scene::Bursts);
    assert_near(load(&calls), 0.9);
    let is_in_burst = |call: &&Call| call.at.as_millis() % 500 < 100;
    assert_near(load(calls.iter().filter(is_in_burst)), 0.2 * 3.3);
}

#[test]
fn the_work_of_bursts_has_the_usual_mean_and_a_high_variance() {
    let works: Vec<_> = script(Scene::Bursts).iter().map(|call| call.work.unwrap().as_secs_f64()).collect();
    let count = f64::from(u32::try_from(works.len()).unwrap());
    let mean = works.iter().sum::<f64>() / count;
    assert_near(mean, WORK.as_secs_f64());
    let variance = works.iter().map(|work| (work - mean).powi(2)).sum::<f64>() / count;
    assert!((1.0..1.1).contains(&(variance.sqrt() / mean)), "{}", variance.sqrt() / mean);
}

#[test]
fn one_tenant_sends_twenty_times_its_share_and_each_other_half_of_its_own() {
    let calls = script(Scene::Tenants);
    let of = |tenant| load(calls.iter().filter(|call| call.tenant == tenant));
    assert_near(of(GREEDY), 2.0);
    for tenant in 0..GREEDY {
        assert!((of(tenant) / 0.05 - 1.0).abs() < 0.1, "{}", of(tenant));
    }
}
