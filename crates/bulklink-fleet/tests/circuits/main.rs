//! Circuits that several processes share, on virtual time.

mod clock;
mod faults;
mod log;
mod memory;
mod paced;
mod random;
mod records;
mod scene;

use bulklink::testing::Task;
use bulklink_breaker::{Breaker, Health, State};
use bulklink_fleet::circuits::Circuits;
use scene::{Process, Scene, texts};

const BAD: bool = false;
const GOOD: bool = true;

#[test]
fn a_trip_in_one_process_is_seen_by_the_others_immediately() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    assert_eq!(scene.call(&one, &[BAD, BAD, BAD, BAD]), 3);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2]);
    assert_eq!(scene.call(&two, &[GOOD]), 0);
}

#[test]
fn outcomes_of_all_processes_open_the_circuit_together() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD, BAD]);
    scene.advance(100);
    assert_eq!(scene.call(&two, &[BAD]), 1);
    assert_eq!(one.breaker.health(), Health::Healthy);
    scene.advance(100);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2]);
}

#[test]
fn a_closed_circuit_sends_one_command_an_interval_and_none_without_calls() {
    let mut scene = Scene::new();
    let process = scene.process();
    let before = scene.store.commands();
    scene.call(&process, &[GOOD; 50]);
    assert_eq!(scene.store.commands(), before);
    scene.advance(100);
    assert_eq!(scene.store.commands(), before + 1);
    scene.advance(4_000);
    assert_eq!(scene.store.commands(), before + 1);
}

#[test]
fn all_processes_together_have_as_many_probes_as_the_settings_say() {
    let mut scene = Scene::new();
    let processes = [scene.process(), scene.process(), scene.process()];
    scene.call(&processes[0], &[BAD; 3]);
    scene.advance(10_000);
    let both = processes.iter().flat_map(|process| [process, process]);
    let calls: Vec<_> = both.map(|process| scene.begin(process, 50, GOOD)).collect();
    assert_eq!(calls.iter().filter(|call| !call.is_finished()).count(), 1);
    scene.advance(50);
    assert_eq!(calls.iter().filter_map(Task::output).flatten().count(), 1);
    assert!(processes.iter().all(|process| process.breaker.status().circuit.state == State::Closed));
}

#[test]
fn a_probe_that_fails_opens_the_circuit_for_all() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD; 3]);
    scene.advance(10_000);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Degraded; 2]);
    assert_eq!(scene.call(&two, &[BAD, GOOD]), 1);
    assert_eq!(scene.call(&one, &[GOOD]), 0);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2]);
}

#[test]
fn a_probe_that_is_dropped_gives_back_its_place() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD; 3]);
    scene.advance(10_000);
    let probe = scene.begin(&one, 50, GOOD);
    assert_eq!(scene.call(&two, &[GOOD]), 0);
    probe.cancel();
    scene.executor.run_until_idle();
    assert_eq!(scene.call(&two, &[GOOD]), 1);
}

#[test]
fn the_probe_of_a_process_that_died_is_free_after_its_lease() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD; 3]);
    scene.advance(10_000);
    let _probe = scene.begin(&one, 1_000_000, GOOD);
    scene.advance(1_999);
    assert_eq!(scene.call(&two, &[GOOD]), 0);
    scene.advance(1);
    assert_eq!(scene.call(&two, &[GOOD]), 1);
}

#[test]
fn without_the_store_each_process_opens_cools_down_and_probes_by_itself() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.store.stop();
    scene.executor.run_until_idle();
    assert!(!one.is_connected());
    assert_eq!(scene.call(&one, &[BAD, BAD, BAD, BAD]), 3);
    assert_eq!((one.breaker.health(), two.breaker.health()), (Health::Isolated, Health::Healthy));
    scene.advance(10_000);
    assert_eq!(one.breaker.health(), Health::Degraded);
    assert_eq!(scene.call(&one, &[GOOD, GOOD]), 2);
    assert_eq!(one.breaker.health(), Health::Healthy);
    assert_eq!(scene.call(&one, &[BAD, BAD, BAD]), 3);

    scene.store.start();
    scene.advance(1_200);
    assert!(one.is_connected());
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2], "the store is told");
}

#[test]
fn a_store_that_does_not_answer_holds_up_no_call_for_longer_than_its_timeout() {
    let mut scene = Scene::new();
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    scene.store.stall(true);
    let probe = scene.begin(&process, 0, GOOD);
    scene.advance(499);
    assert!(!probe.is_finished());
    scene.advance(1);
    assert_eq!(probe.output(), Some(Ok(())), "it is a probe of this process alone");
    assert_eq!(process.breaker.health(), Health::Healthy);
}

#[test]
fn a_circuit_that_is_forced_somewhere_is_forced_everywhere() {
    use bulklink_fleet::circuits::{CircuitStore, Force};
    use bulklink_fleet::{Name, Namespace};
    let mut scene = Scene::new();
    let process = scene.process();
    let name = Name::new(&Namespace::new("test").unwrap(), "payments").unwrap();
    for (force, health) in [(Force::Open, Health::Isolated), (Force::Closed, Health::Healthy)] {
        let (store, name) = (scene.store.clone(), name.clone());
        scene.executor.block_on(async move { store.force(&name, None, force).await }).unwrap();
        scene.executor.run_until_idle();
        assert_eq!(process.breaker.health(), health);
        scene.advance(60_000);
        assert_eq!(process.breaker.health(), health);
    }
}

#[test]
fn lost_notices_are_made_up_for_by_refreshing() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.store.drop_notices(true);
    scene.call(&one, &[BAD; 3]);
    assert_eq!(two.breaker.health(), Health::Healthy);
    scene.advance(5_000);
    assert_eq!(two.breaker.health(), Health::Isolated);
}

#[test]
fn the_task_ends_with_the_last_handle() {
    let mut scene = Scene::new();
    let Process { circuits, breaker } = scene.process();
    let before = scene.store.commands();
    drop(circuits);
    scene.advance(5_000);
    assert_eq!(scene.store.commands(), before + 1, "the breaker keeps it");
    drop(breaker);
    scene.executor.run_until_idle();
    scene.advance(60_000);
    assert_eq!(scene.store.commands(), before + 1);
}

#[test]
fn a_namespace_is_required_and_errors_name_what_cannot_be_a_name() {
    let scene = Scene::new();
    let builder = || Circuits::builder(scene.store.clone(), scene.executor.runtime());
    let missing = builder().build().unwrap_err();
    let no_name = "no circuit is shared: ";
    let text = "namespace must be a valid name: the name is empty, got \"\"";
    assert_eq!(texts(&missing), format!("{no_name}{text}"));
    let invalid = builder().namespace("a b").build().unwrap_err();
    let requirement = "must be a valid name: a namespace has only A-Z, a-z, 0-9, '.', '_' and '-', got 0x20";
    assert_eq!(texts(&invalid), format!("{no_name}namespace {requirement}, got \"a b\""));
    let circuits = builder().namespace("test").build().unwrap();
    let long = "x".repeat(201);
    let too_long = circuits.share(Breaker::builder_on(scene.executor.clock(), &long)).unwrap_err();
    let text = texts(&too_long);
    assert!(text.starts_with(&format!("{no_name}label must be a valid name: ")), "{text}");
}
