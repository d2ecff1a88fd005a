//! How bulkheads end, and begin again under the same name.

use bulklink_fleet::{Outage, Reason};

use crate::odd::{Fate, Step};
use crate::scene::{Process, Scene, admitted, millis, rejected};

#[test]
fn an_old_handle_does_not_disturb_a_bulkhead_that_was_built_again() {
    let mut scene = Scene::new();
    let first = scene.process(1);
    scene.executor.block_on(first.bulkhead.close());
    scene.executor.run_until_idle();
    let bulkhead = first.fleet.bulkhead("payments").limit(1).waiting_room(9).build().unwrap();
    let second = Process { fleet: first.fleet.clone(), bulkhead };
    scene.executor.run_until_idle();
    let old = first.bulkhead.clone();
    let status = scene.executor.spawn(async move { old.status().await.is_ok() });
    scene.executor.run_until_idle();
    assert!(status.is_finished());

    let other = scene.process(1);
    let permit = scene.permit(&other);
    let waiting = scene.acquire(&second);
    // The new one hears of the lost connection, and of notices on the next.
    scene.store.cut();
    scene.advance(500);
    scene.release(permit);
    drop(admitted(&waiting));
}

#[test]
fn a_bulkhead_that_was_closed_before_it_was_open_does_not_end_its_successor() {
    let mut scene = Scene::new();
    let fleet = scene.odd_fleet(|step| match step {
        Step::Call(_, bulklink_fleet::Command::Open { .. }) => Fate::Late(millis(50)),
        _ => Fate::Usual,
    });
    let first = fleet.bulkhead("payments").limit(1).build().unwrap();
    scene.executor.run_until_idle();
    scene.executor.block_on(first.close());
    scene.executor.run_until_idle();
    let second = fleet.bulkhead("payments").limit(1).build().unwrap();
    scene.advance(500);
    let asking = second.clone();
    let status = scene.executor.block_on(async move { asking.status().await }).unwrap();
    assert_eq!(status.session_page.len(), 1, "the process takes part");
    assert!(!first.local_status().is_connected);
}

#[test]
fn close_waits_for_permits_that_were_admitted_without_the_store() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).on_outage(Outage::Admit));
    scene.store.stop();
    scene.advance(1_000);
    let permit = scene.permit(&process);
    let closing = scene.executor.spawn(process.bulkhead.close());
    scene.advance(60_000);
    assert!(!closing.is_finished());
    scene.release(permit);
    assert!(closing.is_finished());

    // The same where the store is back.
    scene.store.start();
    scene.executor.run_until_idle();
    let process = scene.process_with(|builder| builder.limit(1).on_outage(Outage::Admit));
    scene.advance(12_000);
    scene.store.stop();
    scene.advance(1_000);
    let permit = scene.permit(&process);
    scene.store.start();
    scene.advance(2_500);
    let closing = scene.executor.spawn(process.bulkhead.close());
    scene.executor.run_until_idle();
    assert!(!closing.is_finished());
    scene.release(permit);
    assert!(closing.is_finished());
}

#[test]
fn close_during_an_outage_waits_one_lease_for_what_is_left_on_the_store() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    let closing = [process.bulkhead.close(), process.bulkhead.close()].map(|closing| scene.executor.spawn(closing));
    scene.advance(30_000);
    scene.store.stop();
    scene.executor.run_until_idle();
    scene.release(permit);
    scene.advance(9_999);
    assert!(closing.iter().all(|closing| !closing.is_finished()));
    scene.advance(2);
    assert!(closing.iter().all(bulklink::testing::Task::is_finished));
}

#[test]
fn close_gives_idle_permits_back() {
    let mut scene = Scene::new();
    let idle = |builder: bulklink_fleet::BulkheadBuilder<_>| builder.limit(1).idle(millis(500));
    let (one, two) = (scene.process_with(idle), scene.process_with(idle));
    let permit = scene.permit(&one);
    scene.release(permit);
    let closing = scene.executor.spawn(one.bulkhead.close());
    scene.executor.run_until_idle();
    assert!(closing.is_finished());
    drop(scene.permit(&two));
}

#[test]
fn the_calls_of_a_bulkhead_that_was_built_again_have_new_ids() {
    let mut scene = Scene::new();
    let first = scene.process(1);
    let leases = |scene: &mut Scene, process: &Process| {
        let permit = scene.permit(process);
        let bulkhead = process.bulkhead.clone();
        let status = scene.executor.block_on(async move { bulkhead.status().await }).unwrap();
        scene.release(permit);
        (status.lease_page[0].0, status.session_page[0].generation)
    };
    let (before, generation) = leases(&mut scene, &first);
    scene.executor.block_on(first.bulkhead.close());
    scene.executor.run_until_idle();
    let bulkhead = first.fleet.bulkhead("payments").limit(1).build().unwrap();
    let second = Process { fleet: first.fleet, bulkhead };
    scene.executor.run_until_idle();
    let (after, next) = leases(&mut scene, &second);
    assert!(after.seq > before.seq, "{after} after {before}: an old command could be taken for a new one");
    assert!(next > generation, "an old beat could be taken for a new one");
}

#[test]
fn a_fleet_that_is_closed_takes_no_new_bulkheads() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    let closing = scene.executor.spawn(process.fleet.close());
    scene.executor.run_until_idle();
    let late = process.fleet.bulkhead("late").limit(1).build().unwrap();
    let asking = scene.executor.spawn(async move { late.acquire().await });
    scene.executor.run_until_idle();
    assert_eq!(rejected(&asking).reason(), Reason::Closed);
    scene.release(permit);
    assert!(closing.is_finished());
}

#[test]
fn a_permit_is_lost_when_the_task_that_renews_it_is_dropped() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    let mut other = bulklink::testing::Executor::new(scene.executor.clock());
    let lost = other.spawn(async move {
        permit.lost().await;
        assert!(!permit.is_valid());
    });
    other.run_until_idle();
    drop(scene);
    other.advance(millis(10_000));
    assert!(lost.is_finished());
}
