//! The calls that are accounted for by themselves, in the reference model: the reserve that follows
//! those with a deadline, and the slots that are not collected.

use bulklink_core::EventKind;

use super::ask::Ask;
use super::model::{Id, Model, Outcome, Time, Waiter};

/// The times of a call that holds a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) id: Id,
    pub(super) entered: Time,
    pub(super) waited: Time,
    pub(super) end: Time,
    pub(super) by_gate: bool,
}

impl Call {
    pub(super) fn without_deadline(id: Id, entered: Time, waited: Time) -> Self {
        Call { id, entered, waited, end: Time::MAX, by_gate: false }
    }
}

impl Model {
    /// Returns the reserve that a call with this much time in all must leave to its operation.
    pub(super) fn keep(&self, ask: Ask, budget: Time) -> Time {
        let own = ask.leaving.map(|own| own.max(1));
        let learnt = self.reserve.map(|reserve| if self.follows { reserve.max(budget / 16) } else { reserve });
        own.or(learnt).unwrap_or((budget / 4).max(1)).min(share(budget, 972))
    }

    /// Takes the end of a call into account, if it had a deadline or its hold is measured.
    pub fn note_end(&mut self, id: Id, now: Time) {
        let Some(call) = self.calls.iter().find(|call| call.id == id).copied() else { return };
        let hold = now.saturating_sub(call.entered + call.waited);
        if self.measures_holds {
            self.holds += 1;
            self.cumulative_hold += hold;
        }
        let is_late = now >= call.end;
        self.ended_late += u64::from(is_late);
        let budget = call.end - call.entered;
        let matters = hold.max(self.reserve.unwrap_or(0)) >= budget / 16;
        if self.follows && call.by_gate && matters && hold < share(budget, 972) {
            let least = budget / 16;
            let (moved, teaches) = match self.reserve {
                Some(reserve) if self.taught_by == 1 && hold < reserve => (hold.max(least), hold >= least),
                Some(reserve) => (moved(reserve, hold, is_late, call.waited > 0), true),
                None => (hold, true),
            };
            self.taught_by += u64::from(teaches);
            self.reserve = Some(moved.max(1));
            let later = |(since, admitted): (Time, u64)| (since + 32 * hold, admitted);
            self.untaught = self.untaught.map(later).filter(|(since, _)| *since < now);
        }
    }

    /// Notes the end of a wait, if the reserve that follows holds is why it ended.
    pub(super) fn note_expired(&mut self, waiter: &Waiter, end: Time, now: Time) {
        let kept = waiter.lead.filter(|_| waiter.keeps && waiter.by_gate && self.follows);
        if kept.is_some_and(|kept| kept > (end + kept - waiter.since) / 16) {
            self.kept_out.push((waiter.id, now));
        }
    }

    /// Takes a call into account that the reserve has rejected.
    pub(super) fn note_rejected(&mut self, id: Id) {
        let Some(place) = self.kept_out.iter().position(|&(kept_out, _)| kept_out == id) else { return };
        let (_, at) = self.kept_out.remove(place);
        let Some(reserve) = self.reserve else { return };
        let admitted = self.count(EventKind::Admitted);
        match self.untaught.filter(|(since, _)| *since <= self.latest) {
            Some((since, before)) if at < since + 32 * reserve || admitted == before => return,
            Some(_) => self.reserve = Some(reserve - reserve / 8),
            None => {}
        }
        self.untaught = Some((self.latest, admitted));
    }

    /// Sums the use up to `now`, unless the clock was later already. It was as it is now since the
    /// last input.
    pub fn sum_use(&mut self, now: Time) {
        let passed = now.saturating_sub(self.busy_until);
        self.busy_until += passed;
        if self.measures_holds {
            self.busy += passed * self.in_use() as Time;
            self.offered += passed * self.limits.capacity as Time;
        }
    }

    /// Returns the slots that were handed over and are not collected, in the order in which they
    /// were: the call, its cost, and since when.
    pub fn uncollected(&self) -> Vec<(Id, usize, Time)> {
        let granted = self.settled.iter().filter(|settled| settled.outcome == Outcome::Granted);
        let mut uncollected: Vec<_> = granted.map(|settled| (settled.id, self.cost(settled.id), settled.at)).collect();
        uncollected.sort_by_key(|&(id, _, at)| (at, id));
        uncollected
    }

    /// Takes back the slots that have to be, and advances, if they have to be at all.
    pub fn take_back_due(&mut self, now: Time) {
        let Some(limit) = self.collect_limit else { return };
        self.next_look = self.next_look.min(now + limit);
        self.take_back_found(limit, now);
        if self.next_look <= now {
            self.found = self.uncollected().into_iter().map(|(id, _, at)| (id, at)).collect();
            self.next_look = now + limit;
            self.take_back_found(limit, now);
        }
        self.advance(now);
    }

    fn take_back_found(&mut self, limit: Time, now: Time) {
        while let Some(&(id, at)) = self.found.first().filter(|(_, at)| at.saturating_add(limit) <= now) {
            self.found.remove(0);
            if self.uncollected().iter().any(|uncollected| uncollected.0 == id) {
                self.take_back_from(id, at, now);
            }
        }
    }

    /// Takes back the slots of at least this age. Returns their number.
    pub fn take_back(&mut self, age: Time, now: Time) -> usize {
        let mut old = self.uncollected();
        old.retain(|&(_, _, at)| at.saturating_add(age) <= now);
        for &(id, _, at) in &old {
            self.take_back_from(id, at, now);
        }
        old.len()
    }

    fn take_back_from(&mut self, id: Id, at: Time, now: Time) {
        let settled = self.settled.iter_mut().find(|settled| settled.id == id).expect("not collected");
        let waited = settled.waited;
        settled.outcome = Outcome::Uncollected { waited, age: now.saturating_sub(at) };
        let cost = self.stop(id);
        self.past(EventKind::Uncollected, |past| {
            (past.cost, past.from_queue, past.waited) = (Some(cost), true, Some(waited));
        });
        self.note_drained();
        self.taken_back += 1;
    }

    /// Returns the time at which the next slot could have to be taken back.
    pub fn next_check(&self) -> Option<Time> {
        let limit = self.collect_limit?;
        let found = self.found.first().map(|(_, at)| at.saturating_add(limit));
        let has_tickets = !self.queue.is_empty() || !self.uncollected().is_empty();
        found.into_iter().chain([self.next_look]).min().filter(|_| has_tickets)
    }
}

/// Returns the reserve after a hold.
fn moved(reserve: Time, hold: Time, is_late: bool, has_waited: bool) -> Time {
    if hold >= reserve || is_late && 2 * hold > reserve {
        reserve + share(hold.max(reserve).min(4 * reserve), 101).max(1)
    } else {
        reserve - share(reserve.min(8 * hold), if has_waited { 1 } else { 16 })
    }
}

/// Returns parts of 1,024 of a duration, rounded down.
fn share(whole: Time, parts: u64) -> Time {
    whole * parts / 1_024
}
