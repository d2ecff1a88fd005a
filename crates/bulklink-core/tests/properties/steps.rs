//! The steps of a gate's scripts, and what they come to in a world. The fuzz target makes them of bytes.

use crate::model::{Ask, Id};
use crate::script::Machine;
use crate::world::{Input, Start, World};

/// Who is meant is counted among those who are there, over and over.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub enum Step {
    Enter(Wish),
    /// Many come who will not wait, and leave at once if they got in: enough to fill the counts of a word.
    Crowd(u8),
    Collect(u8),
    Cancel(u8),
    Release(u8),
    Abandon(u8),
    Resize(u8),
    Close,
    Tick(u8),
    TickBack(u8),
    Advance,
}

/// What somebody asks for.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub struct Wish {
    /// From nothing to one more than there is, over and over.
    pub cost: u8,
    pub may_queue: bool,
    pub within: Option<u8>,
    /// Counted from a little while ago.
    pub before: Option<u8>,
}

/// As many come in a crowd for each that is written.
const CROWD: usize = 24;

/// When so much has happened no crowds come any more, as the model recounts all of it.
const ENOUGH: usize = 30_000;

const A_WHILE: u64 = 3;

/// A world that knows what of its history was checked.
pub struct Gate {
    world: World,
    checked: usize,
}

impl Machine for Gate {
    type Start = Start;
    type Step = Step;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        Gate { world: World::new(start), checked: 0 }
    }

    fn inputs(&self, step: &Step) -> Vec<Input> {
        let World { tickets, grants, .. } = &self.world;
        match *step {
            Step::Enter(wish) => vec![Input::Enter(self.ask(wish))],
            Step::Crowd(size) => self.crowd(usize::from(size) * CROWD),
            Step::Collect(who) => one_of(tickets.keys(), who).map(Input::Collect).into_iter().collect(),
            Step::Cancel(who) => one_of(tickets.keys(), who).map(Input::Cancel).into_iter().collect(),
            Step::Release(who) => one_of(grants.keys(), who).map(Input::Release).into_iter().collect(),
            Step::Abandon(who) => one_of(grants.keys(), who).map(Input::Abandon).into_iter().collect(),
            Step::Resize(capacity) => vec![Input::Resize(capacity.into())],
            Step::Close => vec![Input::Close],
            Step::Tick(times) => vec![Input::Tick; times.into()],
            Step::TickBack(times) => vec![Input::TickBack; self.possible_ticks_back(times.into())],
            Step::Advance => vec![Input::Advance],
        }
    }

    fn give(&mut self, input: Input) {
        self.world.apply(input);
    }

    fn check(&mut self) {
        self.world.check(self.checked);
        self.checked = self.world.model.history.len();
    }
}

impl Gate {
    fn ask(&self, wish: Wish) -> Ask {
        let Wish { cost, may_queue, within, before } = wish;
        let World { now, model, .. } = &self.world;
        let before = before.map(|before| (now + u64::from(before)).saturating_sub(A_WHILE));
        Ask { cost: usize::from(cost) % (model.capacity + 2), may_queue, within: within.map(u64::from), before }
    }

    fn crowd(&self, size: usize) -> Vec<Input> {
        let World { model, came, .. } = &self.world;
        if model.history.len() > ENOUGH {
            return vec![];
        }
        let enter = Input::Enter(Ask { cost: 1, may_queue: false, within: None, before: None });
        if model.closed || model.free() == 0 || !model.line.is_empty() {
            return vec![enter; size];
        }
        (*came..came + size).flat_map(|id| [enter, Input::Release(id)]).collect()
    }

    /// No clock goes below zero.
    fn possible_ticks_back(&self, times: usize) -> usize {
        times.min(usize::try_from(self.world.now).unwrap_or(times))
    }
}

fn one_of<'a>(mut ids: impl ExactSizeIterator<Item = &'a Id>, who: u8) -> Option<Id> {
    let place = usize::from(who).checked_rem(ids.len())?;
    ids.nth(place).copied()
}
