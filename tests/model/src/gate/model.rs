//! The reference model of a gate, written to be read.
//!
//! It keeps its whole history and counts in it.

use bulklink_core::{EventKind, Reserve};

use super::ask::Ask;
use super::calls::Call;
use super::history::Past;
use super::restricted::Restricted;

/// A point in time or a duration, in nanoseconds.
pub type Time = u64;

/// The number of a call, in the order of arrival.
pub type Id = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Granted,
    Queued,
    /// If the units were bounded and too many, the units that waited and the bound.
    Saturated {
        units: Option<(usize, usize)>,
    },
    Expired {
        waited: Time,
        limit: Time,
        kept: Option<Time>,
        by_deadline: bool,
    },
    Closed {
        waited: Time,
    },
    Uncollected {
        waited: Time,
        age: Time,
    },
    Invalid,
}

/// The outcome of a call that has not collected it yet.
#[derive(Clone, Copy, Debug)]
pub struct Settled {
    pub id: Id,
    pub outcome: Outcome,
    pub waited: Time,
    /// When it was settled; `Time::MAX` if the wait was not measured.
    pub at: Time,
}

#[derive(Clone, Debug)]
pub struct Waiter {
    pub id: Id,
    pub cost: usize,
    pub since: Time,
    /// The end of its wait.
    pub deadline: Option<Time>,
    /// How long before the end of its whole call that is.
    pub lead: Option<Time>,
    /// Whether that is what its wait ends for.
    pub keeps: bool,
    /// Whether that follows from the gate's reserve.
    pub by_gate: bool,
}

/// The limits of a gate, as the model sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The units that may be in use.
    pub capacity: usize,
    /// The requests that may wait.
    pub waiting_room: usize,
    /// The units that may be waited for.
    pub waiting_room_units: Option<usize>,
    /// The limit on each wait.
    pub wait_limit: Option<Time>,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct Model {
    pub limits: Limited,
    pub measures_waits: bool,
    pub closed: bool,
    pub paused: bool,
    pub restriction: Option<Restricted>,
    /// The calls that hold a slot, with their cost; a slot that was handed over but is not
    /// collected yet counts too.
    pub running: Vec<(Id, usize)>,
    pub queue: Vec<Waiter>,
    pub settled: Vec<Settled>,
    pub woken: Vec<Id>,
    pub history: Vec<Past>,
    pub(super) calls: Vec<Call>,
    /// `None` if it follows the holds of calls with a deadline, and none has taught it yet.
    pub reserve: Option<Time>,
    pub(super) follows: bool,
    /// How many calls have.
    pub(super) taught_by: u64,
    /// The calls that it has rejected, and when; and since when while none has taught it, with how
    /// many were admitted until then.
    pub(super) kept_out: Vec<(Id, Time)>,
    pub(super) untaught: Option<(Time, u64)>,
    pub ended_late: u64,
    pub measures_holds: bool,
    pub holds: u64,
    pub cumulative_hold: Time,
    /// The units in use and the capacity, summed over time, and until when.
    pub(super) busy: Time,
    pub(super) offered: Time,
    pub(super) busy_until: Time,
    /// How long a slot may be not collected.
    pub collect_limit: Option<Time>,
    /// The slots that were not collected at the last look, and since when, the oldest first.
    pub(super) found: Vec<(Id, Time)>,
    /// When to look next.
    pub(super) next_look: Time,
    pub taken_back: u64,
    /// The units that were written off.
    pub written_off: usize,
    /// The time of the last input that had one.
    pub(super) latest: Time,
}

impl Model {
    pub fn new(limits: Limited, measures_waits: bool, reserve: Reserve) -> Self {
        let fixed = match reserve {
            Reserve::Learnt => None,
            Reserve::Fixed(fixed) => Some(u64::try_from(fixed.as_nanos()).expect("small worlds")),
            _ => Some(0),
        };
        Model {
            calls: vec![],
            reserve: fixed,
            follows: fixed.is_none(),
            taught_by: 0,
            kept_out: vec![],
            untaught: None,
            ended_late: 0,
            measures_holds: false,
            holds: 0,
            cumulative_hold: 0,
            busy: 0,
            offered: 0,
            busy_until: 0,
            collect_limit: None,
            found: vec![],
            next_look: 0,
            taken_back: 0,
            written_off: 0,
            limits,
            measures_waits,
            closed: false,
            paused: false,
            restriction: None,
            running: vec![],
            queue: vec![],
            settled: vec![],
            woken: vec![],
            history: vec![],
            latest: 0,
        }
    }

    pub fn in_use(&self) -> usize {
        self.running.iter().map(|(_, cost)| cost).sum::<usize>() + self.written_off
    }

    pub fn free(&self) -> usize {
        if self.paused { 0 } else { self.effective_capacity().saturating_sub(self.in_use()) }
    }

    pub fn waiting_units(&self) -> usize {
        self.queue.iter().map(|waiter| waiter.cost).sum()
    }

    pub fn head_fits(&self) -> bool {
        self.queue.first().is_some_and(|head| self.fits(head.cost))
    }

    pub fn next_deadline(&self) -> Option<Time> {
        self.queue.iter().filter_map(|waiter| waiter.deadline).min()
    }

    pub fn enter(&mut self, id: Id, ask: Ask, now: Time) -> Outcome {
        if self.closed {
            self.past(EventKind::ClosedRejection, |past| past.cost = Some(ask.cost));
            return Outcome::Closed { waited: 0 };
        }
        if ask.cost == 0 || ask.cost > self.limits.capacity {
            return Outcome::Invalid;
        }
        self.advance(now);
        if ask.before.or(ask.deadline).is_some_and(|until| until <= now) {
            return self.expired_immediately(ask, true);
        }
        let by_reserve = ask.deadline.map(|end| end - self.keep(ask, end - now));
        if self.queue.is_empty() && self.fits(ask.cost) {
            if let Some(end) = ask.deadline {
                self.calls.push(Call { id, entered: now, waited: 0, end, by_gate: ask.leaving.is_none() });
            } else if self.measures_holds {
                self.calls.push(Call::without_deadline(id, now, 0));
            }
            self.running.push((id, ask.cost));
            self.past(EventKind::Admitted, |past| past.cost = Some(ask.cost));
            return Outcome::Granted;
        }
        if ask.may_queue && ask.within == Some(0) {
            return self.expired_immediately(ask, false);
        }
        let has_place = ask.may_queue && self.queue.len() < self.limits.waiting_room;
        let waiting_units = self.waiting_units();
        let exceeded = self.limits.waiting_room_units.filter(|bound| has_place && waiting_units + ask.cost > *bound);
        let mut fetch = None;
        if !has_place || exceeded.is_some() {
            fetch = self.fetch(ask);
            if fetch.is_none() {
                self.past(EventKind::Saturated, |past| past.cost = Some(ask.cost));
                return Outcome::Saturated { units: exceeded.map(|bound| (waiting_units, bound)) };
            }
        }
        let limits = ask.within.into_iter().chain(self.limits.wait_limit).chain(fetch);
        let by_limit = limits.min().map(|limit| now + limit);
        // Where slots are taken back, each ticket has a deadline, which may never come.
        let never = self.collect_limit.map(|_| Time::MAX - 1);
        let deadline = by_limit.into_iter().chain(ask.before).chain(by_reserve).chain(never).min();
        let lead = ask.deadline.map(|end| end - deadline.expect("at most the end"));
        let keeps = by_reserve == deadline;
        let by_gate = ask.leaving.is_none();
        self.queue.push(Waiter { id, cost: ask.cost, since: now, deadline, lead, keeps, by_gate });
        self.past(EventKind::Queued, |past| (past.cost, past.from_queue) = (Some(ask.cost), true));
        Outcome::Queued
    }

    fn expired_immediately(&mut self, ask: Ask, by_deadline: bool) -> Outcome {
        self.past(EventKind::Expired, |past| (past.cost, past.waited) = (Some(ask.cost), Some(0)));
        Outcome::Expired { waited: 0, limit: 0, kept: None, by_deadline }
    }

    /// Expires late waiters, the earliest deadline first, then grants the head of the queue while
    /// it fits.
    pub fn advance(&mut self, now: Time) {
        self.latest = now;
        while let Some(late) = self.next_deadline().filter(|&deadline| deadline <= now) {
            let place =
                self.queue.iter().position(|waiter| waiter.deadline == Some(late)).expect("a waiter has this deadline");
            let waiter = self.queue.remove(place);
            self.past_of(EventKind::Expired, &waiter, now);
            self.note_expired(&waiter, late, now);
            let limit = late.saturating_sub(waiter.since);
            self.settle(
                &waiter,
                Outcome::Expired {
                    waited: self.waited(&waiter, now),
                    limit,
                    kept: waiter.lead.filter(|&lead| waiter.keeps && lead > 0),
                    by_deadline: waiter.keeps && waiter.lead.is_some(),
                },
            );
        }
        while self.head_fits() {
            let head = self.queue.remove(0);
            self.running.push((head.id, head.cost));
            if let (Some(lead), Some(wait_end)) = (head.lead, head.deadline) {
                let Waiter { id, since: entered, by_gate, .. } = head;
                let waited = now.saturating_sub(entered);
                self.calls.push(Call { id, entered, waited, end: wait_end + lead, by_gate });
            } else if self.measures_holds {
                self.calls.push(Call::without_deadline(head.id, head.since, self.waited(&head, now)));
            }
            self.past_of(EventKind::Admitted, &head, now);
            self.settle(&head, Outcome::Granted);
        }
    }

    fn settle(&mut self, waiter: &Waiter, answer: Outcome) {
        let id = waiter.id;
        let at = if self.is_measured(waiter) { self.latest } else { Time::MAX };
        self.settled.push(Settled { id, outcome: answer, waited: self.waited(waiter, self.latest), at });
        self.woken.push(id);
    }

    /// Returns how long the waiter has waited.
    ///
    /// Zero if waits are not measured and the waiter has no deadline: the gate reads no clock then.
    fn waited(&self, waiter: &Waiter, now: Time) -> Time {
        if self.is_measured(waiter) { now.saturating_sub(waiter.since) } else { 0 }
    }

    fn is_measured(&self, waiter: &Waiter) -> bool {
        self.measures_waits || waiter.deadline.is_some()
    }

    /// Returns the outcome, and how long the call has waited.
    pub fn collect(&mut self, id: Id) -> (Outcome, Time) {
        match self.settled.iter().position(|settled| settled.id == id) {
            Some(place) => {
                let Settled { outcome, waited, .. } = self.settled.remove(place);
                self.note_rejected(id);
                (outcome, waited)
            }
            None => (Outcome::Queued, 0),
        }
    }

    pub fn release(&mut self, id: Id) {
        let cost = self.stop(id);
        self.past(EventKind::Released, |past| past.cost = Some(cost));
        self.note_drained();
    }

    pub fn abandon(&mut self, id: Id) {
        let cost = self.stop(id);
        self.past(EventKind::Abandoned, |past| past.cost = Some(cost));
        self.note_drained();
    }

    /// Splits units off a slot, for a new one. Returns whether it has enough.
    pub fn split(&mut self, id: Id, new: Id, units: usize) -> bool {
        let (_, cost) = self.running.iter_mut().find(|(running, _)| *running == id).expect("it runs");
        if units == 0 || units >= *cost {
            return false;
        }
        *cost -= units;
        self.running.push((new, units));
        if let Some(call) = self.calls.iter().find(|call| call.id == id).filter(|_| self.measures_holds) {
            let part = Call::without_deadline(new, call.entered, call.waited);
            self.calls.push(part);
        }
        self.past(EventKind::Split, |past| past.cost = Some(units));
        true
    }

    pub fn merge(&mut self, id: Id, merged: Id) {
        let units = self.stop(merged);
        let (_, cost) = self.running.iter_mut().find(|(running, _)| *running == id).expect("it runs");
        *cost += units;
        self.past(EventKind::Merged, |past| past.cost = Some(units));
    }

    pub fn write_off(&mut self, id: Id) {
        let cost = self.stop(id);
        self.written_off += cost;
        self.past(EventKind::WrittenOff, |past| past.cost = Some(cost));
        self.note_drained();
    }

    pub fn cancel(&mut self, id: Id, now: Time) {
        if let Some(place) = self.queue.iter().position(|waiter| waiter.id == id) {
            let waiter = self.queue.remove(place);
            self.past_of(EventKind::Cancelled, &waiter, now);
            return;
        }
        let place = self.settled.iter().position(|settled| settled.id == id).expect("waiting or settled");
        let Settled { outcome, waited, .. } = self.settled.remove(place);
        if outcome == Outcome::Granted {
            let cost = self.stop(id);
            self.past(EventKind::Abandoned, |past| {
                (past.cost, past.from_queue, past.waited) = (Some(cost), true, Some(waited));
            });
            self.note_drained();
        }
    }

    pub(super) fn cost(&self, id: Id) -> usize {
        self.running.iter().find(|running| running.0 == id).expect("the call holds a slot").1
    }

    pub(super) fn stop(&mut self, id: Id) -> usize {
        let place = self.running.iter().position(|running| running.0 == id).expect("the call holds a slot");
        self.calls.retain(|call| call.id != id);
        self.running.remove(place).1
    }

    /// Changes the capacity, and returns whether that was accepted.
    pub fn resize(&mut self, capacity: usize, now: Time) -> bool {
        self.reconfigure(Limited { capacity, ..self.limits }, now)
    }

    /// Changes the limits, and returns whether that was accepted.
    pub fn reconfigure(&mut self, limits: Limited, now: Time) -> bool {
        if self.closed {
            return false;
        }
        self.advance(now);
        let has_room = limits.waiting_room > 0;
        let are_units_valid = limits.waiting_room_units.is_none_or(|units| units > 0 && has_room);
        let is_valid = limits.capacity > 0 && limits.wait_limit != Some(0) && are_units_valid;
        if !is_valid || self.queue.iter().any(|waiter| waiter.cost > limits.capacity) {
            return false;
        }
        let previous = self.limits;
        self.limits = Limited { capacity: previous.capacity, ..limits };
        if self.limits != previous {
            self.past(EventKind::Reconfigured, |past| past.previous_waiting_room = Some(previous.waiting_room));
        }
        if limits.capacity != previous.capacity {
            self.limits = limits;
            self.past(EventKind::Resized, |past| past.previous_capacity = Some(previous.capacity));
            self.advance_after_the_latest_event(now);
        }
        true
    }

    pub fn pause(&mut self) -> bool {
        let changes = !self.paused && !self.closed;
        if changes {
            self.paused = true;
            self.past(EventKind::Paused, |_| ());
        }
        changes
    }

    pub fn resume(&mut self, now: Time) -> bool {
        if !self.paused {
            return false;
        }
        self.advance(now);
        self.paused = false;
        self.past(EventKind::Resumed, |_| ());
        self.advance_after_the_latest_event(now);
        true
    }

    /// Advances, and counts the waiters that this admits as affected by the latest event.
    fn advance_after_the_latest_event(&mut self, now: Time) {
        let place = self.history.len() - 1;
        self.advance(now);
        self.history[place].affected = self.history.len() - 1 - place;
    }

    pub fn close(&mut self, now: Time) {
        if self.closed {
            return;
        }
        self.advance(now);
        (self.closed, self.paused, self.restriction) = (true, false, None);
        let waiting = self.queue.len();
        self.past(EventKind::Closed, |past| past.affected = waiting);
        while !self.queue.is_empty() {
            let head = self.queue.remove(0);
            self.past_of(EventKind::ClosedRejection, &head, now);
            self.settle(&head, Outcome::Closed { waited: self.waited(&head, now) });
        }
        self.note_drained();
    }

    pub(super) fn note_drained(&mut self) {
        if self.closed && self.running.is_empty() {
            self.past(EventKind::Drained, |_| ());
        }
    }

    fn past_of(&mut self, kind: EventKind, waiter: &Waiter, now: Time) {
        let wait = self.waited(waiter, now);
        self.past(kind, |past| {
            (past.cost, past.from_queue, past.waited) = (Some(waiter.cost), true, Some(wait));
        });
    }

    pub(super) fn past(&mut self, kind: EventKind, describe: impl FnOnce(&mut Past)) {
        let mut past = Past {
            kind,
            cost: None,
            from_queue: false,
            waited: None,
            affected: 0,
            previous_capacity: None,
            previous_waiting_room: None,
            in_flight: self.running.len(),
            in_use: self.in_use(),
            waiting: self.queue.len(),
            waiting_units: self.waiting_units(),
            capacity: self.limits.capacity,
            waiting_room: self.limits.waiting_room,
            is_closed: self.closed,
        };
        describe(&mut past);
        self.history.push(past);
    }
}
