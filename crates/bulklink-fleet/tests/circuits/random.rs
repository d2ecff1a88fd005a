//! Long random scripts of calls, faults and processes that come and go.

use std::cell::Cell;
use std::rc::Rc;

use bulklink::testing::Task;
use bulklink_breaker::{Settings, State};
use fastrand::Rng;

use crate::faults::row;
use crate::scene::{Process, Scene, millis};

const SCRIPTS: u64 = 300;
const STEPS: usize = 150;
const PROBES: u32 = 2;

struct World {
    scene: Scene,
    rng: Rng,
    processes: Vec<Process>,
    calls: Vec<Task<()>>,
    /// Probes with a running operation, and the most that ever ran.
    running: Rc<Cell<u32>>,
    most: Rc<Cell<u32>>,
    /// Calls that have ended by themselves.
    ended: Rc<Cell<u64>>,
}

/// A probe with a running operation.
struct Running(Rc<Cell<u32>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl World {
    fn new(seed: u64, settings: Settings) -> Self {
        let mut scene = Scene::new();
        scene.settings = settings;
        let processes = vec![scene.process(), scene.process(), scene.process()];
        let (running, most, ended) = <(Rc<Cell<u32>>, Rc<Cell<u32>>, Rc<Cell<u64>>)>::default();
        World { scene, rng: Rng::with_seed(seed), processes, calls: vec![], running, most, ended }
    }

    fn call(&mut self, time: u64, is_good: bool) {
        let process = &self.processes[self.rng.usize(..self.processes.len())];
        let (breaker, clock) = (process.breaker.clone(), self.scene.executor.clock());
        let (running, most, ended) = (Rc::clone(&self.running), Rc::clone(&self.most), Rc::clone(&self.ended));
        let task = self.scene.executor.spawn(async move {
            let Ok(call) = breaker.ask().await else { return };
            let guard = call.is_probe().then(|| {
                running.set(running.get() + 1);
                most.set(most.get().max(running.get()));
                Running(running)
            });
            clock.sleep(millis(time)).await;
            drop(guard);
            ended.set(ended.get() + 1);
            if is_good { call.succeed() } else { call.fail() }
        });
        self.calls.push(task);
    }

    /// One step without a fault.
    fn step(&mut self) {
        match self.rng.u32(..100) {
            0..50 => {
                // Shorter than the cool-down, so that a probe has ended before the next episode.
                let (time, is_good) = (self.rng.u64(..900) * self.rng.u64(..2), self.rng.u32(..10) < 6);
                self.call(time, is_good);
            }
            50..55 if !self.calls.is_empty() => {
                let place = self.rng.usize(..self.calls.len());
                self.calls.swap_remove(place).cancel();
            }
            55..60 => {
                let place = self.rng.usize(..self.processes.len());
                let old = self.processes.swap_remove(place);
                drop(old);
                let new = self.scene.process();
                self.processes.push(new);
            }
            60..80 => self.scene.executor.run_until_idle(),
            _ => {
                let time = [1, 10, 100, 1_000, 3_000][self.rng.usize(..5)];
                self.scene.advance(time);
            }
        }
    }

    fn fault(&mut self) {
        let (store, is_on) = (self.scene.store.clone(), self.rng.u32(..3) == 0);
        match self.rng.u32(..10) {
            0 => store.stop(),
            1..=3 => store.start(),
            4 => store.cut(),
            5 => store.stall(is_on),
            6 => store.drop_answers(is_on),
            7 => store.drop_notices(is_on),
            8 if is_on => store.forget(),
            _ => {
                let process = &self.processes[self.rng.usize(..self.processes.len())];
                if self.rng.bool() { process.breaker.force_closed() } else { process.breaker.force_open() }
            }
        }
    }

    /// Ends all faults and calls, and checks that nothing of them is left.
    fn end(mut self, seed: u64) {
        let store = self.scene.store.clone();
        store.start();
        store.stall(false);
        store.drop_answers(false);
        store.drop_notices(false);
        self.scene.advance(20_000);
        assert!(self.calls.iter().all(Task::is_finished), "{seed}: a call has not ended");
        assert_eq!(self.running.get(), 0);
        let row = row(&mut self.scene);
        for process in &self.processes {
            let (view, sharing) = (process.breaker.status().circuit, process.sharing());
            assert!(sharing.is_connected, "{seed}: {sharing:?}");
            assert_eq!((view.state, view.is_forced), (row.state, row.is_forced), "{seed}: {row:?}");
        }
        assert_eq!(row.probes, 0, "{seed}: a place is left");
        if row.is_forced {
            self.processes[0].breaker.force_closed();
        }
        // One call after the other succeeds, until the circuit is closed for all.
        for _ in 0..4 {
            self.call(0, true);
            self.scene.executor.run_until_idle();
        }
        let row = crate::faults::row(&mut self.scene);
        assert_eq!(row.state, State::Closed, "{seed}");
    }
}

fn settings() -> Settings {
    let settings = Settings::consecutive(3).cool_down(millis(1_000)).probe_lease(millis(2_000));
    settings.probes(PROBES).close_after(2)
}

#[test]
fn after_any_faults_all_processes_agree_with_the_store_and_nothing_is_left() {
    for seed in 0..SCRIPTS {
        let mut world = World::new(seed, settings());
        for _ in 0..STEPS {
            if world.rng.u32(..6) == 0 {
                world.fault();
            } else {
                world.step();
            }
        }
        world.end(seed);
    }
}

#[test]
fn with_a_good_link_no_more_probes_run_than_may_and_each_gives_back_its_place() {
    let mut most = 0;
    for seed in 0..SCRIPTS {
        let mut world = World::new(seed, settings());
        for _ in 0..STEPS {
            world.step();
            assert!(world.running.get() <= PROBES, "{seed}");
        }
        most = most.max(world.most.get());
        world.calls.drain(..).for_each(|call| call.cancel());
        world.scene.executor.run_until_idle();
        assert_eq!(row(&mut world.scene).probes, 0, "{seed}: a place is left");
        world.end(seed);
    }
    assert_eq!(most, PROBES);
}

#[test]
fn with_a_good_link_each_outcome_is_counted_once() {
    for seed in 0..SCRIPTS {
        let mut world = World::new(seed, Settings::over(millis(3_600_000)).failures(1_000_000));
        for _ in 0..STEPS {
            world.step();
        }
        world.scene.advance(2_000);
        let counts = row(&mut world.scene).counts;
        assert_eq!(counts.calls, world.ended.get(), "{seed}");
    }
}
