//! Units move between processes, and calls with them.

use bulklink::Request;
use bulklink::testing::FakeRuntime;
use bulklink::testing::Task;
use bulklink_fleet::ResizeError;
use bulklink_fleet::ShareBuilder;
use bulklink_fleet::StoreError;
use bulklink_fleet::share::LimitRefusal;

use crate::scene::{Process, Scene, texts};

#[test]
fn processes_have_a_limit_together_and_units_move_to_those_that_need_them() {
    let mut scene = Scene::new();
    let (first, second) = (scene.process(), scene.process());
    let slots = scene.slots(&first, 3);
    let mut others = scene.slots(&second, 1);
    let (waiting, behind) = (scene.call(&second), scene.call(&first));
    scene.advance(50);
    assert!(waiting.output().is_none() && behind.output().is_none(), "all four are in use");
    assert_eq!((first.share.status().limit, second.share.status().limit), (4, 4));

    drop(slots);
    scene.advance(50);
    others.push(waiting.output().expect("a unit is free").unwrap());
    let _last = behind.output().expect("another, too").unwrap();
    let more = scene.slots(&second, 1);
    assert_eq!(first.bulkhead.status().in_use + second.bulkhead.status().in_use, 4);
    drop((others, more));
}

#[test]
fn a_share_without_calls_sends_nothing() {
    let mut scene = Scene::new();
    let process = scene.process();
    drop(scene.slots(&process, 2));
    scene.advance(60_000);
    let before = scene.store.commands();
    scene.advance(3_600_000);
    assert_eq!(scene.store.commands(), before);
    assert_eq!(process.share.status().granted, 0);
    assert_eq!(scene.slots(&process, 4).len(), 4, "and gets units when it needs them");
}

#[test]
fn idle_units_of_one_process_go_to_calls_that_wait_in_another() {
    let mut scene = Scene::new();
    let (idle, busy) = (scene.process(), scene.process());
    drop(scene.slots(&idle, 4));
    assert!(idle.share.status().granted >= 3);
    let calls: Vec<_> = (0..4).map(|_| scene.call(&busy)).collect();
    scene.advance(20);
    assert!(calls.iter().all(Task::is_finished), "well before a beat");
}

#[test]
fn a_call_of_several_units_waits_until_the_share_has_them() {
    let mut scene = Scene::new();
    let (first, second) = (scene.process(), scene.process());
    let others = scene.slots(&second, 2);
    let large = scene.call_of(&first, Request::new().cost(3));
    let behind = scene.call(&first);
    scene.advance(50);
    assert!(!large.is_finished() && !behind.is_finished(), "first come, first served");
    drop(others);
    scene.advance(50);
    let large = large.output().expect("three units are free").unwrap();
    assert_eq!((large.cost(), behind.is_finished()), (3, true));
}

#[test]
fn the_limit_is_changed_for_all_processes_unless_another_did_it_first() {
    let mut scene = Scene::new();
    let (first, second) = (scene.process(), scene.process());
    let resized = |scene: &mut Scene, process: &Process, limit| {
        let task = scene.executor.spawn(process.share.resize(limit));
        scene.executor.run_until_idle();
        task.output().expect("the store answers")
    };
    assert_eq!(resized(&mut scene, &first, 6), Ok(()));
    assert_eq!(first.share.status().limit, 6);
    let known = LimitRefusal::Version { current: 2.into(), limit: 6 };
    assert_eq!(resized(&mut scene, &second, 9), Err(ResizeError::Refused(known)));
    assert_eq!(second.share.status().limit, 6, "the refusal says so");
    let slots = scene.slots(&second, 6);
    assert_eq!(resized(&mut scene, &second, 3), Ok(()));
    let waiting = scene.call(&first);
    scene.advance(50);
    assert!(!waiting.is_finished() && second.share.status().granted == 6, "what is in use stays");
    drop(slots);
    scene.advance(50);
    let slots = (waiting.output().unwrap().unwrap(), scene.slots(&first, 2));
    let more = scene.call(&second);
    scene.advance(50);
    assert!(!more.is_finished());
    drop(slots);

    let invalid = resized(&mut scene, &first, 0).unwrap_err();
    assert_eq!(texts(&invalid), "the new limit is invalid: limit must be 1 to 4,294,967,295 units, got 0");
    scene.store.stop();
    scene.advance(10);
    let away = resized(&mut scene, &first, 5);
    assert_eq!(away, Err(ResizeError::Store(StoreError::UNREACHABLE)));
}

#[test]
fn tokens_grow_over_operations_processes_and_losses_of_data() {
    let mut scene = Scene::new();
    let strict = |builder: ShareBuilder<FakeRuntime>| builder.limit(1).strict();
    let (first, second) = (scene.process_with(strict), scene.process_with(strict));
    let mut last = None;
    for round in 0..12 {
        let process = if round % 3 == 0 { &first } else { &second };
        let calls = [scene.call(process), scene.call(&second)];
        scene.advance(20_000);
        let slot = calls[0].output().expect("it is admitted").unwrap();
        let tokens = [process.share.token(), process.share.token()];
        assert!(last < tokens[0] && tokens[0] < tokens[1], "{last:?}, {tokens:?}");
        last = tokens[1];
        drop(slot);
        scene.advance(20_000);
        drop(calls[1].output());
        if round == 6 {
            scene.store.forget();
        }
    }
    scene.advance(60_000);
    assert_eq!(first.share.token(), None, "it has no unit");
}

#[test]
fn without_a_quarantine_a_loss_of_data_is_a_loss_of_units_and_tokens_grow_all_the_same() {
    let mut scene = Scene::new();
    let strict = |builder: ShareBuilder<FakeRuntime>| builder.limit(1).strict().without_quarantine();
    let (first, second) = (scene.process_with(strict), scene.process_with(strict));
    let slots = scene.slots(&first, 1);
    let (lost, before) = (scene.executor.spawn(first.share.lost()), first.share.token());
    let waiting = [scene.call(&second), scene.call(&first)];
    scene.advance(100);
    // The first of those that state again has the unit.
    scene.store.forget();
    scene.advance(2_000);
    let owners = [&first, &second].map(|process| process.share.token().is_some());
    assert_eq!(owners.into_iter().filter(|owns| *owns).count(), 1);
    assert_eq!((lost.is_finished(), first.share.status().lost > 0), (owners[1], owners[1]));
    drop(slots);
    for call in waiting {
        scene.advance(2_000);
        drop(call.output().expect("it is over").expect("it is admitted"));
    }
    let _slots = scene.slots(&first, 1);
    assert!(before.is_some() && before < first.share.token());
}

#[test]
fn an_operation_whose_unit_was_lost_has_one_again_also_while_a_call_waits() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).strict().without_quarantine());
    let (slots, waiting) = (scene.slots(&process, 1), scene.call(&process));
    scene.store.forget();
    scene.advance(2_000);
    assert!(process.share.token().is_some());
    drop(slots);
    scene.advance(100);
    drop(waiting.output().expect("it is over").expect("it is admitted"));
}

/// Also if it has a unit again by its next statement.
#[test]
fn without_a_quarantine_a_unit_that_another_has_had_meanwhile_was_lost() {
    let mut scene = Scene::new();
    let strict = |builder: ShareBuilder<FakeRuntime>| builder.limit(1).strict().without_quarantine();
    let (first, second) = (scene.process_with(strict), scene.process_with(strict));
    let (_slots, lost) = (scene.slots(&first, 1), scene.executor.spawn(first.share.lost()));
    scene.advance(100);
    scene.store.forget();
    drop(scene.slots(&second, 1));
    scene.advance(2_000);
    assert!(lost.is_finished() && first.share.token().is_some());
    assert_eq!(first.share.status().lost, 1);
}
