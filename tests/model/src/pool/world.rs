//! A small world: a pool with its lines, and their model, side by side, which get the same inputs.

use bulklink_core::Instant;
use bulklink_core::plumbing::Fork;
use bulklink_core::pool::{self, Class, Head, LineId, Pool, Prepared, Share};

use super::lines::{Driven, Settled};
use super::lists::Lists;
use super::model::{Answer, CLASSES, Call, Cost, Key, Line, Model, Operation, Time};
use super::start::Start;
use crate::search;

/// An input to the pool, one of its lines, or both.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// A call that comes.
    Enter {
        /// The key, and the place of the class.
        line: Line,
        /// What it costs.
        cost: Cost,
        /// Whether it may wait.
        may_queue: bool,
        /// How long it may wait.
        within: Option<Time>,
    },
    /// An operation ends.
    Release(Call),
    /// A waiter is withdrawn.
    Cancel(Call),
    /// A key gets another share.
    Share(Key, Share),
    /// A line's own limits admit nothing from now on, or calls again.
    HoldUp(Line),
    /// The pool gets other limits, by their place.
    Limits(usize),
    /// The gate of an idle line goes, and with the next call there is a new one.
    Vacate(Line),
    /// The pool gets other limits, by their place, and a key gets another share with them.
    Change(usize, Key, Share),
    /// An idle key is removed.
    Remove(Key),
    /// A key that was removed is added, with this share.
    Add(Key, Share),
    /// Time passes, without an input to the pool.
    Tick,
}

/// A pool, its lines, and their model.
#[derive(Debug)]
pub struct World<L> {
    pub(super) pool: Pool,
    pub(super) lines: L,
    pub(super) model: Model,
    /// The keys of the pool; `None` for one that is not there.
    pub(super) keys: Vec<Option<pool::Key>>,
    pub(super) start: std::rc::Rc<Start>,
    pub(super) now: Time,
    pub(super) counts: Counts,
    /// Whether a ceiling, a floor or the capacity has changed, so that more may be in use.
    pub(super) is_changed: bool,
}

/// The calls so far, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub came: usize,
    pub refused: usize,
    pub released: usize,
    pub cancelled: usize,
    pub expired: usize,
    pub displaced: usize,
}

impl search::World for World<Lists> {
    type Start = Start;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        World::new(start)
    }

    fn fork(&self) -> Self {
        World {
            pool: self.pool.fork(),
            lines: self.lines.clone(),
            model: self.model.clone(),
            keys: self.keys.clone(),
            start: self.start.clone(),
            ..*self
        }
    }

    fn options(&self) -> Vec<Input> {
        let mut options = vec![];
        for key in 0..self.keys.len() {
            for &class in &self.start.classes {
                let enter = |&cost: &Cost| self.enter(Line { key, class }, cost, true, None);
                options.extend(self.start.costs.iter().filter_map(enter));
            }
        }
        // Operations of one line and cost are all alike.
        let running = &self.model.running;
        let is_like = |one: &Operation, other: &Operation| one.line == other.line && one.cost == other.cost;
        let distinct =
            running.iter().enumerate().filter(|(n, one)| !running[..*n].iter().any(|other| is_like(one, other)));
        options.extend(distinct.map(|(_, operation)| Input::Release(operation.call)));
        options.extend(self.model.waiting.iter().map(|waiter| Input::Cancel(waiter.call)));
        if self.start.changes {
            options.extend(self.changes());
        }
        if self.start.deadlines {
            options.extend(self.timed());
        }
        options
    }

    fn last_options(&self) -> Vec<Input> {
        let mut options = self.options();
        let worst = self.start.classes[self.start.classes.len() - 1];
        let enter = |key| self.enter(Line { key, class: worst }, self.start.costs[0], false, None);
        options.extend((0..self.keys.len()).filter_map(enter));
        if !self.start.changes {
            options.extend(self.changes());
        }
        if !self.start.deadlines {
            options.extend(self.timed());
        }
        options
    }

    fn replay(&mut self, input: Input) {
        self.apply(input);
    }

    fn check(&mut self, input: Input) {
        self.apply(input);
        self.check_all();
    }
}

impl World<Lists> {
    /// Returns calls with a deadline, and a moment that passes.
    fn timed(&self) -> Vec<Input> {
        let class = self.start.classes[0];
        let calls = (0..self.keys.len()).flat_map(|key| self.start.costs.iter().map(move |&cost| (key, cost)));
        let enter = |(key, cost)| self.enter(Line { key, class }, cost, true, Some(1));
        calls.filter_map(enter).chain([Input::Tick]).collect()
    }

    /// Returns all changes of shares, keys and limits.
    fn changes(&self) -> Vec<Input> {
        let mut changes: Vec<_> = (0..self.start.limits.len()).map(Input::Limits).collect();
        for key in 0..self.keys.len() {
            if self.keys[key].is_none() {
                changes.push(Input::Add(key, self.start.shares[key]));
                continue;
            }
            let mut paused = self.model.shares[key];
            paused.is_paused = !paused.is_paused;
            changes.extend(self.start.classes.iter().map(|&class| Input::HoldUp(Line { key, class })));
            let shares = self.start.other_shares.iter().chain([&paused]);
            changes.extend(shares.map(|&share| Input::Share(key, share)));
            if let [_, .., worst] = self.start.classes[..] {
                let line = Line { key, class: worst };
                changes.extend((!self.model.is_line_busy(line)).then_some(Input::Vacate(line)));
            }
            if !self.model.is_busy(key) {
                changes.push(Input::Remove(key));
            }
        }
        changes
    }
}

impl<L: Driven> World<L> {
    /// Makes the world.
    pub(super) fn new(start: &Start) -> Self {
        let pool = Pool::new(start.limits[0].clone()).expect("the limits of a world are valid");
        let model = Model::new(start.limits[0].clone(), start.shares.clone());
        let mut world = World {
            pool,
            lines: L::default(),
            model,
            keys: vec![],
            start: start.clone().into(),
            now: 10,
            counts: Counts::default(),
            is_changed: false,
        };
        for &share in &start.shares {
            world.keys.push(Some(world.pool.add(share).expect("the shares of a world are valid")));
        }
        for &input in &start.prelude {
            world.apply(input);
        }
        world
    }

    /// Returns the input of a call that is possible.
    pub(super) fn enter(&self, line: Line, cost: Cost, may_queue: bool, within: Option<Time>) -> Option<Input> {
        let (capacity, ceiling) = (self.model.limits.capacity, self.model.shares[line.key].ceiling);
        let is_possible = cost <= capacity.min(ceiling);
        (is_possible && self.keys[line.key].is_some()).then_some(Input::Enter { line, cost, may_queue, within })
    }

    pub(super) fn instant(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    pub(super) fn id(&self, line: Line) -> Option<LineId> {
        let key = self.keys[line.key]?;
        Some(LineId { key, class: Class::ALL[line.class] })
    }

    /// Gives both the input, and compares the answers and what became of the waiters.
    pub(super) fn apply(&mut self, input: Input) {
        if matches!(input, Input::Tick) {
            self.now += 1;
            return;
        }
        self.expire_due(&input);
        match input {
            Input::Enter { line, cost, may_queue, within } => self.come(line, cost, may_queue, within),
            Input::Release(call) => self.release(call),
            Input::Cancel(call) => self.cancel(call),
            Input::Share(key, share) => self.set_share(key, share),
            Input::HoldUp(line) => {
                self.drive(line, |lines, id, _| lines.hold_up(id));
                self.model.hold_up(line, self.now);
            }
            Input::Limits(place) => {
                let limits = self.start.limits[place].clone();
                let is_possible = self.model.reconfigure(&limits, self.now);
                let changed = self.pool.reconfigure(&mut self.lines, limits);
                assert_eq!(changed.is_ok(), is_possible, "{changed:?}");
                self.serve();
                self.is_changed |= is_possible;
            }
            Input::Vacate(line) => {
                let id = self.id(line).expect("it is there");
                self.lines.forget(id);
                self.pool.vacate(id, 0);
                self.model.vacate(line);
            }
            Input::Change(place, key, share) => {
                let limits = self.start.limits[place].clone();
                let is_possible = self.model.change(&limits, Some((key, share)), self.now);
                let mut shares = [(self.keys[key], share)];
                let checked = self.pool.check_change(&mut self.lines, &limits, &shares);
                let changed = self.pool.change(&mut self.lines, limits, &mut shares);
                assert_eq!((checked.is_ok(), changed.is_ok()), (is_possible, is_possible), "{changed:?}");
                self.keys[key] = shares[0].0;
                self.serve();
                self.is_changed |= is_possible;
            }
            Input::Remove(key) => {
                let id = self.keys[key].take().expect("it is there");
                for class in Class::ALL {
                    let line = LineId { key: id, class };
                    self.lines.forget(line);
                    self.pool.vacate(line, 0);
                }
                self.pool.remove(id);
                self.serve();
                self.model.remove(key, self.now);
            }
            Input::Add(key, share) => {
                let added = self.pool.add(share);
                assert_eq!(added.is_ok(), self.model.add(key, share, self.now), "{added:?}");
                self.keys[key] = added.ok();
                self.serve();
                self.is_changed = true;
            }
            Input::Tick => {}
        }
        self.compare_settled();
    }

    fn come(&mut self, line: Line, cost: Cost, may_queue: bool, within: Option<Time>) {
        let call = self.counts.came;
        self.counts.came += 1;
        let deadline = within.map(|within| self.now + within);
        let id = self.id(line).expect("it is there");
        let is_simple = cost == 1 && deadline.is_none();
        let answer = if is_simple && self.lines.enter_by_word(id, call) {
            Answer::Admitted
        } else {
            self.ask(id, call, cost, may_queue, deadline)
        };
        self.model.expire(line, self.now);
        let expected = self.model.enter(Operation { call, line, cost }, may_queue, deadline, self.now);
        assert_eq!(answer, expected);
        self.counts.refused += usize::from(matches!(answer, Answer::Refused(_)));
    }

    fn ask(&mut self, id: LineId, call: Call, cost: Cost, may_queue: bool, deadline: Option<Time>) -> Answer {
        let now = self.instant();
        self.lines.fold(id);
        self.pool.begin(id);
        self.lines.expire(id, now);
        let demand = self.lines.demand(id);
        let head = Head { cost, may_run: !self.model.held_up.iter().any(|&line| self.id(line) == Some(id)) };
        let answer = match self.pool.prepare(&mut self.lines, id, &demand, head, may_queue, now) {
            Ok(Prepared::Lent) => {
                self.lines.admit_newcomer(id, call, cost, now);
                Answer::Admitted
            }
            Ok(Prepared::Queues) => {
                self.lines.queue(id, call, cost, deadline.map(Instant::from_nanos), now);
                Answer::Queued
            }
            Err(bound) => Answer::Refused(bound),
        };
        self.finish(id);
        answer
    }

    fn release(&mut self, call: Call) {
        let operation = self.model.running.iter().find(|operation| operation.call == call).expect("it runs");
        let line = operation.line;
        let id = self.id(line).expect("it is there");
        if !self.lines.release_by_word(id, call) {
            self.drive(line, |lines, id, _| lines.release(id, call));
        }
        self.model.release(call, self.now);
        self.counts.released += 1;
    }

    fn cancel(&mut self, call: Call) {
        // It may have expired just now.
        let waiter = self.model.waiting.iter().find(|waiter| waiter.call == call);
        let Some(line) = waiter.map(|waiter| waiter.line) else { return };
        self.drive(line, |lines, id, now| lines.cancel(id, call, now));
        self.model.cancel(call, self.now);
        self.counts.cancelled += 1;
    }

    fn set_share(&mut self, key: Key, share: Share) {
        let changed = self.pool.set_share(self.keys[key].expect("it is there"), share);
        let is_valid = self.model.set_share(key, share, self.now);
        assert_eq!(changed.is_ok(), is_valid, "{changed:?}");
        if is_valid {
            for class in 0..CLASSES {
                self.drive(Line { key, class }, |_, _, _| ());
            }
            self.serve();
            self.is_changed = true;
        }
    }

    fn serve(&mut self) {
        let now = self.instant();
        self.pool.serve(&mut self.lines, now);
    }

    /// Expires all waiters that are due, as a driver does before an input; but those in the line of
    /// a call that comes expire with it.
    fn expire_due(&mut self, input: &Input) {
        let is_own = |own| matches!(input, Input::Enter { line, .. } if *line == own);
        for line in self.model.lines() {
            if !is_own(line) && self.model.has_due(line, self.now) {
                self.drive(line, Driven::expire);
                self.model.expire(line, self.now);
            }
        }
    }

    /// Gives an input to a line.
    fn drive(&mut self, line: Line, input: impl FnOnce(&mut L, LineId, Instant)) {
        let (id, now) = (self.id(line).expect("it is there"), self.instant());
        self.lines.fold(id);
        self.pool.begin(id);
        input(&mut self.lines, id, now);
        self.finish(id);
    }

    fn finish(&mut self, id: LineId) {
        let (now, demand) = (self.instant(), self.lines.demand(id));
        let lent = self.pool.finish(&mut self.lines, id, &demand, now);
        self.lines.publish(id, lent);
    }

    fn compare_settled(&mut self) {
        let settled = self.lines.take_settled();
        assert_eq!(settled, self.model.settled, "what became of the waiters, in order");
        self.model.settled.clear();
        for (call, how) in settled {
            match how {
                Settled::Admitted => self.check_first(call),
                Settled::Expired => self.counts.expired += 1,
                Settled::Displaced => self.counts.displaced += 1,
            }
        }
    }

    /// Checks that nobody came before a call in its line, and waits still.
    fn check_first(&self, call: Call) {
        let Some(operation) = self.model.running.iter().find(|operation| operation.call == call) else { return };
        let mut of_line = self.model.waiting.iter().filter(|waiter| waiter.line == operation.line);
        assert!(!of_line.any(|waiter| waiter.call < call), "first come, first served in a line");
    }
}
