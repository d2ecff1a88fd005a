//! The steps of a gate's scripts, and the inputs that they mean in a world.
//!
//! The fuzz target makes them of bytes.

use super::ask::Ask;
use super::model::{Id, Limited};
use super::restricted::Restricted;
use super::world::{Input, Start, World};
use crate::script::Machine;

/// One step of a script. Numbers of tickets and grants are modulo those that exist.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Step {
    /// A call asks for a slot.
    Enter(RawRequest),
    /// Many calls that may not wait, and release immediately if admitted: enough to fill the counts
    /// of a word.
    Crowd(u8),
    /// A ticket is redeemed, if it is settled.
    Collect(u8),
    /// A ticket is cancelled.
    Cancel(u8),
    /// A grant is given back.
    Release(u8),
    /// A grant is given back, and the gate gets the time.
    Finish(u8),
    /// A grant is given back unused.
    Abandon(u8),
    /// Units are split off a grant.
    Split(u8, u8),
    /// A grant is merged into another.
    Merge(u8, u8),
    /// A grant is written off.
    WriteOff(u8),
    /// The capacity changes.
    Resize(u8),
    /// The limits change, to others or to invalid ones.
    Reconfigure(RawLimits),
    /// The gate closes.
    Close,
    /// The gate is paused.
    Pause,
    /// A pause ends.
    Resume,
    /// The gate is restricted to so many units, and to a call of this cost alone; others fetch for
    /// so many nanoseconds, up to so many units.
    Restrict(u8, u8, Option<(u8, u8)>),
    /// No restriction holds any more.
    Unrestrict,
    /// This many nanoseconds pass.
    Tick(u8),
    /// The clock is set back by this many nanoseconds, but not below zero.
    TickBack(u8),
    /// The gate gets the time.
    Advance,
    /// The slots that were handed over this many nanoseconds ago and are not collected are taken
    /// back.
    TakeBack(u8),
}

/// Changes of limits. A limit that is `None` stays.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct RawLimits {
    /// The capacity; zero is invalid.
    pub capacity: Option<u8>,
    /// The waiting room.
    pub waiting_room: Option<u8>,
    /// The bound on the units that are waited for, or none; zero is invalid.
    pub waiting_room_units: Option<Option<u8>>,
    /// The limit on the wait in nanoseconds, or none; zero is invalid.
    pub wait_limit: Option<Option<u8>>,
}

/// The request of a call, in numbers that have a meaning in every state.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct RawRequest {
    /// The cost, modulo capacity + 2: from zero to one more than the capacity, both invalid.
    pub cost: u8,
    /// Whether the call may wait.
    pub may_queue: bool,
    /// Whether it waits for a higher restriction.
    pub fetches: bool,
    /// The limit on its wait, in nanoseconds.
    pub within: Option<u8>,
    /// Its deadline, in nanoseconds from 3 ns before now.
    pub before: Option<u8>,
    /// Whether that is the deadline of the whole call.
    pub is_whole: bool,
    /// What its wait leaves to the operation.
    pub leaving: Option<u8>,
}

/// The number of calls for each unit of a crowd.
const CROWD: usize = 24;

/// The length of the history beyond which no crowd enters, because the model counts all of it at
/// each check.
const ENOUGH: usize = 30_000;

/// How far in the past a deadline may be, in nanoseconds.
const GRACE: u64 = 3;

/// A world that plays scripts, and knows how much of its history was checked.
#[derive(Debug)]
pub struct ScriptedWorld {
    world: World,
    checked: usize,
}

impl Machine for ScriptedWorld {
    type Start = Start;
    type Step = Step;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        ScriptedWorld { world: World::new(start), checked: 0 }
    }

    fn inputs(&self, step: &Step) -> Vec<Input> {
        let World { tickets, grants, .. } = &self.world;
        match *step {
            Step::Enter(raw) => vec![Input::Enter(self.ask(raw))],
            Step::Crowd(size) => self.crowd(usize::from(size) * CROWD),
            Step::Collect(index) => one_of(tickets.keys(), index).map(Input::Collect).into_iter().collect(),
            Step::Cancel(index) => one_of(tickets.keys(), index).map(Input::Cancel).into_iter().collect(),
            Step::Release(index) => one_of(grants.keys(), index).map(Input::Release).into_iter().collect(),
            Step::Finish(index) => one_of(grants.keys(), index).map(Input::Finish).into_iter().collect(),
            Step::Abandon(index) => one_of(grants.keys(), index).map(Input::Abandon).into_iter().collect(),
            Step::Split(..) | Step::Merge(..) | Step::WriteOff(_) if self.world.calls.is_none() => vec![],
            Step::Split(index, units) => {
                one_of(grants.keys(), index).map(|id| Input::Split(id, units.into())).into_iter().collect()
            }
            Step::Merge(index, other) => {
                let pair = one_of(grants.keys(), index).zip(one_of(grants.keys(), other));
                pair.filter(|(id, other)| id != other).map(|(id, other)| Input::Merge(id, other)).into_iter().collect()
            }
            Step::WriteOff(index) => one_of(grants.keys(), index).map(Input::WriteOff).into_iter().collect(),
            Step::Resize(capacity) => vec![Input::Resize(capacity.into())],
            Step::Reconfigure(raw) => vec![Input::Reconfigure(self.limits(raw))],
            Step::Close => vec![Input::Close],
            Step::Pause => vec![Input::Pause],
            Step::Resume => vec![Input::Resume],
            Step::Restrict(units, alone, fetch) => {
                let fetch = fetch.map(|(wait, up_to)| (u64::from(wait).max(1), up_to.into()));
                vec![Input::Restrict(Some(Restricted { units: units.into(), alone: alone.into(), fetch }))]
            }
            Step::Unrestrict => vec![Input::Restrict(None)],
            Step::Tick(times) => vec![Input::Tick; times.into()],
            Step::TickBack(times) => vec![Input::TickBack; self.possible_ticks_back(times.into())],
            Step::Advance => vec![Input::Advance],
            Step::TakeBack(age) => self.world.calls.iter().map(|_| Input::TakeBack(age.into())).collect(),
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

impl ScriptedWorld {
    fn ask(&self, raw: RawRequest) -> Ask {
        let RawRequest { cost, may_queue, fetches, within, before, is_whole, leaving } = raw;
        let World { now, model, .. } = &self.world;
        let until = before.map(|before| (now + u64::from(before)).saturating_sub(GRACE));
        let (before, deadline) = if is_whole && self.world.deadlines { (None, until) } else { (until, None) };
        let (within, leaving) = (within.map(u64::from), leaving.map(u64::from));
        let cost = usize::from(cost) % (model.limits.capacity + 2);
        Ask { cost, may_queue, fetches, within, before, deadline, leaving }
    }

    fn limits(&self, raw: RawLimits) -> Limited {
        let now = self.world.model.limits;
        Limited {
            capacity: raw.capacity.map_or(now.capacity, usize::from),
            waiting_room: raw.waiting_room.map_or(now.waiting_room, usize::from),
            waiting_room_units: raw.waiting_room_units.map_or(now.waiting_room_units, |units| units.map(usize::from)),
            wait_limit: raw.wait_limit.map_or(now.wait_limit, |limit| limit.map(u64::from)),
        }
    }

    fn crowd(&self, size: usize) -> Vec<Input> {
        let World { model, came, .. } = &self.world;
        if model.history.len() > ENOUGH {
            return vec![];
        }
        let enter = Input::Enter(Ask { may_queue: false, ..Ask::ONE });
        if model.closed || model.free() == 0 || !model.queue.is_empty() {
            return vec![enter; size];
        }
        (*came..came + size).flat_map(|id| [enter, Input::Release(id)]).collect()
    }

    /// Limits the ticks back, because the clock cannot go below zero.
    fn possible_ticks_back(&self, times: usize) -> usize {
        times.min(usize::try_from(self.world.now).unwrap_or(times))
    }
}

fn one_of<'a>(mut ids: impl ExactSizeIterator<Item = &'a Id>, index: u8) -> Option<Id> {
    let place = usize::from(index).checked_rem(ids.len())?;
    ids.nth(place).copied()
}
