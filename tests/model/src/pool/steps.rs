//! The steps of scripts for a pool, and the inputs that they mean in a world.

use super::lines::Driven;
use super::model::{Cost, Line, Time};
use super::start::Start;
use super::world::{Input, World};
use crate::script::Machine;

/// One step of a script. Numbers of keys, calls, shares and limits are modulo those that exist.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A call comes.
    Enter {
        /// The number of its key.
        key: usize,
        /// The number of its class.
        class: usize,
        /// What it costs, at most as much as is possible.
        cost: Cost,
        /// Whether it may wait.
        may_queue: bool,
        /// How long it may wait.
        within: Option<Time>,
    },
    /// An operation ends.
    Release(usize),
    /// A waiter is withdrawn.
    Cancel(usize),
    /// A key gets another share.
    Share(usize, usize),
    /// A key is paused, or its pause ends.
    Pause(usize),
    /// A line of a key admits nothing from now on, or calls again.
    HoldUp(usize, usize),
    /// The pool gets other limits.
    Limits(usize),
    /// The gate of a line goes, if it is idle.
    Vacate(usize, usize),
    /// The pool gets other limits, and a key another share with them, which is added if it was
    /// removed.
    Change(usize, usize, usize),
    /// A key is removed, if it is idle.
    Remove(usize),
    /// A key that was removed is added again, with the share that it had at first.
    Add(usize),
    /// This many nanoseconds pass.
    Tick(usize),
}

impl<L: Driven> Machine for World<L> {
    type Start = Start;
    type Step = Step;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        World::new(start)
    }

    fn inputs(&self, step: &Step) -> Vec<Input> {
        let input = match *step {
            Step::Enter { key, class, cost, may_queue, within } => self.enter_step(key, class, cost, may_queue, within),
            Step::Release(index) => pick(&self.model.running, index).map(|operation| Input::Release(operation.call)),
            Step::Cancel(index) => pick(&self.model.waiting, index).map(|waiter| Input::Cancel(waiter.call)),
            Step::Share(key, index) => self.present(key).and_then(|key| {
                let share = pick(&self.start.other_shares, index)?;
                Some(Input::Share(key, *share))
            }),
            Step::Pause(key) => self.present(key).map(|key| {
                let mut share = self.model.shares[key];
                share.is_paused = !share.is_paused;
                Input::Share(key, share)
            }),
            Step::HoldUp(key, class) => self.present(key).filter(|_| L::HOLDS_UP).and_then(|key| {
                let class = *pick(&self.start.classes, class)?;
                Some(Input::HoldUp(Line { key, class }))
            }),
            Step::Limits(index) => Some(Input::Limits(index % self.start.limits.len())),
            Step::Vacate(key, class) => self.present(key).and_then(|key| {
                let line = Line { key, class: *pick(&self.start.classes, class)? };
                (!self.model.is_line_busy(line)).then_some(Input::Vacate(line))
            }),
            Step::Change(index, key, share) => pick(&self.start.other_shares, share)
                .map(|&share| Input::Change(index % self.start.limits.len(), key % self.keys.len(), share)),
            Step::Remove(key) => self.present(key).filter(|&key| !self.model.is_busy(key)).map(Input::Remove),
            Step::Add(index) => {
                let absent: Vec<_> = (0..self.keys.len()).filter(|&key| self.keys[key].is_none()).collect();
                pick(&absent, index).map(|&key| Input::Add(key, self.start.shares[key]))
            }
            Step::Tick(times) => return vec![Input::Tick; times],
        };
        input.into_iter().collect()
    }

    fn give(&mut self, input: Input) {
        self.apply(input);
    }

    fn check(&mut self) {
        self.check_all();
    }
}

impl<L: Driven> World<L> {
    fn enter_step(&self, key: usize, class: usize, cost: Cost, may_queue: bool, within: Option<Time>) -> Option<Input> {
        let key = self.present(key)?;
        let class = *pick(&self.start.classes, class)?;
        let (capacity, ceiling) = (self.model.limits.capacity, self.model.shares[key].ceiling);
        self.enter(Line { key, class }, cost.min(capacity).min(ceiling), may_queue, within)
    }

    /// Returns a key that is there.
    fn present(&self, index: usize) -> Option<usize> {
        let key = index % self.keys.len();
        self.keys[key].map(|_| key)
    }
}

fn pick<T>(items: &[T], index: usize) -> Option<&T> {
    items.get(index.checked_rem(items.len())?)
}
