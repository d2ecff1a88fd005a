//! A store with answers that take their time, or never come: for some of its rows, such as one that
//! another session has locked, and for many circuits of one process.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulklink::testing::FakeClock;
use bulklink_breaker::{Breaker, Health, Settings};
use bulklink_fleet::circuits::{CircuitStore, Circuits, Operation, Reply, Row};
use bulklink_fleet::{MemoryStore, Name, Namespace, StoreError};

use crate::scene::{Scene, millis};

/// As many commands are under way at most.
const MOST_COMMANDS: usize = 16;

type Pace = Box<dyn Fn(&str) -> Option<u64> + Send + Sync>;

struct Paced {
    store: MemoryStore,
    clock: FakeClock,
    /// How long after its effect the answer to a command for this name comes. `None` is for ever,
    /// and without an effect.
    pace: Pace,
    under_way: Arc<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    names: Mutex<Vec<Name>>,
    most: AtomicUsize,
}

impl UnderWay {
    fn names(&self) -> MutexGuard<'_, Vec<Name>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.names().len()
    }
}

struct Command<'a>(&'a UnderWay, &'a Name);

impl<'a> Command<'a> {
    fn begin(under_way: &'a UnderWay, name: &'a Name) -> Self {
        let mut names = under_way.names();
        assert!(!names.contains(name), "the commands of a circuit go one after the other");
        names.push(name.clone());
        under_way.most.fetch_max(names.len(), Ordering::Relaxed);
        Command(under_way, name)
    }
}

impl Drop for Command<'_> {
    fn drop(&mut self) {
        self.0.names().retain(|name| name != self.1);
    }
}

impl CircuitStore for Paced {
    type Changes = <MemoryStore as CircuitStore>::Changes;

    async fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        let _command = Command::begin(&self.under_way, name);
        let Some(time) = (self.pace)(name.as_str()) else { return pending().await };
        let reply = self.store.operate(name, settings, operation).await;
        self.clock.sleep(millis(time)).await;
        reply
    }

    async fn changes(&self, namespace: &Namespace) -> Result<Self::Changes, StoreError> {
        self.store.changes(namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        self.store.list(namespace).await
    }
}

/// A process with circuits on such a store.
struct Process {
    circuits: Circuits<Paced>,
    under_way: Arc<UnderWay>,
}

impl Process {
    fn new(scene: &Scene, pace: impl Fn(&str) -> Option<u64> + Send + Sync + 'static) -> Self {
        let under_way = Arc::<UnderWay>::default();
        let store = Paced {
            store: scene.store.clone(),
            clock: scene.executor.clock(),
            pace: Box::new(pace),
            under_way: Arc::clone(&under_way),
        };
        let circuits = Circuits::builder(store, scene.executor.runtime()).namespace("test").build().unwrap();
        Process { circuits, under_way }
    }

    fn share(&self, scene: &Scene, label: &str) -> Breaker {
        let breaker = Breaker::builder_on(scene.executor.clock(), label).settings(scene.settings);
        self.circuits.share(breaker).unwrap()
    }
}

/// The failures that the store knows of, by the names of their circuits.
fn failures(scene: &mut Scene) -> Vec<(Name, u64)> {
    let store = scene.store.clone();
    let list = scene.executor.block_on(async move { store.list(&Namespace::new("test").unwrap()).await });
    list.unwrap().into_iter().map(|(name, row)| (name, row.counts.failures)).collect()
}

fn failures_of(scene: &mut Scene, label: &str) -> u64 {
    let all = failures(scene);
    all.iter().find(|(name, _)| &*name.label() == label).expect("it is known").1
}

fn fail_once(breakers: &[Breaker]) {
    for breaker in breakers {
        breaker.admit().unwrap().fail();
    }
}

fn is_connected(breaker: &Breaker) -> bool {
    breaker.status().is_connected.unwrap()
}

fn unless_locked(name: &str) -> Option<u64> {
    (!name.contains("locked")).then_some(0)
}

#[test]
fn a_row_that_is_locked_takes_the_store_from_no_other_circuit() {
    let mut scene = Scene::new();
    let process = Process::new(&scene, unless_locked);
    let (locked, free) = (process.share(&scene, "locked"), process.share(&scene, "free"));
    scene.advance(500);
    for _ in 0..100 {
        scene.advance(100);
        assert!(is_connected(&free));
        assert_eq!(process.circuits.sharing(&locked).unwrap().error, Some(StoreError::TIMED_OUT));
    }
}

#[test]
fn a_row_that_is_locked_holds_back_no_other_circuit() {
    let mut scene = Scene::new();
    scene.settings = Settings::over(millis(3_600_000)).failures(1_000_000);
    let process = Process::new(&scene, unless_locked);
    let (free, _locked) = (process.share(&scene, "free"), process.share(&scene, "locked"));
    scene.executor.run_until_idle();
    for count in 1..100 {
        free.admit().unwrap().fail();
        scene.advance(100);
        assert_eq!(failures_of(&mut scene, "free"), count);
    }
}

#[test]
fn rows_that_are_locked_take_the_store_from_none_that_is_answered() {
    let mut scene = Scene::new();
    scene.settings = Settings::over(millis(3_600_000)).failures(1_000_000);
    let process = Process::new(&scene, unless_locked);
    let _locked = [1, 2, 3].map(|number| process.share(&scene, &format!("locked-{number}")));
    let free = process.share(&scene, "free");
    for step in 0..140 {
        // The first connection is lost to those that come first. A next one begins with the others.
        assert!(step < 40 || is_connected(&free), "{step}");
        free.admit().unwrap().fail();
        scene.advance(100);
    }
}

#[test]
fn the_last_outcomes_for_a_row_that_is_locked_hold_back_no_other_circuit() {
    let mut scene = Scene::new();
    scene.settings = Settings::over(millis(3_600_000)).failures(1_000_000);
    let is_locked = Arc::new(AtomicBool::new(false));
    let locks = Arc::clone(&is_locked);
    let pace = move |name: &str| (unless_locked(name).is_some() || !locks.load(Ordering::Relaxed)).then_some(0);
    let process = Process::new(&scene, pace);
    let (free, locked) = (process.share(&scene, "free"), process.share(&scene, "locked"));
    scene.executor.run_until_idle();
    is_locked.store(true, Ordering::Relaxed);
    locked.admit().unwrap().fail();
    drop(locked);
    for count in 1..10 {
        free.admit().unwrap().fail();
        scene.advance(100);
        assert_eq!(failures_of(&mut scene, "free"), count);
        assert!(is_connected(&free));
    }
}

#[test]
fn commands_of_different_circuits_do_not_wait_for_each_other() {
    let mut scene = Scene::new();
    let process = Process::new(&scene, |_| Some(20));
    let breakers: Vec<_> = (0..100).map(|number| process.share(&scene, &format!("circuit-{number}"))).collect();
    scene.advance(1_000);
    assert!(breakers.iter().all(is_connected));
    for count in 1..=2 {
        fail_once(&breakers);
        scene.advance(100);
        // Seven times 16 commands, one after the other.
        scene.advance(6 * 20);
        let failures = failures(&mut scene);
        assert_eq!(failures.len(), 100);
        assert!(failures.iter().all(|(_, failures)| *failures == count), "{failures:?}");
    }
    assert_eq!(process.under_way.most.load(Ordering::Relaxed), MOST_COMMANDS);
}

#[test]
fn no_circuit_has_to_wait_for_those_that_always_have_work() {
    let mut scene = Scene::new();
    scene.settings = Settings::over(millis(3_600_000)).failures(1_000_000);
    let process = Process::new(&scene, |_| Some(150));
    let breakers: Vec<_> = (0..40).map(|number| process.share(&scene, &format!("circuit-{number}"))).collect();
    scene.advance(1_000);
    // Each has the next report to send before the answer to its last one.
    for _ in 0..100 {
        fail_once(&breakers);
        scene.advance(10);
    }
    // Each has its turn in every third round.
    let failures = failures(&mut scene);
    assert!(failures.len() == 40 && failures.iter().all(|(_, failures)| *failures >= 30), "{failures:?}");
}

#[test]
fn many_breakers_that_are_dropped_with_their_circuits_leave_their_outcomes() {
    let mut scene = Scene::new();
    let process = Process::new(&scene, |_| Some(20));
    let breakers: Vec<_> = (0..40).map(|number| process.share(&scene, &format!("circuit-{number}"))).collect();
    scene.advance(1_000);
    fail_once(&breakers);
    let under_way = Arc::clone(&process.under_way);
    drop((process, breakers));
    scene.advance(60);
    assert!(failures(&mut scene).iter().all(|(_, failures)| *failures == 1));
    assert_eq!(under_way.count(), 0);
    assert_eq!(Arc::strong_count(&under_way), 1, "the task has ended");
}

#[test]
fn the_task_does_not_try_all_that_is_left_where_the_store_is_silent() {
    let mut scene = Scene::new();
    let process = Process::new(&scene, |_| Some(0));
    let breakers: Vec<_> = (0..40).map(|number| process.share(&scene, &format!("circuit-{number}"))).collect();
    scene.advance(1_000);
    fail_once(&breakers);
    scene.store.stall(true);
    let under_way = Arc::clone(&process.under_way);
    drop((process, breakers));
    scene.advance(500);
    assert_eq!(Arc::strong_count(&under_way), 1, "the task has ended");
}

#[test]
fn an_answer_that_a_notice_has_overtaken_changes_nothing() {
    let mut scene = Scene::new();
    let (other, process) = (scene.process(), Process::new(&scene, |_| Some(20)));
    let breaker = process.share(&scene, "payments");
    scene.advance(1_000);
    let transitions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&transitions);
    breaker.add_transition_handler(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    breaker.admit().unwrap().fail();
    scene.advance(100);
    assert_eq!(process.under_way.count(), 1);
    other.breaker.force_open();
    scene.executor.run_until_idle();
    scene.advance(20);
    assert_eq!((breaker.health(), transitions.load(Ordering::Relaxed)), (Health::Isolated, 1));
    scene.advance(60_000);
    assert_eq!(transitions.load(Ordering::Relaxed), 1);
}

#[test]
fn an_answer_after_the_store_was_lost_does_not_bring_it_back() {
    let mut scene = Scene::new();
    let process = Process::new(&scene, |_| Some(20));
    let breaker = process.share(&scene, "payments");
    scene.advance(1_000);
    breaker.admit().unwrap().fail();
    scene.advance(100);
    assert_eq!(process.under_way.count(), 1);
    scene.store.stop();
    for _ in 0..20 {
        scene.advance(10);
        assert!(!is_connected(&breaker));
    }
}

#[test]
fn commands_that_are_under_way_when_the_store_is_lost_are_told_again() {
    let mut scene = Scene::new();
    let process = Process::new(&scene, |_| Some(20));
    let breakers: Vec<_> = (0..20).map(|number| process.share(&scene, &format!("circuit-{number}"))).collect();
    scene.advance(1_000);
    scene.store.stall(true);
    breakers.iter().for_each(Breaker::force_open);
    scene.executor.run_until_idle();
    assert_eq!(process.under_way.count(), MOST_COMMANDS);
    scene.store.cut();
    scene.store.stall(false);
    scene.advance(2_000);
    let store = scene.store.clone();
    let list = scene.executor.block_on(async move { store.list(&Namespace::new("test").unwrap()).await }).unwrap();
    assert!(list.len() == 20 && list.iter().all(|(_, row)| row.is_forced), "{list:?}");
    assert!(breakers.iter().all(is_connected));
}
