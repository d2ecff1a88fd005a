//! Random worlds: the limit holds, and all recovers.

use std::rc::Rc;

use bulklink::testing::Task;
use bulklink::{OwnedSlot, Rejection};
use proptest::prelude::*;

use crate::scene::{Process, Scene};

/// Some of the actions.
const CALL: u8 = 0;
const RELEASE: u8 = 6;
const STALL: u8 = 16;
const SECONDS: u8 = 18;

/// A slot, and how often its process had lost its units when it was admitted.
type Held = (OwnedSlot, u64);

struct World {
    scene: Scene,
    processes: Vec<Rc<Process>>,
    held: Vec<Vec<Held>>,
    waiting: Vec<Vec<Task<Result<Held, Rejection>>>>,
}

impl World {
    fn new(count: usize) -> Self {
        let mut scene = Scene::new();
        let processes: Vec<_> = (0..count).map(|_| Rc::new(scene.process())).collect();
        let (held, waiting) = (processes.iter().map(|_| vec![]).collect(), processes.iter().map(|_| vec![]).collect());
        Self { scene, processes, held, waiting }
    }

    /// Does one step, and checks the limit.
    fn step(&mut self, action: u8, process: usize, choice: usize) {
        let process = process % self.processes.len();
        match action {
            0..6 => {
                let caller = Rc::clone(&self.processes[process]);
                // Noted by the call itself: a step can be longer than a lease.
                let call = async move {
                    let slot = caller.bulkhead.owned().slot().await?;
                    Ok((slot, caller.share.status().lost))
                };
                self.waiting[process].push(self.scene.executor.spawn(call));
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
        for (waiting, held) in self.waiting.iter_mut().zip(&mut self.held) {
            let (over, rest): (Vec<_>, _) = std::mem::take(waiting).into_iter().partition(Task::is_finished);
            *waiting = rest;
            held.extend(over.iter().filter_map(|call| call.output()?.ok()));
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

/// A call can be admitted and lose its units within one step: then it is beyond the limit.
#[test]
fn a_call_that_is_admitted_in_the_step_in_which_its_lease_ends_has_lost_its_unit() {
    let mut world = World::new(2);
    for process in [0, 0, 0, 0, 0, 0, 1] {
        world.step(CALL, process, 0);
    }
    // A unit becomes idle, and is kept for the other process. The statement that gives it back has
    // to wait for the answer to the one before, which does not come.
    world.step(STALL, 0, 0);
    world.step(SECONDS, 0, 1);
    world.step(RELEASE, 0, 0);
    assert_eq!((world.held[0].len(), world.waiting[0].len()), (3, 2));
    // Without a connection no unit can be given back, so a call is admitted; then the lease ends.
    world.step(SECONDS, 0, 12);
    let process = &world.processes[0];
    assert_eq!((world.held[0].len(), process.share.status().lost), (4, 1));
    assert_eq!(kept(&world.held[0], process), 0);
}
