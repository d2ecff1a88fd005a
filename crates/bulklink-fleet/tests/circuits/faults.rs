//! Faults of the store, of the task and of processes that end in between.

use bulklink::runtime::{Clock, Instant, Spawn, SpawnError, Timer};
use bulklink::testing::{FakeSleep, Task};
use bulklink_breaker::{Breaker, Health, Settings, State};
use bulklink_fleet::circuits::{CircuitStore, Circuits, Row};
use bulklink_fleet::{Name, Namespace};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::scene::{Process, Scene, millis};
use crate::{BAD, GOOD};

pub(crate) fn row(scene: &mut Scene) -> Row {
    let name = Name::new(&Namespace::new("test").unwrap(), "payments").unwrap();
    let (store, settings) = (scene.store.clone(), scene.settings);
    scene.executor.block_on(async move { store.load(&name, &settings).await }).unwrap()
}

pub(crate) fn shares(scene: &mut Scene, process: &Process) -> bool {
    scene.executor.run_until_idle();
    process.is_connected()
}

#[test]
fn a_probe_that_hangs_keeps_its_own_process_from_probing_until_its_lease_ends() {
    let mut scene = Scene::new();
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    let hung = scene.begin(&process, 1_000_000, GOOD);
    assert_eq!(scene.call(&process, &[GOOD]), 0);
    scene.advance(2_000);
    assert!(process.breaker.check().is_ok());
    assert_eq!(scene.call(&process, &[GOOD]), 1);
    assert_eq!(process.breaker.health(), Health::Healthy);
    // Its outcome is of an earlier generation now.
    scene.advance(1_000_000);
    assert!(hung.is_finished());
    assert_eq!(row(&mut scene).state, State::Closed);
}

#[test]
fn a_probe_of_an_earlier_half_open_circuit_takes_no_place_of_a_later_one() {
    let mut scene = Scene::new();
    scene.settings = scene.settings.probes(2).probe_lease(millis(3_600_000));
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    let _hung = scene.begin(&process, 1_000_000, GOOD);
    assert_eq!(scene.call(&process, &[BAD]), 1, "it opens again");
    scene.advance(10_000);
    let probes = [(); 3].map(|()| scene.begin(&process, 50, GOOD));
    assert_eq!(probes.iter().filter(|probe| !probe.is_finished()).count(), 2);
}

/// A runtime with tasks that its owner can end.
#[derive(Clone)]
struct Mortal {
    executor: bulklink::testing::FakeRuntime,
    tasks: Tasks,
    /// How often the clock was read.
    reads: Arc<AtomicU64>,
}

type Tasks = Arc<Mutex<Vec<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>>>>;

impl Clock for Mortal {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.executor.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Mortal {
    type Sleep = FakeSleep;

    fn sleep_until(&self, at: Instant) -> FakeSleep {
        self.executor.sleep_until(at)
    }
}

impl Spawn for Mortal {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        self.tasks.lock().unwrap().push(Box::pin(task));
        Ok(())
    }
}

/// A process with a task that can be ended.
fn mortal(scene: &mut Scene) -> (Process, Task<()>) {
    let runtime = Mortal { executor: scene.executor.runtime(), tasks: Arc::default(), reads: Arc::default() };
    let circuits = Circuits::builder(scene.store.clone(), runtime.clone()).namespace("test").build().unwrap();
    let breaker = Breaker::builder_on(scene.executor.clock(), "payments").settings(scene.settings);
    let breaker = circuits.share(breaker).unwrap();
    let task = runtime.tasks.lock().unwrap().pop().unwrap();
    let task = scene.executor.spawn(task);
    scene.executor.run_until_idle();
    (Process { circuits, breaker }, task)
}

#[test]
fn without_its_task_a_circuit_goes_by_its_own_calls() {
    let mut scene = Scene::new();
    for is_asking in [false, true] {
        scene.store.forget();
        let (process, task) = mortal(&mut scene);
        scene.call(&process, &[BAD; 3]);
        scene.advance(10_000);
        scene.store.stall(true);
        let early = is_asking.then(|| scene.begin(&process, 0, GOOD));
        task.cancel();
        scene.executor.run_until_idle();
        if let Some(early) = early {
            assert_eq!(early.output(), Some(Ok(())), "it is a probe of this process alone");
        } else {
            assert_eq!(scene.call(&process, &[GOOD]), 1);
        }
        assert!(!process.is_connected());
        let breaker = Breaker::builder_on(scene.executor.clock(), "later").settings(scene.settings);
        let later = Process { breaker: process.circuits.share(breaker).unwrap(), ..process };
        assert_eq!(scene.call(&later, &[BAD; 4]), 3);
        scene.store.stall(false);
    }
}

#[test]
fn a_breaker_that_is_dropped_with_its_probe_gives_back_the_place() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD; 3]);
    scene.advance(10_000);
    let probe = scene.begin(&one, 50, GOOD);
    drop(one);
    probe.cancel();
    scene.executor.run_until_idle();
    assert_eq!(scene.call(&two, &[GOOD]), 1);
}

#[test]
fn outcomes_of_a_breaker_that_is_dropped_are_reported() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD, BAD]);
    drop(one);
    scene.executor.run_until_idle();
    assert_eq!(row(&mut scene).counts.failures, 2);
    drop(two);
}

#[test]
fn the_settings_that_processes_have_agreed_on_stay() {
    let mut scene = Scene::new();
    let process = scene.process();
    let settings = scene.settings;
    assert_eq!(process.breaker.reconfigure(settings), Ok(settings), "they are the same");
    let refused = process.breaker.reconfigure(settings.probes(99)).unwrap_err().to_string();
    assert!(refused.contains("settings must stay as they are, as other processes share the circuit"), "{refused}");
    assert_eq!(process.breaker.settings(), settings);
}

#[test]
fn outcomes_from_before_the_first_answer_are_reported() {
    let mut scene = Scene::new();
    let circuits = Circuits::builder(scene.store.clone(), scene.executor.runtime()).namespace("test").build().unwrap();
    let breaker = Breaker::builder_on(scene.executor.clock(), "payments").settings(scene.settings);
    let breaker = circuits.share(breaker).unwrap();
    for _ in 0..2 {
        breaker.admit().unwrap().fail();
    }
    scene.advance(100);
    assert_eq!(row(&mut scene).counts.failures, 2);
}

#[test]
fn outcomes_of_the_time_without_the_store_do_not_count_after_it() {
    let mut scene = Scene::new();
    let process = scene.process();
    scene.store.stop();
    scene.advance(1_000);
    // Opens, cools down and probes, each by itself.
    scene.call(&process, &[BAD; 3]);
    scene.advance(60_000);
    assert_eq!(process.breaker.health(), Health::Degraded);
    scene.store.start();
    scene.advance(1_200);
    assert_eq!(process.breaker.health(), Health::Healthy, "as the store says");
    scene.advance(5_000);
    let row = row(&mut scene);
    assert_eq!((row.state, row.counts.calls), (State::Closed, 0));
}

#[test]
fn a_probe_of_the_store_and_those_of_the_process_alone_are_not_more_than_may_run() {
    let mut scene = Scene::new();
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    let probe = scene.begin(&process, 1_000, GOOD);
    scene.store.stop();
    scene.executor.run_until_idle();
    assert!(!process.is_connected());
    assert_eq!(scene.call(&process, &[GOOD]), 0, "the store's probe runs");
    scene.advance(2_000);
    assert!(probe.is_finished());
    let alone = scene.begin(&process, 100_000, GOOD);
    assert!(!alone.is_finished());
    scene.store.start();
    scene.advance(1_200);
    assert!(shares(&mut scene, &process));
    alone.cancel();
}

#[test]
fn the_probe_of_a_process_alone_closes_no_circuit_of_the_store() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.call(&one, &[BAD; 3]);
    scene.advance(10_000);
    let _probe = scene.begin(&two, 1_000_000, GOOD);
    // Only the first process loses the store: it never connects for as long.
    scene.store.stop();
    scene.executor.run_until_idle();
    let alone = scene.begin(&one, 1_500, GOOD);
    scene.store.start();
    scene.advance(1_400);
    assert!(shares(&mut scene, &one));
    scene.advance(200);
    assert!(alone.is_finished());
    assert_eq!(row(&mut scene).state, State::HalfOpen);
    assert_eq!(one.breaker.health(), Health::Degraded);
}

#[test]
fn a_call_that_was_dropped_before_its_answer_has_not_failed() {
    let mut scene = Scene::new();
    let process = scene.process();
    let circuits = process.circuits.clone();
    let breaker = Breaker::builder_on(scene.executor.clock(), "payments").settings(scene.settings);
    let process = Process { breaker: circuits.share(breaker.count_cancelled(true)).unwrap(), circuits };
    scene.executor.run_until_idle();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    scene.store.stall(true);
    let probe = scene.begin(&process, 0, GOOD);
    probe.cancel();
    scene.store.stall(false);
    scene.executor.run_until_idle();
    assert_eq!(row(&mut scene).state, State::HalfOpen);
    assert_eq!(scene.call(&process, &[GOOD]), 1);
}

/// A call that is polled on the thread that wakes it, while it is being woken.
struct Eager(Mutex<Option<std::pin::Pin<Box<dyn Future<Output = bool> + Send>>>>, Mutex<Option<bool>>);

impl std::task::Wake for Eager {
    fn wake(self: Arc<Self>) {
        let waker = Arc::clone(&self).into();
        let mut future = self.0.lock().unwrap();
        let polled = future.as_mut().map(|future| future.as_mut().poll(&mut std::task::Context::from_waker(&waker)));
        if let Some(std::task::Poll::Ready(is_let_through)) = polled {
            *self.1.lock().unwrap() = Some(is_let_through);
            *future = None;
        }
    }
}

#[test]
fn a_call_that_runs_while_its_answer_is_lost_is_a_probe_of_its_process() {
    for is_stalled in [false, true] {
        let mut scene = Scene::new();
        let (process, task) = mortal(&mut scene);
        scene.call(&process, &[BAD; 3]);
        scene.advance(10_000);
        scene.store.stall(true);
        let breaker = process.breaker.clone();
        let call = async move { breaker.ask().await.is_ok_and(|call| call.is_probe()) };
        let eager = Arc::new(Eager(Mutex::new(Some(Box::pin(call))), Mutex::default()));
        std::task::Wake::wake(Arc::clone(&eager));
        scene.executor.run_until_idle();
        assert_eq!(*eager.1.lock().unwrap(), None);
        if is_stalled {
            scene.advance(500);
        } else {
            task.cancel();
            scene.executor.run_until_idle();
        }
        assert_eq!(*eager.1.lock().unwrap(), Some(true), "{is_stalled}");
    }
}

#[test]
fn a_trip_without_the_store_is_told_by_the_outcomes_of_its_window_alone() {
    for settings in [
        Settings::over(millis(1_000)).failure_rate(50).min_calls(4),
        Settings::of_last(10).failure_rate(50).min_calls(4),
    ] {
        let mut scene = Scene::new();
        scene.settings = settings.cool_down(millis(10_000));
        let process = scene.process();
        scene.store.stop();
        scene.advance(1_000);
        // History: it would hide the failures.
        if settings.window_calls().is_none() {
            scene.call(&process, &[GOOD; 100]);
            scene.advance(60_000);
        } else {
            scene.call(&process, &[GOOD, BAD, BAD, BAD]);
            scene.advance(10_000);
            scene.call(&process, &[GOOD, GOOD, GOOD, GOOD]);
        }
        scene.call(&process, &[BAD; 4]);
        assert_eq!(process.breaker.health(), Health::Isolated);
        scene.store.start();
        scene.advance(1_500);
        assert!(shares(&mut scene, &process));
        let row = row(&mut scene);
        assert_eq!((row.state, process.breaker.health()), (State::Open, Health::Isolated));
    }
}

#[test]
fn a_call_that_waited_to_ask_and_was_dropped_takes_no_place() {
    let mut scene = Scene::new();
    let process = scene.process();
    scene.call(&process, &[BAD; 3]);
    scene.advance(10_000);
    scene.store.stall(true);
    // A command of the same circuit is under way: it loads its row again.
    scene.advance(5_000);
    scene.begin(&process, 0, GOOD).cancel();
    let probe = scene.begin(&process, 0, GOOD);
    assert!(!probe.is_finished());
    scene.store.stall(false);
    scene.executor.run_until_idle();
    assert_eq!(probe.output(), Some(Ok(())));
}

#[test]
fn a_circuit_that_is_forced_in_a_process_is_forced_everywhere() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    let told = Arc::new(AtomicU64::new(0));
    for process in [&one, &two] {
        let told = Arc::clone(&told);
        process.breaker.add_transition_handler(move |_| {
            told.fetch_add(1, Ordering::Relaxed);
        });
    }
    one.breaker.force_open();
    assert_eq!(one.breaker.health(), Health::Isolated, "immediately");
    scene.advance(60_000);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2]);
    assert!(row(&mut scene).is_forced && two.breaker.status().circuit.is_forced);
    assert_eq!(told.load(Ordering::Relaxed), 2);
    two.breaker.force_closed();
    scene.advance(60_000);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Healthy; 2]);
    assert_eq!(told.load(Ordering::Relaxed), 4);
    // Nor does the last handle keep it from the others.
    one.breaker.force_open();
    drop(one);
    scene.executor.run_until_idle();
    assert_eq!(two.breaker.health(), Health::Isolated);
}

#[test]
fn outcomes_between_a_change_by_hand_and_its_answer_count() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.store.stall(true);
    one.breaker.force_closed();
    scene.executor.run_until_idle();
    assert_eq!(scene.call(&one, &[BAD; 4]), 3);
    scene.store.stall(false);
    scene.executor.run_until_idle();
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2]);

    let other = scene.process();
    one.breaker.force_closed();
    scene.executor.run_until_idle();
    scene.store.stall(true);
    one.breaker.force_closed();
    scene.executor.run_until_idle();
    scene.call(&one, &[BAD; 2]);
    scene.store.stall(false);
    scene.advance(100);
    assert_eq!(row(&mut scene).counts.failures, 2);
    scene.call(&other, &[BAD]);
    scene.advance(100);
    assert_eq!(one.breaker.health(), Health::Isolated);
}

#[test]
fn a_trip_after_a_change_by_hand_is_not_undone_if_the_answer_is_lost() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.store.drop_answers(true);
    one.breaker.force_closed();
    scene.executor.run_until_idle();
    assert!(!one.is_connected(), "it was told, and has not answered");
    scene.store.drop_answers(false);
    assert_eq!(scene.call(&one, &[BAD; 4]), 3);
    scene.advance(1_000);
    assert!(shares(&mut scene, &one));
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2]);
}

#[test]
fn a_circuit_that_is_forced_without_the_store_is_forced_everywhere_with_it() {
    let mut scene = Scene::new();
    let [one, two] = [scene.process(), scene.process()];
    scene.store.stop();
    scene.advance(1_000);
    one.breaker.force_open();
    scene.advance(60_000);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated, Health::Healthy]);
    scene.store.start();
    scene.advance(1_200);
    assert_eq!([&one, &two].map(|process| process.breaker.health()), [Health::Isolated; 2]);

    scene.store.stop();
    scene.advance(1_000);
    one.breaker.force_closed();
    scene.call(&one, &[BAD; 3]);
    scene.advance(10_000);
    scene.store.start();
    scene.advance(1_200);
    assert!(row(&mut scene).is_forced, "it has opened again since");
}

#[test]
fn one_call_of_a_thousand_circuits_costs_the_task_as_much_as_of_one() {
    let mut scene = Scene::new();
    let runtime = Mortal { executor: scene.executor.runtime(), tasks: Arc::default(), reads: Arc::default() };
    let circuits = Circuits::builder(scene.store.clone(), runtime.clone()).namespace("test").build().unwrap();
    let task = runtime.tasks.lock().unwrap().pop().unwrap();
    scene.executor.spawn(task);
    let breakers: Vec<_> = (0..1_000)
        .map(|number| {
            let breaker = Breaker::builder_on(scene.executor.clock(), &format!("circuit-{number}"));
            circuits.share(breaker.settings(scene.settings)).unwrap()
        })
        .collect();
    scene.advance(1_000);
    let before = runtime.reads.load(Ordering::Relaxed);
    breakers[500].admit().unwrap().succeed();
    scene.advance(100);
    let reads = runtime.reads.load(Ordering::Relaxed) - before;
    assert!(reads < 20, "{reads}");
}
