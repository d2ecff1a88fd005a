//! The steps of scripts for partitions, and the inputs that they mean in a world.

use super::world::{Input, Start, World};
use crate::script::Machine;
use crate::search::{self, World as _};

/// One step of a script. Numbers of calls and partitions are modulo those that exist.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A call for this key.
    Enter(usize),
    /// Asks whether a new partition may be created, and creates none.
    Ask,
    /// A call ends.
    End(usize),
    /// A partition is discarded, if it is idle.
    Discard(usize),
    /// Partitions that were idle for the timeout are evicted.
    CleanUp,
    /// The partitions close.
    Close,
    /// Takes the partitions that remain after the close.
    TakeDrained,
    /// This many nanoseconds pass.
    Tick(usize),
    /// The clock is set back by a nanosecond, but not below zero.
    TickBack,
}

impl Machine for World {
    type Start = Start;
    type Step = Step;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        search::World::begin(start)
    }

    fn inputs(&self, step: &Step) -> Vec<Input> {
        match *step {
            Step::Enter(key) => vec![Input::Enter(key)],
            Step::Ask => vec![Input::Ask],
            Step::End(index) => self.one_of(index, |input| matches!(input, Input::End(_))),
            Step::Discard(index) => self.one_of(index, |input| matches!(input, Input::Discard(_))),
            Step::CleanUp => vec![Input::CleanUp],
            Step::Close => vec![Input::Close],
            Step::TakeDrained => vec![Input::TakeDrained],
            Step::Tick(times) => vec![Input::Tick; times],
            Step::TickBack => self.one_of(0, |input| matches!(input, Input::TickBack)),
        }
    }

    fn give(&mut self, input: Input) {
        self.replay(input);
    }

    fn check(&mut self) {
        self.check_all();
    }
}

impl World {
    /// Returns one input of a kind, out of those that the search would try next.
    fn one_of(&self, index: usize, is_of_this_kind: fn(&Input) -> bool) -> Vec<Input> {
        let options: Vec<_> = self.options().into_iter().filter(is_of_this_kind).collect();
        let place = index.checked_rem(options.len());
        place.map(|place| options[place]).into_iter().collect()
    }
}
