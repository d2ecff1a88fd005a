//! What must not stop the task of a fleet.

use bulklink_fleet::{Command, Reason, StoreError};

use crate::odd::{Fate, First, Step, refusal};
use crate::scene::{Scene, admitted, millis, rejected};

#[test]
fn a_beat_that_is_due_while_the_process_leaves_does_not_stop_the_task() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    scene.advance(900);
    scene.store.stall(true);
    let closing = scene.executor.spawn(process.bulkhead.close());
    scene.advance(200);
    assert!(!closing.is_finished(), "the store does not know yet");
    scene.store.stall(false);
    scene.executor.run_until_idle();
    assert!(closing.is_finished());
}

#[test]
fn an_expiry_while_the_bulkhead_is_opened_again_does_not_stop_the_task() {
    let mut scene = Scene::new();
    let holder = scene.process(1);
    let permit = scene.permit(&holder);
    // A waiter has a timer for the first expiry that it was told, at 10,001 ms. It beats at 9,950.
    scene.advance(850);
    let waiting = scene.odd_process(|step| match step {
        Step::Call(_, Command::Open { .. }) => Fate::Late(millis(100)),
        _ => Fate::Usual,
    });
    scene.advance(150);
    let task = scene.acquire(&waiting);
    scene.advance(8_900);
    scene.store.forget();
    scene.advance(1_000);
    scene.release(permit);
    scene.advance(20_000);
    drop(admitted(&task));
}

#[test]
fn a_link_that_breaks_while_two_bulkheads_beat_does_not_stop_the_task() {
    let mut scene = Scene::new();
    let fleet = scene.odd_fleet(|step| match step {
        Step::Call(name, Command::Beat { leases, .. }) if name.label() == "one" && !leases.is_empty() => {
            Fate::Fails(StoreError::Unreachable)
        }
        _ => Fate::Usual,
    });
    let [one, two] = ["one", "two"].map(|label| fleet.bulkhead(label).limit(1).build().unwrap());
    scene.executor.run_until_idle();
    let permit = scene.executor.block_on(async move { one.acquire().await }).unwrap();
    scene.advance(2_000);
    drop(permit);
    scene.advance(2_500);
    drop(scene.executor.block_on(async move { two.acquire().await }).unwrap());
}

#[test]
fn a_store_that_never_connects_is_unavailable() {
    let mut scene = Scene::new();
    let process = scene.odd_process(|step| if matches!(step, Step::Connect) { Fate::Never } else { Fate::Usual });
    let asking = scene.acquire(&process);
    scene.advance(499);
    assert!(!asking.is_finished());
    scene.advance(1);
    assert_eq!(rejected(&asking).reason(), Reason::Unavailable);
}

#[test]
fn a_store_that_refuses_everything_is_unavailable_and_not_asked_without_end() {
    let mut scene = Scene::new();
    let process = scene.odd_process(|step| match step {
        Step::Call(..) => Fate::Fails(refusal()),
        _ => Fate::Usual,
    });
    let asking = scene.acquire(&process);
    scene.advance(10_000);
    assert_eq!(rejected(&asking).reason(), Reason::Unavailable);
    let closing = scene.executor.spawn(process.bulkhead.close());
    scene.advance(10_001);
    assert!(closing.is_finished());
}

#[test]
fn a_name_that_is_refused_leaves_the_others_alone() {
    let mut scene = Scene::new();
    let fleet = scene.odd_fleet(|step| match step {
        Step::Listen(name) if name.label() == "secret" => Fate::Fails(refusal()),
        _ => Fate::Usual,
    });
    let build = |label| fleet.bulkhead(label).limit(1).build().unwrap();
    let (secret, public) = (build("secret"), build("public"));
    scene.advance(3_000);
    let tasks = [secret, public].map(|bulkhead| scene.executor.spawn(async move { bulkhead.acquire().await }));
    scene.executor.run_until_idle();
    assert_eq!(rejected(&tasks[0]).reason(), Reason::Unavailable);
    assert_eq!(admitted(&tasks[1]).cost(), 1);
}

#[test]
fn a_link_that_says_it_has_ended_is_made_again() {
    let mut scene = Scene::new();
    let first = First::default();
    let process = scene.odd_process(move |step| match step {
        Step::Call(_, Command::Acquire { id, .. }) if first.is(*id) => Fate::Ended,
        _ => Fate::Usual,
    });
    let asking = scene.acquire(&process);
    scene.advance(200);
    // Its command may have had an effect on the first link, and asks again on the others.
    assert!(!asking.is_finished());
    asking.cancel();
    scene.advance(300);
    drop(scene.permit(&process));
}
