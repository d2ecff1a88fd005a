//! Faults that a hostile reader of the driver has found: on a store that is slow, refuses, or is
//! young.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bulklink::Request;
use bulklink::runtime::Clock;
use bulklink::testing::{FakeRuntime, Task};
use bulklink_fleet::{JoinError, Outage, ShareBuilder};

use crate::scene::{Scene, millis};

/// `connect` of a name that this process has left a moment ago.
#[test]
fn a_name_can_be_shared_again_soon_after_leaving() {
    let mut scene = Scene::new();
    let fleet = scene.fleet();
    let bulkhead = scene.bulkhead();
    let share = scene.join(&fleet, &bulkhead, |b| b).output().unwrap().unwrap();
    let call = scene.call_on(&bulkhead, Request::new());
    drop(call.output().unwrap().unwrap());
    let leaving = scene.executor.spawn(share.leave());
    scene.advance(100);
    assert!(leaving.is_finished());
    drop((share, bulkhead, leaving));
    scene.advance(100);
    // A new bulkhead, as after a reload of the configuration.
    let bulkhead = scene.bulkhead();
    let joining = scene.join(&fleet, &bulkhead, |b| b.connect_within(Duration::from_secs(600)));
    scene.advance(599_000);
    scene.advance(2_000);
    let result = joining.output();
    assert!(result.as_ref().is_some_and(Result::is_ok), "a1: after 601 s: {result:?}");
}

/// A dropped `connect` and another one.
#[test]
fn connect_can_be_tried_again_after_it_was_dropped() {
    let mut scene = Scene::new();
    let fleet = scene.fleet();
    let bulkhead = scene.bulkhead();
    // A statement is on its way when the future is dropped.
    scene.store.stall(true);
    let joining = scene.join(&fleet, &bulkhead, |b| b);
    assert!(!joining.is_finished());
    scene.store.stall(false);
    joining.cancel();
    scene.advance(100);
    assert_eq!(bulkhead.handle().ceilings().len(), 0);
    let joining = scene.join(&fleet, &bulkhead, |b| b);
    scene.advance(60_000);
    let result = joining.output().unwrap();
    assert!(result.is_ok(), "a2: {result:?}");
}

/// The numbers of statements begin anew with a share, so a grant to the share of before counts for
/// the new one, for longer than the server keeps it.
#[test]
fn the_limit_holds_if_a_name_is_shared_again() {
    let mut scene = Scene::new();
    let one = |b: ShareBuilder<FakeRuntime>| b.limit(1);
    let (other_fleet, other) = (scene.fleet(), scene.bulkhead());
    let _other_share = scene.join(&other_fleet, &other, one).output().unwrap().unwrap();
    let held = scene.call_on(&other, Request::new()).output().unwrap().unwrap();

    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let share = scene.join(&fleet, &bulkhead, one).output().unwrap().unwrap();
    let waiting = scene.call_on(&bulkhead, Request::new()); // statement 2: needs 1
    assert!(waiting.output().is_none());
    // The connection is cut; the caller gives up and the bulkhead is replaced meanwhile.
    scene.store.cut();
    scene.executor.run_until_idle();
    waiting.cancel();
    drop((bulkhead, share, waiting));
    scene.executor.run_until_idle();
    let bulkhead = scene.bulkhead();
    let _joining = scene.join(&fleet, &bulkhead, one);
    scene.advance(2_900);
    let waiting = scene.call_on(&bulkhead, Request::new()); // statement 2 of the new share: refused as stale
    assert!(waiting.output().is_none());
    drop(held); // The server grants the unit to statement 2 of the share of before.
    scene.advance(20);
    let _again = scene.call_on(&other, Request::new());
    scene.advance(300);
    let (a, b) = (bulkhead.status().in_use, other.status().in_use);
    assert!(a + b <= 1, "a3: {a} + {b} units in use, the limit is 1");
}

/// The store refuses the first statement once: PostgreSQL with 55P03, Redis with BUSY or OOM.
#[test]
fn connect_is_tried_again_until_its_time_is_over() {
    let mut scene = Scene::new();
    let slow = scene.slow(1);
    slow.weather.refusals.store(1, SeqCst);
    let fleet = scene.fleet_on(slow.clone());
    let bulkhead = scene.bulkhead();
    let joining = scene.join(&fleet, &bulkhead, |b| b.connect_within(Duration::from_secs(600)));
    scene.advance(601_000);
    let result = joining.output().unwrap();
    assert!(result.is_ok(), "c: after 600 s and {} statement(s): {result:?}", slow.weather.statements.load(SeqCst));
}

/// `look` and `resize` of a share that has ended.
#[test]
fn an_ask_after_leave_is_answered() {
    let mut scene = Scene::new();
    let fleet = scene.fleet();
    let (bulkhead, other) = (scene.bulkhead(), scene.named("other"));
    let share = scene.join(&fleet, &bulkhead, |b| b).output().unwrap().unwrap();
    let _kept = scene.join(&fleet, &other, |b| b).output().unwrap().unwrap();
    let leaving = scene.executor.spawn(share.leave());
    scene.advance(1_000);
    assert!(leaving.is_finished());
    let look = scene.executor.spawn(share.look());
    let resize = scene.executor.spawn(share.resize(5));
    scene.advance(3_600_000);
    assert!(look.is_finished() && resize.is_finished(), "d: no answer for an hour: look {look:?}, resize {resize:?}");
}

/// Two asks, and leaving at once.
#[test]
fn asks_before_leave_are_answered() {
    let mut scene = Scene::new();
    let fleet = scene.fleet();
    let (bulkhead, other) = (scene.bulkhead(), scene.named("other"));
    let share = scene.join(&fleet, &bulkhead, |b| b).output().unwrap().unwrap();
    let _kept = scene.join(&fleet, &other, |b| b).output().unwrap().unwrap();
    let looks: Vec<_> = (0..3).map(|_| scene.executor.spawn(share.look())).collect();
    let leaving = scene.executor.spawn(share.leave());
    scene.advance(3_600_000);
    assert!(leaving.is_finished());
    let done: Vec<_> = looks.iter().map(Task::is_finished).collect();
    assert_eq!(done, [true; 3], "d2: no answer for an hour");
}

/// As many shares as take longer than `store_timeout` together.
#[test]
fn all_shares_of_a_process_are_served() {
    for (count, latency) in [(90, 5), (110, 5), (300, 5)] {
        let mut scene = Scene::new();
        let slow = scene.slow(latency);
        let fleet = scene.fleet_on(slow.clone());
        let bulkheads: Vec<_> = (0..count).map(|n| scene.named(&format!("tenant-{n}"))).collect();
        let joining: Vec<_> = bulkheads
            .iter()
            .map(|bulkhead| {
                scene.executor.spawn(fleet.share(bulkhead).limit(4).connect_within(Duration::from_secs(600)).connect())
            })
            .collect();
        scene.advance(601_000);
        let results: Vec<_> = joining.iter().map(|task| task.output().unwrap()).collect();
        let joined = results.iter().filter(|result| result.is_ok()).count();
        if count == 300 {
            assert_eq!(joined, count, "f");
        }
    }
}

/// The same, where each has joined, and all have calls when the connection is cut.
#[test]
fn a_cut_does_not_end_shares_for_good() {
    let mut scene = Scene::new();
    let slow = scene.slow(5);
    let fleet = scene.fleet_on(slow.clone());
    let bulkheads: Vec<_> = (0..150).map(|n| scene.named(&format!("tenant-{n}"))).collect();
    let mut shares = vec![];
    for bulkhead in &bulkheads {
        let task =
            scene.executor.spawn(fleet.share(bulkhead).limit(4).connect_within(Duration::from_secs(60)).connect());
        scene.advance(50);
        shares.push(task.output().unwrap().unwrap());
    }
    let mut slots = vec![];
    for bulkhead in &bulkheads {
        let call = scene.call_on(bulkhead, Request::new());
        scene.advance(20);
        slots.push(call.output().unwrap().unwrap());
    }
    scene.advance(30_000);
    scene.store.cut();
    scene.advance(60_000);
    let lost = shares.iter().filter(|share| share.status().lost > 0).count();
    assert_eq!(lost, 0, "f2");
}

/// A name that is new on a server that has run for an hour.
#[test]
fn a_new_name_on_an_old_server_has_no_quarantine() {
    let mut scene = Scene::new();
    let mut slow = scene.slow(0);
    slow.began = Some(scene.executor.clock().now());
    scene.advance(2_000); // The server is 2 s old when the process connects.
    let fleet = scene.fleet_on(slow);
    let first = scene.bulkhead();
    let _share = scene.join(&fleet, &first, |b| b).output().unwrap().unwrap();
    scene.advance(3_600_000);
    let second = scene.named("second");
    let _other = scene.join(&fleet, &second, |b| b).output().unwrap().unwrap();
    let call = scene.call_on(&second, Request::new());
    let mut waited = 0;
    while !call.is_finished() && waited < 60_000 {
        scene.advance(100);
        waited += 100;
    }
    assert!(waited < 1_000, "g: the server has run for an hour, all units are free, and the call waited {waited} ms");
}

/// The same on any server: `on_outage(Admit)` begins before the lease has ended.
#[test]
fn units_are_used_until_their_lease_is_over_whatever_the_policy() {
    let mut scene = Scene::new();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let share = scene.join(&fleet, &bulkhead, |b| b.limit(1).on_outage(Outage::Admit)).output().unwrap().unwrap();
    let slot = scene.call_on(&bulkhead, Request::new()).output().unwrap().unwrap();
    let (other_fleet, other) = (scene.fleet(), scene.bulkhead());
    let _other = scene.join(&other_fleet, &other, |b| b.limit(1)).output().unwrap().unwrap();
    let _theirs = scene.call_on(&other, Request::new());
    scene.advance(500);
    scene.store.stop();
    scene.advance(20);
    let status = share.status();
    let mut running = vec![slot];
    for _ in 0..50 {
        running.extend(scene.call_on(&bulkhead, Request::new()).output().and_then(Result::ok));
    }
    assert!(
        running.len() <= 1,
        "h: {} run on {} unit(s), {:?} before the end of the lease",
        running.len(),
        status.granted,
        status.lease_left
    );
}

/// `connect` fails and is tried again at once.
#[test]
fn connect_can_be_tried_again_at_once() {
    let mut scene = Scene::new();
    scene.store.stop();
    let fleet = scene.fleet();
    let bulkhead = scene.bulkhead();
    let (fleet2, bulkhead2) = (fleet.clone(), bulkhead.clone());
    let task = scene.executor.spawn(async move {
        let mut errors = vec![];
        for _ in 0..3 {
            errors.push(fleet2.share(&bulkhead2).limit(4).connect().await.err());
        }
        errors
    });
    scene.advance(60_000);
    let errors = task.output().unwrap();
    assert!(!errors.contains(&Some(JoinError::Taken)), "i: {errors:?}");
}

/// A share that waits while the store is away.
#[test]
fn a_share_that_can_send_nothing_sleeps() {
    let mut scene = Scene::new();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let _share = scene.join(&fleet, &bulkhead, |b| b.limit(1)).output().unwrap().unwrap();
    let _slot = scene.call_on(&bulkhead, Request::new()).output().unwrap().unwrap();
    let (other_fleet, other) = (scene.fleet(), scene.bulkhead());
    let _other = scene.join(&other_fleet, &other, |b| b.limit(1)).output().unwrap().unwrap();
    let _waiting = scene.call_on(&other, Request::new());
    scene.advance(100);
    scene.store.stop();
    scene.advance(60_000);
    let mut timers = 0;
    let end = scene.executor.clock().now() + Duration::from_secs(10);
    while let Some(due) = scene.executor.clock().next_timer().filter(|due| *due <= end) {
        scene.executor.clock().set(due);
        scene.executor.run_until_idle();
        timers += 1;
    }
    assert!(timers < 100, "k: woken {timers} times in 10 s of an outage, two shares, nothing to send");
}

/// A process that never had a unit, and a cut of its connection. The guide: "the store is out of
/// reach, for less than a lease: calls go on. Units do not move"; "for longer: from then on, the
/// setting decides".
#[test]
fn a_cut_is_no_outage_of_a_lease() {
    for outage in [Outage::Admit, Outage::Share] {
        let mut scene = Scene::new();
        let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
        let _share = scene.join(&fleet, &bulkhead, |b| b.limit(1).on_outage(outage)).output().unwrap().unwrap();
        let (other_fleet, other) = (scene.fleet(), scene.bulkhead());
        let _other = scene.join(&other_fleet, &other, |b| b.limit(1)).output().unwrap().unwrap();
        let _theirs = scene.call_on(&other, Request::new()).output().unwrap().unwrap();
        scene.advance(500);
        let calls: Vec<_> = (0..50).map(|_| scene.call_on(&bulkhead, Request::new())).collect();
        scene.advance(500);
        assert!(!calls.iter().any(Task::is_finished));
        scene.store.cut();
        scene.advance(1);
        let running = calls.iter().filter(|call| call.is_finished()).count();
        if outage == Outage::Share {
            assert_eq!(running, 0, "h2");
        }
    }
}

/// `leave` while operations run for longer than a lease. The store is in reach all the time.
#[test]
fn a_process_that_leaves_keeps_its_units_while_operations_run() {
    let mut scene = Scene::new();
    let slow = scene.slow(1);
    let (fleet, bulkhead) = (scene.fleet_on(slow.clone()), scene.bulkhead());
    let joining = scene.join(&fleet, &bulkhead, |b| b);
    scene.advance(100);
    let share = joining.output().unwrap().unwrap();
    let calls: Vec<_> = (0..4).map(|_| scene.call_on(&bulkhead, Request::new())).collect();
    scene.advance(100);
    let slots: Vec<_> = calls.iter().map(|call| call.output().unwrap().unwrap()).collect();
    let (other_fleet, other) = (scene.fleet(), scene.bulkhead());
    let _other = scene.join(&other_fleet, &other, |b| b).output().unwrap().unwrap();
    let theirs: Vec<_> = (0..4).map(|_| scene.call_on(&other, Request::new())).collect();
    scene.advance(30_000);
    assert_eq!((bulkhead.status().in_use, other.status().in_use, share.status().lost), (4, 0, 0), "beats keep them");
    let _leaving = scene.executor.spawn(share.leave());
    scene.advance(9_000);
    scene.advance(4_000);
    let (own, others) = (bulkhead.status().in_use, other.status().in_use);
    scene.advance(10_000);
    assert!(
        own + others <= 4,
        "m: {own} + {others} units in use, the limit is 4; no fault of the store or of a process"
    );
    drop((slots, theirs));
}

/// The store refuses for a while (a locked row of PostgreSQL: 55P03) until the lease ends, and the
/// last call ends in the last second of it. Later calls wake nothing.
#[test]
fn calls_are_served_again_after_a_lease_has_ended() {
    let mut scene = Scene::new();
    let slow = scene.slow(1);
    let (fleet, bulkhead) = (scene.fleet_on(slow.clone()), scene.bulkhead());
    let joining = scene.join(&fleet, &bulkhead, |b| b);
    scene.advance(10);
    let share = joining.output().unwrap().unwrap();
    let call = scene.call_on(&bulkhead, Request::new());
    scene.advance(10);
    let had = call.output().unwrap().unwrap();
    scene.advance(3_500);
    slow.weather.refusals.store(1_000_000, SeqCst);
    while share.status().lease_left.unwrap() > millis(100) {
        scene.advance(10);
    }
    drop(had);
    scene.advance(1_000);
    slow.weather.refusals.store(0, SeqCst);
    let before = slow.weather.statements.load(SeqCst);
    let call = scene.call_on(&bulkhead, Request::new());
    scene.advance(3_600_000);
    let statements = slow.weather.statements.load(SeqCst) - before;
    assert!(
        call.is_finished(),
        "n: a call waits for an hour, all 4 units are free, {statements} statements; {:?}",
        share.status()
    );
}

/// A call of 2 units behind 3 units in use, with a limit of 4 and one process: it can go on when
/// one of the three ends.
#[test]
fn a_call_of_two_units_starts_when_there_is_room() {
    let mut scene = Scene::new();
    let slow = scene.slow(1);
    let (fleet, bulkhead) = (scene.fleet_on(slow.clone()), scene.bulkhead());
    let joining = scene.join(&fleet, &bulkhead, |b| b);
    scene.advance(10);
    let _share = joining.output().unwrap().unwrap();
    let mut slots = vec![];
    for _ in 0..3 {
        let call = scene.call_on(&bulkhead, Request::new());
        scene.advance(20);
        slots.push(call.output().unwrap().unwrap());
    }
    let mut worst = 0;
    for offset in (0..1_000).step_by(50) {
        scene.advance(3_000 + offset);
        let call = scene.executor.spawn(bulkhead.with(Request::new().cost(2)).slot());
        scene.advance(100);
        assert!(!call.is_finished());
        drop(slots.pop());
        let mut waited = 0;
        while !call.is_finished() {
            scene.advance(5);
            waited += 5;
        }
        worst = worst.max(waited);
        drop(call.output());
        scene.advance(100);
        let call = scene.call_on(&bulkhead, Request::new());
        scene.advance(20);
        slots.push(call.output().unwrap().unwrap());
    }
    assert!(worst < 100, "o: {worst} ms");
}
