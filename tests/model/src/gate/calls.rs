//! The calls that are accounted for by themselves, in the reference model, and the reserve that
//! follows those with a deadline.

use super::model::{Ask, Id, Model, Time};

/// The times of a call that holds a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) id: Id,
    pub(super) entered: Time,
    pub(super) waited: Time,
    pub(super) end: Time,
    /// The latest end of its wait.
    pub(super) wait_end: Time,
    pub(super) by_gate: bool,
}

impl Call {
    pub(super) fn without_deadline(id: Id, entered: Time, waited: Time) -> Self {
        Call { id, entered, waited, end: Time::MAX, wait_end: Time::MAX, by_gate: false }
    }
}

impl Model {
    /// Returns what a call with this much time in all must leave to its operation.
    pub(super) fn keep(&self, ask: Ask, budget: Time) -> Time {
        let own = ask.leaving.map(|own| own.max(1));
        own.or(self.reserve).unwrap_or((budget / 4).max(1)).min(share(budget, 972))
    }

    /// Begins the reserve with the first call that is admitted or queued.
    pub(super) fn begin(&mut self, ask: Ask, now: Time) {
        if let (Some(end), None) = (ask.deadline, ask.leaving) {
            self.reserve.get_or_insert(((end - now) / 4).max(1));
        }
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
        if !self.follows || !call.by_gate || hold >= budget {
            return;
        }
        let reserve = self.reserve.expect("a call has come");
        if is_late {
            let grown = reserve + share(reserve, 101).max(1);
            self.reserve = Some(grown.min(share(budget, 921)).max(reserve));
        } else if call.waited > (call.wait_end - call.entered) / 2 {
            let reserve = reserve.min(share(budget, 921).max(1));
            self.reserve = Some((reserve - share(reserve, 1)).max(1));
        }
    }
}

/// Returns parts of 1,024 of a duration, rounded down.
fn share(whole: Time, parts: u64) -> Time {
    whole * parts / 1_024
}
