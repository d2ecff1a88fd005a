//! Random worlds: the limit holds, and all recovers.

use bulklink::OwnedSlot;
use bulklink::testing::Task;
use proptest::prelude::*;

use crate::scene::{Call, Process, Scene};

/// A slot, and how often its process had lost its units before.
type Held = (OwnedSlot, u64);

struct World {
    scene: Scene,
    processes: Vec<Process>,
    held: Vec<Vec<Held>>,
    waiting: Vec<Vec<Call>>,
}

impl World {
    fn new(count: usize) -> Self {
        let mut scene = Scene::new();
        let processes: Vec<_> = (0..count).map(|_| scene.process()).collect();
        let (held, waiting) = (processes.iter().map(|_| vec![]).collect(), processes.iter().map(|_| vec![]).collect());
        Self { scene, processes, held, waiting }
    }

    /// Does one step, and checks the limit.
    fn step(&mut self, action: u8, process: usize, choice: usize) {
        let process = process % self.processes.len();
        match action {
            0..6 => {
                let call = self.scene.call(&self.processes[process]);
                self.waiting[process].push(call);
            }
            6..10 if !self.held[process].is_empty() => {
                let place = choice % self.held[process].len();
                drop(self.held[process].swap_remove(place));
            }
            10 => drop(self.waiting[process].pop().map(|call| call.cancel())),
            11 => self.scene.store.cut(),
            12 => self.scene.store.stop(),
            13 => self.scene.store.start(),
            14 => self.scene.store.drop_answers(choice % 2 == 0),
            15 => self.scene.store.drop_notices(choice % 2 == 0),
            16 => self.scene.store.stall(choice % 2 == 0),
            // Not of a server that runs on: that is not noticed before a process speaks that has
            // heard of the data within its lease.
            17 => {
                self.scene.store.stop();
                self.scene.store.forget();
                self.scene.store.start();
            }
            18 => self.scene.advance(1_000 * (choice as u64 % 20)),
            _ => self.scene.advance(choice as u64 % 50),
        }
        self.scene.executor.run_until_idle();
        self.take();
        let used: usize = self.held.iter().zip(&self.processes).map(|(held, process)| kept(held, process)).sum();
        assert!(used <= 4, "{used} in use");
    }

    /// Takes the slots of calls that are over.
    fn take(&mut self) {
        for (process, waiting) in self.waiting.iter_mut().enumerate() {
            let share = &self.processes[process].share;
            let (over, rest): (Vec<_>, _) = std::mem::take(waiting).into_iter().partition(Task::is_finished);
            *waiting = rest;
            let slots = over.iter().filter_map(|call| call.output()?.ok());
            self.held[process].extend(slots.map(|slot| (slot, share.status().lost)));
        }
    }
}

/// Returns how many slots are those of units that are still the process' own.
fn kept(held: &[Held], process: &Process) -> usize {
    held.iter().filter(|(_, lost)| *lost == process.share.status().lost).count()
}

proptest! {
    #![proptest_config(bulklink_model::runner::config())]

    /// Whatever the store does, no more than the limit is in use, but for what goes on after its
    /// lease; and afterwards all is as before.
    #[test]
    fn no_more_than_the_limit_is_in_use_and_all_recovers(
        steps in prop::collection::vec((0_u8..30, 0_usize..3, 0_usize..1_000), 1..200),
    ) {
        let mut world = World::new(3);
        for (action, process, choice) in steps {
            world.step(action, process, choice);
        }
        let World { mut scene, processes, held, waiting } = world;
        drop((held, waiting));
        scene.store.start();
        scene.store.stall(false);
        scene.store.drop_answers(false);
        scene.store.drop_notices(false);
        scene.advance(30_000);
        for process in &processes {
            let calls: Vec<_> = (0..4).map(|_| scene.call(process)).collect();
            scene.advance(5_000);
            prop_assert!(calls.iter().all(Task::is_finished), "{:?}", process.share.status());
            drop(calls);
            scene.advance(100);
        }
    }
}
