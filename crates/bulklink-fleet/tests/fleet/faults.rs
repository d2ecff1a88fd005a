//! What fails, and what must hold nevertheless.

use bulklink_fleet::{Command, Reason};

use crate::odd::{Fate, Step};
use crate::scene::{Scene, admitted, millis, rejected};

#[test]
fn permits_are_renewed_as_long_as_they_are_held() {
    let mut scene = Scene::new();
    let (process, other) = (scene.process(1), scene.process(1));
    let permit = scene.permit(&process);
    let waiting = scene.acquire(&other);
    scene.advance(600_000);
    assert!(permit.is_valid() && !waiting.is_finished());
}

#[test]
fn a_permit_ends_by_itself_before_the_store_gives_it_to_another_process() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    let other = scene.process(1);
    let waiting = scene.acquire(&other);
    scene.advance(3_000);
    // The connection of the first process is gone, and it cannot connect again.
    scene.store.stop();
    scene.advance(9_999);
    assert!(permit.is_valid());
    scene.advance(1_001);
    assert!(!permit.is_valid());
    assert_eq!(process.bulkhead.local_status().totals.lost, 1);
    scene.store.start();
    scene.advance(30_000);
    let theirs = admitted(&waiting);
    assert!(theirs.token() > permit.token());
    // A late release changes nothing: a stale holder must not free what another one has.
    scene.release(permit);
    assert!(theirs.is_valid());
    assert!(!scene.acquire(&process).is_finished());
}

#[test]
fn calls_that_wait_keep_their_places_when_the_connection_is_cut() {
    let mut scene = Scene::new();
    let (one, two) = (scene.process(1), scene.process(1));
    let permit = scene.permit(&one);
    let (first, second) = (scene.acquire(&two), scene.acquire(&one));
    scene.store.cut();
    scene.advance(100);
    scene.release(permit);
    scene.advance(1);
    let permit = admitted(&first);
    assert!(!second.is_finished());
    scene.release(permit);
    drop(admitted(&second));
}

#[test]
fn a_grant_whose_notice_is_lost_arrives_with_the_next_beat() {
    let mut scene = Scene::new();
    let (one, two) = (scene.process(1), scene.process(1));
    let permit = scene.permit(&one);
    let waiting = scene.acquire(&two);
    scene.store.drop_notices(true);
    scene.release(permit);
    assert!(!waiting.is_finished());
    scene.advance(1_000);
    drop(admitted(&waiting));
}

#[test]
fn a_lost_answer_neither_leaks_a_permit_nor_admits_twice() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    scene.store.drop_answers(true);
    let asking = scene.acquire(&process);
    scene.store.drop_answers(false);
    scene.advance(200);
    let permit = admitted(&asking);
    let next = scene.acquire(&process);
    assert!(!next.is_finished());
    scene.store.drop_answers(true);
    scene.release(permit);
    scene.store.drop_answers(false);
    scene.advance(200);
    drop(admitted(&next));
}

#[test]
fn a_store_that_does_not_answer_rejects_new_calls_after_the_timeout() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    scene.store.stall(true);
    let asking = scene.acquire(&process);
    scene.advance(499);
    assert!(!asking.is_finished());
    scene.advance(1);
    let rejection = rejected(&asking);
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Unavailable, millis(500)));
    // By now it is known, so the next call hears immediately.
    scene.advance(1_000);
    assert_eq!(rejected(&scene.acquire(&process)).waited(), millis(0));
    scene.store.stall(false);
    scene.advance(3_000);
    drop(scene.permit(&process));
}

#[test]
fn lost_data_is_noticed_and_what_runs_is_counted_again() {
    let mut scene = Scene::new();
    let (one, two) = (scene.process(2), scene.process(2));
    let permit = scene.permit(&one);
    scene.store.stop();
    scene.store.forget();
    scene.store.start();
    scene.advance(2_500);
    let bulkhead = two.bulkhead.clone();
    let hurried = scene.executor.spawn(async move { bulkhead.try_acquire().await });
    scene.executor.run_until_idle();
    assert_eq!(rejected(&hurried).reason(), Reason::Recovering);
    let waiting = [scene.acquire(&two), scene.acquire(&two)];
    scene.advance(20_000);
    let granted = waiting.iter().filter(|task| task.is_finished()).count();
    assert_eq!((granted, permit.is_valid()), (1, true), "the permit of before counts");
}

#[test]
fn without_a_quarantine_calls_are_admitted_at_once_after_a_loss() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(2).without_quarantine());
    let _permit = scene.permit(&process);
    scene.store.stop();
    scene.store.forget();
    scene.store.start();
    scene.advance(200);
    drop(scene.permit(&process));
}

#[test]
fn a_dead_process_frees_its_units_after_one_lease_and_its_waiters_at_once() {
    let mut scene = Scene::new();
    let dead = {
        // A process of its own time, which ends with its executor.
        let mut own =
            Scene { executor: bulklink::testing::Executor::new(scene.executor.clock()), store: scene.store.clone() };
        let process = own.process(1);
        let permit = own.permit(&process);
        std::mem::forget(permit);
        (own, process)
    };
    let process = scene.process(1);
    let waiting = scene.acquire(&process);
    let next = scene.acquire(&process);
    std::mem::forget(dead.1);
    drop(dead.0);
    scene.advance(9_999);
    assert!(!waiting.is_finished());
    scene.advance(2);
    let permit = admitted(&waiting);
    scene.release(permit);
    drop(admitted(&next));
}

#[test]
fn a_release_is_confirmed_by_the_store() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    let releasing = scene.executor.spawn(permit.release());
    scene.executor.run_until_idle();
    assert_eq!(releasing.output(), Some(true));
    let permit = scene.permit(&process);
    scene.store.stop();
    let releasing = scene.executor.spawn(permit.release());
    scene.executor.run_until_idle();
    assert_eq!(releasing.output(), Some(false));
}

#[test]
fn a_store_that_is_started_twice_is_one_run() {
    let mut scene = Scene::new();
    let (one, two) = (scene.process(1), scene.process(1));
    let permit = scene.permit(&one);
    scene.store.start();
    // A bulkhead that is opened later on the same connection meets the same server.
    scene.executor.block_on(two.bulkhead.close());
    scene.executor.run_until_idle();
    let bulkhead = two.fleet.bulkhead("payments").limit(1).waiting_room(100).build().unwrap();
    let two = crate::scene::Process { fleet: two.fleet, bulkhead };
    scene.executor.run_until_idle();
    let waiting = scene.acquire(&two);
    scene.release(permit);
    drop(admitted(&waiting));
}

#[test]
fn calls_wait_while_the_bulkhead_is_opened_again() {
    let mut scene = Scene::new();
    let process = scene.odd_process(|step| match step {
        Step::Call(_, Command::Open { .. }) => Fate::Late(millis(100)),
        _ => Fate::Usual,
    });
    scene.advance(60_000);
    scene.store.forget();
    // The first call meets other data, and the second one comes before the bulkhead is open there.
    let tasks = [scene.acquire(&process), scene.acquire(&process)];
    assert!(tasks.iter().all(|task| !task.is_finished()));
    scene.advance(15_000);
    let permit = admitted(&tasks[0]);
    scene.release(permit);
    drop(admitted(&tasks[1]));
}

#[test]
fn a_call_that_is_refused_leaves_nothing_of_an_earlier_link() {
    let mut scene = Scene::new();
    let asked = std::sync::atomic::AtomicU64::new(0);
    let first = crate::odd::First::default();
    let process = scene.odd_process(move |step| match step {
        Step::Call(_, Command::Acquire { id, .. }) if first.is(*id) => {
            let is_first = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            if is_first { Fate::Usual } else { Fate::Fails(crate::odd::refusal()) }
        }
        _ => Fate::Usual,
    });
    // The lease was granted, and the answer was lost. The command that asks again is refused.
    scene.store.drop_answers(true);
    let asking = scene.acquire(&process);
    scene.store.drop_answers(false);
    scene.advance(200);
    assert_eq!(rejected(&asking).reason(), Reason::Unavailable);
    drop(scene.permit(&process));
}

#[test]
fn a_permit_that_ends_while_the_store_may_still_answer_is_lost_in_time() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| {
        let times = builder.lease(millis(40)).claim(millis(40)).beat(millis(20));
        times.limit(1).waiting_room(9)
    });
    let permit = scene.permit(&process);
    scene.store.stall(true);
    let lost = scene.executor.spawn(async move { permit.lost().await });
    scene.advance(39);
    assert!(!lost.is_finished());
    scene.advance(1);
    assert!(lost.is_finished());
}
