//! The lines of a pool, as the world drives them: lists, or gates.

use std::fmt::Debug;

use bulklink_core::Instant;
use bulklink_core::pool::{Demand, LineId, Lines};

use super::model::{Call, Cost};

/// What became of a call that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It has its units.
    Admitted,
    /// It has waited as long as it may.
    Expired,
    /// Its place went to another call.
    Displaced,
}

/// Lines that a world drives. Each line has a word, which [`publish`](Driven::publish) makes live.
pub trait Driven: Lines + Default + Debug {
    /// Whether a line can be held up.
    const HOLDS_UP: bool;

    /// Takes back the word of a line, if it is live.
    fn fold(&mut self, line: LineId);
    /// Makes the word of a line live, with these units lent to it; `None` for no word.
    fn publish(&mut self, line: LineId, lent: Option<u32>);
    /// Returns the units that are lent to a line by its live word and not in use.
    fn offered(&self, line: LineId) -> u32;
    /// Returns whether the word of a line is live.
    fn is_live(&self, line: LineId) -> bool;
    /// Admits a call by the live word. Returns whether that was possible.
    fn enter_by_word(&mut self, line: LineId, call: Call) -> bool;
    /// Ends an operation by the live word. Returns whether that was possible.
    fn release_by_word(&mut self, line: LineId, call: Call) -> bool;

    /// Expires the waiters that are due.
    fn expire(&mut self, line: LineId, now: Instant);
    /// Returns the demand of a line whose word is not live.
    fn demand(&self, line: LineId) -> Demand;
    /// Gives a call that is lent its units.
    fn admit_newcomer(&mut self, line: LineId, call: Call, cost: Cost, now: Instant);
    /// Gives a call that waits, until the deadline if it has one.
    fn queue(&mut self, line: LineId, call: Call, cost: Cost, deadline: Option<Instant>, now: Instant);
    /// Ends an operation.
    fn release(&mut self, line: LineId, call: Call);
    /// Withdraws a call that waits.
    fn cancel(&mut self, line: LineId, call: Call, now: Instant);
    /// Has the line's own limits admit nothing, or calls again.
    fn hold_up(&mut self, line: LineId);
    /// Forgets the line, which has neither operations nor waiters.
    fn forget(&mut self, line: LineId);
    /// Returns what became of calls that waited, in order, since the last call of this.
    fn take_settled(&mut self) -> Vec<(Call, Settled)>;
}
