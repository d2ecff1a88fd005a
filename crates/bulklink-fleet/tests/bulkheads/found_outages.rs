//! Faults that were found in shares whose store is away, hangs or refuses.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bulklink::testing::FakeRuntime;
use bulklink::{Bulkhead, Request};
use bulklink_fleet::{Fleet, Outage};

use crate::scene::Scene;
use crate::service::{admitted, sections, service};
use crate::slow::Weather;

/// A bulkhead with this policy, whose share has had a unit.
fn joined(outage: Outage) -> (Scene, Arc<Weather>, Fleet<FakeRuntime>, Bulkhead<FakeRuntime>) {
    let mut scene = Scene::new();
    let slow = scene.slow(0);
    let weather = slow.weather.clone();
    let (fleet, bulkhead) = (scene.fleet_on(slow), scene.bulkhead());
    scene.join(&fleet, &bulkhead, |builder| builder.on_outage(outage)).output().unwrap().unwrap();
    drop(admitted(&mut scene, &bulkhead, 1));
    (scene, weather, fleet, bulkhead)
}

/// The server accepts connections, and answers no statement.
#[test]
fn a_store_that_hangs_at_statements_turns_calls_away_and_its_policy_holds() {
    for outage in [Outage::Reject, Outage::Admit] {
        let (mut scene, weather, _fleet, bulkhead) = joined(outage);
        weather.statement_millis.store(3_600_000, SeqCst);
        scene.advance(30_000);
        let _waits = scene.call_on(&bulkhead, Request::new());
        scene.advance(30_000);
        let call = scene.call_on(&bulkhead, Request::new());
        scene.advance(5_000);
        assert!(call.is_finished(), "{outage:?}: a call waits after a minute: {:?}", bulkhead.status());
    }
}

/// The server answers statements with an error.
#[test]
fn a_store_that_refuses_all_statements_turns_calls_away_and_its_policy_holds() {
    for outage in [Outage::Reject, Outage::Admit] {
        let (mut scene, weather, _fleet, bulkhead) = joined(outage);
        weather.refusals.store(u64::MAX, SeqCst);
        scene.advance(60_000);
        let call = scene.call_on(&bulkhead, Request::new());
        scene.advance(5_000);
        assert!(call.is_finished(), "{outage:?}: a call waits after a minute");
    }
}

/// After an outage, an idle share waits for its units.
#[test]
fn an_idle_share_turns_no_call_away_when_the_store_is_back() {
    let mut scene = Scene::new();
    let slow = scene.slow(20);
    let weather = slow.weather.clone();
    weather.millis.store(20, SeqCst);
    let labels: Vec<String> = (0..200).map(|number| format!("b{number}")).collect();
    let fleet = scene.fleet_on(slow);
    let bulkheads: Vec<_> = labels.iter().map(|label| scene.named(label)).collect();
    for bulkhead in &bulkheads {
        let joined = scene.join(&fleet, bulkhead, |builder| builder.connect_within(Duration::MAX));
        scene.advance(100);
        joined.output().unwrap().unwrap();
    }
    scene.advance(15_000);
    scene.store.stop();
    scene.advance(30_000);
    scene.store.start();
    let mut after = 0;
    while fleet.error().is_some() && after < 5_000 {
        scene.advance(1);
        after += 1;
    }
    assert!(fleet.error().is_none(), "it answers");
    let mut refused = 0;
    for bulkhead in &bulkheads {
        let call = scene.call_on(bulkhead, Request::new());
        refused += usize::from(call.output().is_some_and(|it| it.is_err()));
    }
    assert_eq!(refused, 0, "calls are turned away though the store answers, after {after} ms");
}

/// A process with a lower config, whose share was refused, states no more often than each beat.
#[test]
fn refused_processes_do_not_flood_the_store() {
    let mut scene = Scene::new();
    let first = scene.process();
    let _held = scene.slots(&first, 1);
    let services = [7, 8, 9, 10].map(|limit| {
        let (registry, fleet) = service(&scene, &["payments"]);
        fleet.apply(&sections(&[("payments", limit)])).unwrap();
        (registry.bulkhead::<FakeRuntime>("payments").unwrap(), fleet)
    });
    let calls: Vec<_> = services
        .iter()
        .flat_map(|(bulkhead, _)| (0..20).map(|_| scene.call_on(bulkhead, Request::new())).collect::<Vec<_>>())
        .collect();
    scene.advance(5_000);
    let before = scene.store.commands();
    scene.advance(10_000);
    let commands = scene.store.commands() - before;
    assert!(commands < 1_000, "{commands} commands in 10 s");
    drop(calls);
}

/// The store is away while no call comes, and is back.
#[test]
fn a_share_without_calls_turns_no_call_away_after_an_outage() {
    for pause in [3_000, 30_000, 120_000] {
        let mut scene = Scene::new();
        let process = scene.process();
        scene.advance(pause);
        scene.store.stop();
        scene.advance(pause);
        scene.store.start();
        scene.advance(2_600);
        let call = scene.call(&process);
        assert!(call.output().is_none_or(|it| it.is_ok()), "{pause}: {:?}", call.output());
        scene.advance(30_000);
        assert!(call.output().expect("it is over").is_ok(), "{pause}");
    }
}

#[test]
fn a_short_cut_turns_no_call_away() {
    let mut scene = Scene::new();
    let process = scene.process();
    let all = scene.slots(&process, 4);
    let mut waiting = vec![];
    for _ in 0..40 {
        scene.store.cut();
        waiting.push(scene.call(&process));
        scene.advance(500);
        waiting.push(scene.call(&process));
    }
    drop(all);
    assert!(waiting.iter().all(|call| call.output().is_none_or(|it| it.is_ok())));
}

/// The limit of the fleet is all in use by this process, and an outage begins.
#[test]
fn a_lower_lease_of_a_process_that_yields_does_not_begin_its_outage_early() {
    let mut scene = Scene::new();
    let first = scene.process();
    let held = scene.slots(&first, 4);
    let (registry, fleet) = service(&scene, &["payments"]);
    let mut own = sections(&[("payments", 4)]);
    let section = own.get_mut("payments").unwrap();
    (section.lease, section.on_outage) = (Some(Duration::from_millis(3_100)), Some(Outage::Admit));
    fleet.apply(&own).unwrap();
    let bulkhead = registry.bulkhead::<FakeRuntime>("payments").unwrap();
    let waits = scene.call_on(&bulkhead, Request::new());
    scene.advance(2_500);
    assert!(fleet.shares()[0].status().declined.is_some());
    assert!(!waits.is_finished());
    scene.store.stop();
    scene.advance(5_000);
    let in_use = bulkhead.status().in_use + first.bulkhead.status().in_use;
    assert!(
        in_use <= 4,
        "{in_use} of 4 in use, {:?} of the lease of the fleet are left",
        first.share.status().lease_left
    );
    drop(held);
}

/// It is begun by a section while a server refuses to listen.
#[test]
fn a_share_that_cannot_listen_turns_calls_away_after_a_lease() {
    let mut scene = Scene::new();
    let slow = scene.slow(0);
    let weather = slow.weather.clone();
    let (fleet, bulkhead) = (scene.fleet_on(slow), scene.bulkhead());
    weather.refuses.store(true, SeqCst);
    let joining = scene.join(&fleet, &bulkhead, |builder| builder.connect_within(Duration::MAX));
    scene.advance(60_000);
    let call = scene.call_on(&bulkhead, Request::new());
    assert!(call.is_finished(), "a call waits after a minute of {:?}", fleet.error());
    drop(joining);
}
