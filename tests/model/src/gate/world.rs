//! A small world: a gate and its model side by side, which get the same inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use bulklink_core::plumbing::{self, Word};
use bulklink_core::{
    Answer, Calls, EventFilter, EventKind, Gate, Grant, Instant, InvalidArgument, Limits, Reason, Rejection, Request,
    Reserve, Restriction, Ticket,
};

use super::ask::{Ask, request};
use super::measured::BEGINNING;
use super::model::{Id, Limited, Model, Outcome, Time};
use super::restricted::Restricted;

/// An input to the gate and its model.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// A call asks for a slot.
    Enter(Ask),
    /// A ticket is redeemed, if it is settled.
    Collect(Id),
    /// A grant is given back.
    Release(Id),
    /// A grant is given back, and the gate gets the time.
    Finish(Id),
    /// A grant is given back unused.
    Abandon(Id),
    /// Units are split off a grant.
    Split(Id, usize),
    /// The second grant is merged into the first.
    Merge(Id, Id),
    /// A grant is written off.
    WriteOff(Id),
    /// A ticket is cancelled.
    Cancel(Id),
    /// The capacity changes.
    Resize(usize),
    /// The limits change.
    Reconfigure(Limited),
    /// The gate is paused.
    Pause,
    /// A pause ends.
    Resume,
    /// The gate is restricted, or no longer.
    Restrict(Option<Restricted>),
    /// The gate closes.
    Close,
    /// Time passes, without an input to the gate.
    Tick,
    /// The clock is set back, without an input to the gate.
    TickBack,
    /// The gate gets the time.
    Advance,
    /// The slots that were handed over this long ago and are not collected are taken back.
    TakeBack(Time),
}

/// The inputs that the search tries in some worlds only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extra {
    /// None.
    #[default]
    Nothing,
    /// Pauses.
    Pauses,
    /// Restrictions.
    Restrictions,
    /// Restrictions for which calls wait by themselves.
    Fetches,
    /// Changes of all limits.
    Limits,
    /// Grants that are split, merged and written off.
    Parts,
}

/// How a world begins.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a dimension of the search")]
pub struct Start {
    /// Capacity, waiting room and wait limit.
    pub limits: (usize, usize, Option<Time>),
    /// The bound on the units that are waited for; ignored without a waiting room.
    pub waiting_room_units: Option<usize>,
    /// Whether the gate measures waits that cannot expire.
    pub measures_waits: bool,
    /// Which events the gate keeps.
    pub observed: EventFilter,
    /// Whether inputs go through a published word wherever the word can decide.
    pub through_word: bool,
    /// The time that the gate keeps for the operations of calls with a deadline.
    pub reserve: Reserve,
    /// Whether calls can have a deadline; then the search tries that in place of a deadline for the
    /// admission.
    pub deadlines: bool,
    /// How long a slot may be not collected.
    pub collect_limit: Option<Time>,
    /// Whether holds are measured; not through a word.
    pub measures_holds: bool,
    /// Which of the rarer inputs the search tries here, in addition to the others.
    pub extra: Extra,
    /// Inputs that were given already, so that the search begins in a state where much can happen.
    pub prelude: Vec<Input>,
}

/// A gate and its model.
#[derive(Debug)]
pub struct World {
    pub(super) gate: Gate<Id>,
    pub(super) word: Option<Word>,
    pub(super) model: Model,
    pub(super) now: Time,
    /// In worlds where calls are accounted for by themselves.
    pub(super) calls: Option<Calls>,
    /// Whether calls can have a deadline.
    pub(super) deadlines: bool,
    /// The number of calls so far.
    pub(super) came: Id,
    pub(super) tickets: BTreeMap<Id, Ticket>,
    pub(super) grants: BTreeMap<Id, Grant>,
    pub(super) extra: Extra,
    /// The waiting room with which the gate was made.
    pub(super) first_room: u32,
    /// The units that each waiting call has asked for.
    pub(super) asked: BTreeMap<Id, usize>,
    /// The calls that were still waiting when their deadline came.
    pub(super) late: BTreeSet<Id>,
}

impl World {
    pub(super) fn new(start: &Start) -> Self {
        let (capacity, waiting_room, wait_limit) = start.limits;
        let waiting_room_units = start.waiting_room_units.filter(|_| waiting_room > 0);
        let limits = Limited { capacity, waiting_room, waiting_room_units, wait_limit };
        let mut gate = Gate::new(gate_limits(limits)).expect("the limits of a world are valid");
        gate.observe(start.observed);
        gate.measure_waits(start.measures_waits);
        let mut model = Model::new(limits, start.measures_waits, start.reserve);
        (model.measures_holds, model.collect_limit) = (start.measures_holds, start.collect_limit);
        model.busy_until = BEGINNING;
        let accounts =
            start.deadlines || start.measures_holds || start.collect_limit.is_some() || start.extra == Extra::Parts;
        let published = start.through_word.then(|| gate.publish());
        let mut world = World {
            gate,
            word: published,
            model,
            now: BEGINNING,
            calls: accounts.then(|| calls(start)),
            deadlines: start.deadlines,
            came: 0,
            tickets: BTreeMap::new(),
            grants: BTreeMap::new(),
            extra: start.extra,
            first_room: u32::try_from(waiting_room).expect("small worlds"),
            asked: BTreeMap::new(),
            late: BTreeSet::new(),
        };
        world.sum_use();
        for &input in &start.prelude {
            world.apply(input);
        }
        world
    }

    /// Gives the input to both, and compares the gate's answer with the model's.
    pub(super) fn apply(&mut self, input: Input) {
        self.sum_use();
        match input {
            Input::Enter(ask) => self.enter(ask),
            Input::Release(id) => self.release(id),
            Input::Finish(id) => self.finish(id),
            Input::Cancel(id) => self.cancel(id),
            input => {
                self.fold();
                self.apply_to_gate(input);
                self.note_use_after(input);
                self.publish();
            }
        }
        self.remember_late_calls();
    }

    fn apply_to_gate(&mut self, input: Input) {
        let now = Instant::from_nanos(self.now);
        if let (Some(calls), Input::Resize(_) | Input::Reconfigure(_) | Input::Resume | Input::Close) =
            (self.calls.as_mut().filter(|calls| calls.takes_back()), input)
        {
            calls.advance(&mut self.gate, now);
            self.model.take_back_due(self.now);
        }
        match input {
            Input::Enter(_) | Input::Release(_) | Input::Finish(_) | Input::Cancel(_) => {
                unreachable!("may leave the word")
            }
            Input::Collect(id) => self.collect(id),
            Input::Abandon(id) => {
                let grant = self.grants.remove(&id).expect("a live grant");
                self.gate.abandon(match &mut self.calls {
                    Some(calls) => calls.abandon(grant, now),
                    None => grant,
                });
                self.model.abandon(id);
            }
            Input::Split(id, units) => self.split(id, units),
            Input::Merge(id, merged) => self.merge(id, merged),
            Input::WriteOff(id) => {
                let grant = self.grants.remove(&id).expect("a live grant");
                let (calls, now) = (self.calls.as_mut().expect("the world has them"), Instant::from_nanos(self.now));
                calls.write_off(&mut self.gate, grant, now);
                self.model.note_end(id, self.now);
                self.model.write_off(id);
            }
            Input::Resize(capacity) => {
                let before = self.model.history.len();
                let resized = self.gate.resize(capacity, now);
                assert_eq!(resized.is_ok(), self.model.resize(capacity, self.now), "{resized:?}");
                assert_eq!(resized.map_or(0, |resized| resized.admitted), self.admitted_since(before));
            }
            Input::Reconfigure(limits) => {
                let before = self.model.history.len();
                let admitted = self.gate.reconfigure(&gate_limits(limits), now);
                let accepted = self.model.reconfigure(limits, self.now);
                assert_eq!(admitted.is_ok(), accepted, "{admitted:?}");
                let reasons = gate_limits(limits).invalid(self.gate.largest_waiting_cost()).count();
                assert_eq!(accepted, reasons == 0 && !self.model.closed);
                assert_eq!(admitted.unwrap_or(0), self.admitted_since(before));
            }
            Input::Pause => assert_eq!(self.gate.pause(), self.model.pause()),
            Input::Resume => assert_eq!(self.gate.resume(now), self.model.resume(self.now)),
            Input::Restrict(restriction) => {
                let (wait, up_to) = restriction.and_then(|it| it.fetch).unwrap_or_default();
                self.gate.let_fetch(Duration::from_nanos(wait), up_to);
                let set = restriction.map(|it| Restriction::new(it.units, "model").with_alone(it.alone));
                assert_eq!(self.gate.restrict(set, now), self.model.restrict(restriction, self.now));
            }
            Input::Close => {
                assert_eq!(self.gate.close(now), !self.model.closed);
                self.model.close(self.now);
            }
            Input::Tick => self.now += 1,
            Input::TickBack => {
                self.now -= 1;
                self.late.clear();
            }
            Input::Advance => {
                self.advance(now);
                self.model.take_back_due(self.now);
                self.model.advance(self.now);
            }
            Input::TakeBack(age) => {
                let calls = self.calls.as_mut().expect("only in worlds that have them");
                let taken_back = calls.take_back(&mut self.gate, Duration::from_nanos(age), now);
                assert_eq!(taken_back, self.model.take_back(age, self.now));
                self.gate.advance(Some(now));
                self.model.advance(self.now);
            }
        }
    }

    /// Returns how many waiters a change of the capacity has admitted since then.
    fn admitted_since(&self, before: usize) -> usize {
        let event = self.model.history[before..].iter().find(|past| past.kind == EventKind::Resized);
        event.map_or(0, |event| event.affected)
    }

    /// Folds the word into the gate, which then knows everything.
    pub(super) fn fold(&mut self) {
        if let Some(word) = &mut self.word {
            self.gate.fold(mem::replace(word, Word::GATE));
        }
    }

    pub(super) fn publish(&mut self) {
        if let Some(word) = &mut self.word {
            let needs_now = self.calls.as_ref().is_some_and(|calls| calls.needs_now(&self.gate));
            *word = if needs_now { Word::TIMED_GATE } else { self.gate.publish() };
        }
    }

    fn remember_late_calls(&mut self) {
        let now = Instant::from_nanos(self.now);
        let is_late = |ticket: &Ticket| self.gate.deadline(ticket).is_some_and(|deadline| deadline <= now);
        self.late.extend(self.tickets.iter().filter(|(_, ticket)| is_late(ticket)).map(|(&id, _)| id));
    }

    fn enter(&mut self, ask: Ask) {
        let id = self.came;
        self.came += 1;
        let is_past = ask.before.or(ask.deadline).is_some_and(|before| before <= self.now);
        let is_rejected = self.model.closed || ask.cost == 0 || ask.cost > self.model.limits.capacity || is_past;
        assert_eq!(self.gate.would_reject(&request(ask), Instant::from_nanos(self.now)), is_rejected);
        let answer = self.ask_word(&request(ask)).map_or_else(|| self.ask_gate(&request(ask)), Ok);
        let expected = self.model.enter(id, ask, self.now);
        let Ok(answer) = answer else {
            assert_eq!(expected, Outcome::Invalid);
            return;
        };
        let outcome = match answer {
            Answer::Granted(grant) => {
                assert_eq!(grant.waited_nanos(), 0);
                self.grants.insert(id, grant);
                Outcome::Granted
            }
            Answer::Queued(ticket) => {
                assert_eq!(self.gate.waker_mut(&ticket).expect("it waits").replace(id), None);
                self.tickets.insert(id, ticket);
                self.asked.insert(id, ask.cost);
                Outcome::Queued
            }
            Answer::Rejected(rejection) => {
                assert_eq!(rejection.cost(), ask.cost);
                outcome_of(&rejection)
            }
            Answer::NeedsNow => unreachable!("the time is known"),
        };
        assert_eq!(outcome, expected);
    }

    fn ask_word(&mut self, request: &Request) -> Option<Answer> {
        let before = self.word.filter(|_| request.is_simple())?;
        let room = self.first_room;
        let admitted = before.acquire().map(|(after, grant)| (after, Answer::Granted(grant)));
        let rejected = || {
            let refused = before.reject(request, room).or_else(|| before.reject_restricted(request, room));
            refused.map(|(after, refusal)| (after, Answer::Rejected(self.expanded(refusal, room))))
        };
        let (after, entry) = admitted.or_else(rejected)?;
        self.word = Some(after);
        Some(entry)
    }

    fn ask_gate(&mut self, request: &Request) -> Result<Answer, InvalidArgument> {
        self.fold();
        let now = Instant::from_nanos(self.now);
        let untimed = self.tries_untimed().then(|| self.enter_by_gate(request, None));
        let answer = match untimed {
            None | Some(Ok(Answer::NeedsNow)) => match &mut self.calls {
                Some(calls) => {
                    self.model.take_back_due(self.now);
                    calls.enter(&mut self.gate, request, now)
                }
                None => self.enter_by_gate(request, Some(now)),
            },
            Some(answer) => answer,
        };
        self.publish();
        answer
    }

    /// Some worlds first try without the time.
    fn tries_untimed(&self) -> bool {
        let is_possible = self.calls.as_ref().is_none_or(|calls| !calls.needs_now(&self.gate));
        is_possible && (self.gate.observed() != EventFilter::NONE || self.word.is_some())
    }

    fn release(&mut self, id: Id) {
        let grant = self.grants.remove(&id).expect("a live grant");
        if !self.release_by_word(&grant) {
            self.fold();
            let grant = self.end(grant);
            self.gate.release(grant);
            self.publish();
        }
        self.model.note_end(id, self.now);
        self.model.release(id);
    }

    /// Through a word, tries the quick path first, and at first without the time. A word that takes
    /// the grant back has no waiter to admit.
    fn finish(&mut self, id: Id) {
        let grant = self.grants.remove(&id).expect("a live grant");
        let is_by_gate = !self.release_by_word(&grant);
        if is_by_gate {
            self.fold();
            self.finish_by_gate(grant);
            self.publish();
        }
        self.model.note_end(id, self.now);
        self.model.release(id);
        if is_by_gate {
            self.model.take_back_due(self.now);
            self.model.advance(self.now);
        }
    }

    fn finish_by_gate(&mut self, grant: Grant) {
        let now = Instant::from_nanos(self.now);
        if self.is_quick() {
            let untimed = plumbing::finish(&mut self.gate, grant, None);
            let finished = untimed.or_else(|grant| plumbing::finish(&mut self.gate, grant, Some(now)));
            assert_eq!(finished, Ok(()), "the time is known");
        } else {
            let grant = self.end(grant);
            self.gate.release(grant);
            self.advance(now);
        }
    }

    fn advance(&mut self, now: Instant) {
        match &mut self.calls {
            Some(calls) => calls.advance(&mut self.gate, now),
            None => _ = self.gate.advance(Some(now)),
        }
    }

    fn end(&mut self, grant: Grant) -> Grant {
        match &mut self.calls {
            Some(calls) => calls.end(grant, Instant::from_nanos(self.now)),
            None => grant,
        }
    }

    fn split(&mut self, id: Id, units: usize) {
        let grant = self.grants.remove(&id).expect("a live grant");
        let waited = grant.waited_nanos();
        let split = self.calls.as_mut().expect("the world has them").split(&mut self.gate, grant, units);
        assert_eq!(split.is_ok(), self.model.split(id, self.came, units));
        match split {
            Ok((rest, part)) => {
                assert_eq!((rest.waited_nanos(), part.waited_nanos()), (waited, waited));
                self.grants.extend([(id, rest), (self.came, part)]);
                self.came += 1;
            }
            Err(grant) => _ = self.grants.insert(id, grant),
        }
    }

    fn merge(&mut self, id: Id, merged: Id) {
        let [grant, other] = [id, merged].map(|id| self.grants.remove(&id).expect("a live grant"));
        let waited = grant.waited_nanos();
        let now = Instant::from_nanos(self.now);
        let grant = self.calls.as_mut().expect("the world has them").merge(&mut self.gate, grant, other, now);
        assert_eq!(grant.waited_nanos(), waited);
        self.grants.insert(id, grant);
        self.model.note_end(merged, self.now);
        self.model.merge(id, merged);
    }

    /// Adds the release to the word. It stays there until the word is folded, even if the gate
    /// decides.
    fn release_by_word(&mut self, grant: &Grant) -> bool {
        let Some(before) = self.word.filter(|_| !grant.is_recorded()) else { return false };
        self.word = Some(Word::from_bits(before.to_bits() + Word::RELEASE));
        before.has_released(grant)
    }
}

fn calls(start: &Start) -> Calls {
    let calls = Calls::new(start.reserve).measure_holds(start.measures_holds);
    match start.collect_limit {
        Some(limit) => calls.collect_limit(Duration::from_nanos(limit)),
        None => calls,
    }
}

fn gate_limits(limits: Limited) -> Limits {
    let Limited { capacity, waiting_room, waiting_room_units, wait_limit } = limits;
    Limits::new(capacity)
        .with_waiting_room(waiting_room)
        .with_waiting_room_units(waiting_room_units)
        .with_wait_limit(wait_limit.map(Duration::from_nanos))
}

pub(super) fn outcome_of(rejection: &Rejection) -> Outcome {
    let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).expect("small worlds");
    let waited = nanos(rejection.waited());
    match rejection.reason() {
        Reason::Saturated => {
            Outcome::Saturated { units: rejection.waiting_units().zip(rejection.waiting_room_units()) }
        }
        Reason::Expired => {
            let limit = nanos(rejection.limit().expect("an effective limit"));
            Outcome::Expired {
                waited,
                limit,
                kept: rejection.kept().map(nanos),
                by_deadline: rejection.is_by_deadline(),
            }
        }
        Reason::Closed => Outcome::Closed { waited },
        Reason::Uncollected => {
            Outcome::Uncollected { waited, age: nanos(rejection.uncollected().expect("the reason says so")) }
        }
        other => panic!("unknown reason {other:?}"),
    }
}
