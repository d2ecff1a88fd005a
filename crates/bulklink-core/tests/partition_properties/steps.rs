//! The steps of the scripts for partitions, and what they come to in a world.

use crate::script::Machine;
use crate::search::{self, World as _};
use crate::world::{Input, Start, World};

/// Who is meant is counted among those who are there, over and over.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Enter(usize),
    Ask,
    End(usize),
    Discard(usize),
    CleanUp,
    Close,
    TakeDrained,
    Tick(usize),
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
            Step::End(who) => self.one_of(who, |input| matches!(input, Input::End(_))),
            Step::Discard(who) => self.one_of(who, |input| matches!(input, Input::Discard(_))),
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
    /// Of the inputs that the search would try next, one of a kind.
    fn one_of(&self, who: usize, is_of_this_kind: fn(&Input) -> bool) -> Vec<Input> {
        let options: Vec<_> = self.options().into_iter().filter(is_of_this_kind).collect();
        let place = who.checked_rem(options.len());
        place.map(|place| options[place]).into_iter().collect()
    }
}
