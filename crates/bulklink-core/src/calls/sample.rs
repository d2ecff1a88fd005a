//! The ends of calls as samples for a limit.

use core::mem;
use core::time::Duration;

use super::Calls;
use crate::limit::{Outcome, Sample};
use crate::{Gate, Grant, Instant};

impl Calls {
    /// Sets how an operation ends, for its [sample](Calls::sample): as a
    /// [success](Outcome::Success), if this is not called.
    ///
    /// With `None`, and if its request is `ignored` (with the feature `restriction`), it is an
    /// overload from 95 % of its time to its [deadline](crate::Request::deadline) on, and ignored
    /// before. Does nothing for a grant without a record: one of a gate whose holds are not
    /// [measured](Calls::measure_holds).
    pub fn set_outcome(&mut self, grant: &Grant, outcome: Option<Outcome>) {
        if let Some(place) = grant.place() {
            self.entries[place].outcome = outcome;
        }
    }

    /// Returns a call that is about to [end](Calls::end) at `now` as a sample for a
    /// [limit](crate::limit). Returns `None` if the grant has no record, or if the call's end
    /// is [no sign of the load](Outcome::Ignore).
    ///
    /// Calls [press](Sample::pressed) if this one waited, if one waits now, or if one has begun to
    /// wait or found no room since the latest sample.
    pub fn sample<W>(&mut self, gate: &Gate<W>, grant: &Grant, now: Instant) -> Option<Sample> {
        let place = grant.place()?;
        let call = &self.entries[place];
        let outcome = match call.outcome {
            // Cancelled: at its deadline, because it took too long; else by its caller's own side.
            None if call.is_given_up(now) => Outcome::Overload,
            None | Some(Outcome::Ignore) => return None,
            Some(outcome) => outcome,
        };
        let (occupancy, pressure) = (gate.occupancy(), gate.pressure());
        let is_new = mem::replace(&mut self.pressure, pressure) != pressure;
        let units = call.grant.as_ref().and_then(Grant::cost).unwrap_or(1);
        let sample = Sample::new(now, Duration::from_nanos(call.hold_nanos(now))).units(units);
        let sample = sample.in_flight(occupancy.in_use()).outcome(outcome);
        Some(sample.pressed(is_new || call.waited_nanos > 0 || occupancy.waiting() > 0))
    }
}
