//! Limits that change, and processes that disagree.

use bulklink_fleet::{Conflict, Reason, SetLimitError, Version};

use crate::scene::{Scene, admitted, millis, rejected};

#[test]
fn a_live_limit_changes_for_all_and_needs_the_version_that_it_replaces() {
    let mut scene = Scene::new();
    let (one, two) = (scene.process(1), scene.process(1));
    let permit = scene.permit(&one);
    let waiting = scene.acquire(&two);
    let bulkhead = one.bulkhead.clone();
    let (changed, late, zero) = scene.executor.block_on(async move {
        let version = bulkhead.status().await.unwrap().settings.unwrap().version;
        let changed = bulkhead.set_limit(2, version).await;
        (changed, bulkhead.set_limit(3, version).await, bulkhead.set_limit(0, version).await)
    });
    assert_eq!(changed, Ok(Version::from(2)));
    assert_eq!(late, Err(SetLimitError::Version(Version::from(2))));
    assert_eq!(zero.unwrap_err().to_string(), "limit must be between 1 and 1099511627776, got 0");
    scene.executor.run_until_idle();
    drop(admitted(&waiting));
    scene.release(permit);
    // A process that starts with the old configuration takes the new limit.
    let late = scene.process(1);
    assert_eq!(late.bulkhead.local_status().occupancy.limit, 2);
}

#[test]
fn a_waiter_above_a_lowered_limit_is_told() {
    let mut scene = Scene::new();
    let process = scene.process(2);
    let permit = scene.permit(&process);
    let bulkhead = process.bulkhead.clone();
    let large = bulklink::Request::new().cost(2);
    let large = scene.executor.spawn(async move { bulkhead.acquire_with(large).await });
    scene.executor.run_until_idle();
    let bulkhead = process.bulkhead.clone();
    scene.executor.block_on(async move { bulkhead.set_limit(1, Version::from(1)).await }).unwrap();
    scene.release(permit);
    assert_eq!(rejected(&large).reason(), Reason::InvalidCost);
}

#[test]
fn different_limits_for_one_configuration_reject_calls_until_they_agree() {
    let mut scene = Scene::new();
    let first = scene.process(2);
    let second = scene.process(3);
    let rejection = rejected(&scene.acquire(&second));
    assert_eq!(rejection.conflict(), Some(Conflict::Limit { limit: 2, config: 1 }));
    assert_eq!(
        rejection.to_string(),
        "bulkhead payments of the fleet: conflict: another process declared limit 2 for configuration 1"
    );
    // A higher configuration replaces the limit, for all.
    let third = scene.process_with(|builder| builder.limit(3).config(2));
    drop(scene.permit(&third));
    scene.advance(1_500);
    drop(scene.permit(&second));
    assert_eq!(first.bulkhead.local_status().occupancy.limit, 3);
}

#[test]
fn different_times_are_a_conflict_too() {
    let mut scene = Scene::new();
    let _first = scene.process(2);
    let second = scene.process_with(|builder| builder.limit(2).lease(millis(20_000)));
    let conflict = rejected(&scene.acquire(&second)).conflict();
    assert_eq!(conflict, Some(Conflict::Terms { lease: millis(10_000), claim: millis(3_000) }));
}
