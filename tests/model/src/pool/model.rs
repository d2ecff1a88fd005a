//! The reference model: what a pool and its lines must do, written to be read.
//!
//! It keeps lists of the calls that run and of those that wait, and scans them: nothing is kept in
//! order, and no unit is lent beforehand.

use bulklink_core::pool::{Bound, Class, Limits, Share};

use super::lines::Settled;

/// A point in time, in nanoseconds.
pub type Time = u64;

/// The number of a key.
pub type Key = usize;

/// Units of capacity.
pub type Cost = u32;

/// The number of a call, in the order of arrival.
pub type Call = usize;

pub(super) const CLASSES: usize = Class::ALL.len();
/// Virtual time of one unit of weight one.
pub(super) const ONE: u64 = 1 << 20;

/// The calls of one key and class. A class is its place in [`Class::ALL`], the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The key.
    pub key: Key,
    /// The place of the class.
    pub class: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub call: Call,
    pub line: Line,
    pub cost: Cost,
}

#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub call: Call,
    pub line: Line,
    pub cost: Cost,
    pub deadline: Option<Time>,
}

/// The answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Admitted,
    Queued,
    Refused(Bound),
}

/// The turn of a line in virtual time, and its number.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub tag: u64,
    pub number: u64,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub limits: Limits,
    /// The shares of the keys; a plain one for a key that is not there.
    pub shares: Vec<Share>,
    /// In any order.
    pub running: Vec<Operation>,
    /// In the order of arrival.
    pub waiting: Vec<Waiter>,
    /// What became of calls that waited, since the last input.
    pub settled: Vec<(Call, Settled)>,
    /// The lines whose own limits admit nothing now.
    pub held_up: Vec<Line>,
    pub peak: u32,
    pub displaced: u64,
    pub(super) turns: Vec<[Option<Turn>; CLASSES]>,
    /// The end of the last turn of each key.
    pub(super) ends: Vec<u64>,
    pub(super) virtual_time: u64,
    begun: u64,
    pub(super) passed: [u32; CLASSES],
    changes: u64,
    /// When the length of each line changed last.
    pub(super) changed: Vec<[u64; CLASSES]>,
}

impl Model {
    pub fn new(limits: Limits, shares: Vec<Share>) -> Self {
        let keys = shares.len();
        Model {
            limits,
            shares,
            running: vec![],
            waiting: vec![],
            settled: vec![],
            held_up: vec![],
            peak: 0,
            displaced: 0,
            turns: vec![[None; CLASSES]; keys],
            ends: vec![0; keys],
            virtual_time: ONE,
            begun: 0,
            passed: [0; CLASSES],
            changes: 0,
            changed: vec![[0; CLASSES]; keys],
        }
    }

    /// A call that no gate would reject whatever room there is.
    pub fn enter(
        &mut self,
        Operation { call, line, cost }: Operation,
        may_queue: bool,
        deadline: Option<Time>,
        now: Time,
    ) -> Answer {
        loop {
            if self.would_be_next(line, cost) && self.may_take(line, cost) {
                let weight = u64::from(self.shares[line.key].weight);
                let contenders = self.is_contended().then(|| self.weights() + weight);
                self.run(Operation { call, line, cost }, contenders);
                self.advance(now);
                return Answer::Admitted;
            }
            if !may_queue {
                return Answer::Refused(self.refusal(line, cost));
            }
            if let Err(bound) = self.check_room(line) {
                return Answer::Refused(bound);
            }
            if self.waiting.len() < self.limits.waiting_room as usize {
                break;
            }
            let Some(last) = self.to_displace(line) else { return Answer::Refused(Bound::Shared) };
            self.displaced += 1;
            self.leave(last, Settled::Displaced);
            self.begin_turns();
            self.advance(now);
        }
        self.waiting.push(Waiter { call, line, cost, deadline });
        self.note_length(line);
        self.begin_turns();
        self.advance(now);
        Answer::Queued
    }

    pub fn release(&mut self, call: Call, now: Time) {
        self.running.retain(|operation| operation.call != call);
        self.begin_turns();
        self.advance(now);
    }

    pub fn cancel(&mut self, call: Call, now: Time) {
        let waiter = *self.waiting.iter().find(|waiter| waiter.call == call).expect("it waits");
        self.waiting.retain(|waiter| waiter.call != call);
        self.note_length(waiter.line);
        self.begin_turns();
        self.advance(now);
    }

    /// Expires those of a line that are due.
    pub fn expire(&mut self, line: Line, now: Time) {
        self.expire_due(line, now);
        self.advance(now);
    }

    pub fn has_due(&self, line: Line, now: Time) -> bool {
        self.due(line, now).is_some()
    }

    /// Changes the share of a key. Returns whether it is a valid one.
    pub fn set_share(&mut self, key: Key, share: Share, now: Time) -> bool {
        let is_valid = self.is_valid(key, &share);
        if is_valid {
            self.shares[key] = share;
            self.begin_turns();
            self.advance(now);
        }
        is_valid
    }

    /// Has a line's own limits admit nothing, or calls again.
    pub fn hold_up(&mut self, line: Line, now: Time) {
        let was_held_up = self.held_up.contains(&line);
        self.held_up.retain(|&held_up| held_up != line);
        self.held_up.extend((!was_held_up).then_some(line));
        self.begin_turns();
        self.advance(now);
    }

    /// The gate of a line goes, with its turn, and has neither operations nor waiters.
    pub fn vacate(&mut self, line: Line) {
        assert!(!self.is_line_busy(line));
        self.held_up.retain(|&held_up| held_up != line);
        self.turns[line.key][line.class] = None;
    }

    /// Changes the limits. Returns whether that is possible.
    pub fn reconfigure(&mut self, limits: &Limits, now: Time) -> bool {
        self.change(limits, None, now)
    }

    /// Changes the limits, and the share of a key with them, which may be new. Returns whether that
    /// is possible.
    pub fn change(&mut self, limits: &Limits, share: Option<(Key, Share)>, now: Time) -> bool {
        let mut after = self.clone();
        if let Some((key, share)) = share {
            after.shares[key] = share;
        }
        let kept = after.kept_floors();
        let waits = self.waiting.iter().all(|waiter| waiter.cost <= limits.capacity);
        let is_possible = waits && kept <= limits.capacity;
        if is_possible {
            self.limits = limits.clone();
            self.shares = after.shares;
            self.begin_turns();
            self.advance(now);
        }
        is_possible
    }

    /// Removes a key without operations and waiters.
    pub fn remove(&mut self, key: Key, now: Time) {
        assert!(!self.is_busy(key));
        self.shares[key] = Share::PLAIN;
        self.held_up.retain(|line| line.key != key);
        self.turns[key] = [None; CLASSES];
        self.ends[key] = 0;
        self.advance(now);
    }

    /// Adds a key that is not there. Returns whether its share is valid.
    pub fn add(&mut self, key: Key, share: Share, now: Time) -> bool {
        let is_valid = self.is_valid(key, &share);
        if is_valid {
            self.shares[key] = share;
            // A floor that is kept for it can put the next line out of reach.
            self.begin_turns();
            self.advance(now);
        }
        is_valid
    }

    /// Admits all that is next, one after the other.
    fn advance(&mut self, now: Time) {
        while let Some(line) = self.next() {
            // A due waiter gets no units, and its line is judged anew without it.
            if self.expire_due(line, now) {
                continue;
            }
            let Waiter { call, cost, .. } = *self.head(line).expect("the next line has a head");
            let weights = self.weights();
            let eligible = self.eligible_classes();
            self.leave(call, Settled::Admitted);
            self.run_from(Operation { call, line, cost }, Some((weights, eligible)));
        }
    }

    /// Has a newcomer run. The weights are those of all that contend for its units, if any line
    /// does.
    fn run(&mut self, operation: Operation, contenders: Option<u64>) {
        let eligible = self.eligible_classes();
        self.run_from(operation, contenders.map(|weights| (weights, eligible)));
    }

    fn run_from(&mut self, operation: Operation, contest: Option<(u64, [bool; CLASSES])>) {
        let Operation { line, cost, .. } = operation;
        if let Some((weights, eligible)) = contest {
            let turn = self.turns[line.key][line.class].take();
            let tag = turn.map_or_else(|| self.new_tag(line.key), |turn| turn.tag);
            let length = u64::from(cost) * ONE / u64::from(self.shares[line.key].weight);
            self.ends[line.key] = tag.max(self.virtual_time) + length;
            let before = self.virtual_time;
            self.virtual_time = tag.max(self.virtual_time + u64::from(cost) * ONE / weights);
            assert!(self.virtual_time >= before, "virtual time never goes back");
            for (worse, is_eligible) in eligible.into_iter().enumerate().skip(line.class + 1) {
                self.passed[worse] = if is_eligible { self.passed[worse] + 1 } else { 0 };
            }
            self.passed[line.class] = 0;
        }
        self.running.push(operation);
        self.peak = self.peak.max(self.in_use());
        self.begin_turns();
    }

    /// Gives a turn to each line that may run and has none, also if it is out of reach.
    fn begin_turns(&mut self) {
        for line in self.lines() {
            if self.may_run(line) && self.turns[line.key][line.class].is_none() {
                self.begun += 1;
                let turn = Turn { tag: self.new_tag(line.key), number: self.begun };
                self.turns[line.key][line.class] = Some(turn);
            }
        }
    }

    fn leave(&mut self, call: Call, settled: Settled) {
        let place = self.waiting.iter().position(|waiter| waiter.call == call).expect("it waits");
        let waiter = self.waiting.remove(place);
        self.note_length(waiter.line);
        self.settled.push((call, settled));
    }

    fn expire_due(&mut self, line: Line, now: Time) -> bool {
        let is_any = self.has_due(line, now);
        while let Some(call) = self.due(line, now) {
            self.leave(call, Settled::Expired);
        }
        self.begin_turns();
        is_any
    }

    /// Returns the waiter of a line that expired first.
    fn due(&self, line: Line, now: Time) -> Option<Call> {
        let of_line = self.waiting.iter().filter(|waiter| waiter.line == line);
        let due = of_line.filter_map(|waiter| Some((waiter.deadline?, waiter.call)));
        due.filter(|due| due.0 <= now).min().map(|due| due.1)
    }

    fn note_length(&mut self, line: Line) {
        self.changes += 1;
        self.changed[line.key][line.class] = self.changes;
    }
}
