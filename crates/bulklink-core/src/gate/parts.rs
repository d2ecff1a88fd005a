//! Grants that are split, merged or written off.

use core::num::NonZeroU32;

use super::Gate;
use crate::{EventKind, Grant};

impl<W> Gate<W> {
    /// Splits `units` off a grant. Returns the rest of it, and the grant of these units; or the
    /// grant, if one of both would have no unit. [`Calls`](crate::Calls) counts it.
    pub(crate) fn split(&mut self, grant: Grant, units: usize) -> Result<(Grant, Grant), Grant> {
        let cost = grant.units();
        let part = u32::try_from(units).ok().filter(|&part| part < cost).and_then(NonZeroU32::new);
        let Some(part) = part else { return Err(grant) };
        let rest = NonZeroU32::new(cost - part.get()).unwrap_or(part);
        self.in_flight += 1;
        self.peaks.in_flight = self.peaks.in_flight.max(self.in_flight);
        self.note(EventKind::Split, units);
        let waited = grant.waited();
        Ok((Grant::of(rest, waited), Grant::of(part, waited)))
    }

    /// Merges a grant into another, which then holds the units of both, and keeps its wait.
    /// [`Calls`](crate::Calls) counts it.
    pub(crate) fn merge(&mut self, grant: Grant, merged: Grant) -> Grant {
        let units = merged.units();
        self.in_flight -= 1;
        self.note(EventKind::Merged, units as usize);
        let units = NonZeroU32::new(grant.units() + units).unwrap_or(NonZeroU32::MIN);
        Grant::of(units, grant.waited())
    }

    /// Ends an operation without giving its units back. Returns their number, which
    /// [`Calls`](crate::Calls) counts.
    ///
    /// More is in use from then on than operations hold, so no word offers units.
    pub(crate) fn write_off(&mut self, grant: Grant) -> u32 {
        let units = grant.units();
        self.in_flight -= 1;
        self.note(EventKind::WrittenOff, units as usize);
        self.note_drained();
        units
    }
}
