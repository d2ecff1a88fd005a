//! The configuration of a gate, and its validation.

use core::time::Duration;

use crate::invalid::{Field, LARGEST, Violation};
use crate::{InvalidArgument, Occupancy, Request};

/// The limits of a gate: how much may run at the same time, how many requests may wait, and for how
/// long.
///
/// ```
/// # use bulklink_core::Limits;
/// const LIMITS: Limits = Limits::new(8).with_waiting_room(50);
/// assert_eq!((LIMITS.capacity, LIMITS.waiting_room), (8, 50));
/// assert_eq!((LIMITS.waiting_room_units, LIMITS.wait_limit), (None, None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Units that may be in use at the same time, 1 to [`MAX`](Limits::MAX). If every request costs
    /// one unit, this is the number of operations.
    pub capacity: usize,
    /// Requests that may wait at the same time, 0 to [`MAX`](Limits::MAX), whatever each costs.
    pub waiting_room: usize,
    /// Units that may be waited for at the same time, 1 to [`MAX`](Limits::MAX); `None` for as many
    /// as the requests in the waiting room ask for. It needs a waiting room of at least 1.
    ///
    /// It may be less than the capacity: a request that costs more than this bound never waits.
    pub waiting_room_units: Option<usize>,
    /// The longest that a request waits, more than zero; `None` for no limit.
    pub wait_limit: Option<Duration>,
}

/// Limits that are in range, as the gate keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) capacity: u32,
    pub(crate) waiting_room: u32,
    /// [`UNBOUNDED`] for no bound.
    pub(crate) waiting_room_units: u32,
    pub(crate) wait_limit: Option<Duration>,
}

/// No bound on the units that are waited for.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

impl Limits {
    /// The largest capacity and the largest waiting room: the largest value of 31 bits.
    pub const MAX: usize = LARGEST;

    /// Returns the limits of a gate with this capacity and without a waiting room.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Limits { capacity, waiting_room: 0, waiting_room_units: None, wait_limit: None }
    }

    /// Returns these limits with another [`capacity`](Limits::capacity).
    #[must_use]
    pub const fn with_capacity(self, capacity: usize) -> Self {
        Limits { capacity, ..self }
    }

    /// Returns these limits with another [`waiting_room`](Limits::waiting_room).
    #[must_use]
    pub const fn with_waiting_room(self, waiting_room: usize) -> Self {
        Limits { waiting_room, ..self }
    }

    /// Returns these limits with other [`waiting_room_units`](Limits::waiting_room_units).
    #[must_use]
    pub const fn with_waiting_room_units(self, waiting_room_units: Option<usize>) -> Self {
        Limits { waiting_room_units, ..self }
    }

    /// Returns these limits with another [`wait_limit`](Limits::wait_limit).
    #[must_use]
    pub const fn with_wait_limit(self, wait_limit: Option<Duration>) -> Self {
        Limits { wait_limit, ..self }
    }

    /// Returns the occupancy of an unused gate with these limits.
    ///
    /// # Errors
    ///
    /// If a limit is out of its range; the error names it. [`Gate::new`](crate::Gate::new) fails
    /// likewise.
    pub fn validate(&self) -> Result<Occupancy, InvalidArgument> {
        self.check(0)?;
        let Checked { capacity, waiting_room, .. } = self.narrow();
        Ok(Occupancy { in_flight: 0, in_use: 0, waiting: 0, capacity, waiting_room })
    }

    /// Checks whether a gate with these limits could ever admit a request of this cost.
    ///
    /// # Errors
    ///
    /// If the cost is zero or more than the whole capacity, as [`Gate::enter`](crate::Gate::enter)
    /// says; or if a limit is out of its range.
    pub fn check_cost(&self, request: &Request) -> Result<(), InvalidArgument> {
        self.check(0)?;
        let Checked { capacity, .. } = self.narrow();
        if (1..=capacity).contains(&request.cost) {
            return Ok(());
        }
        Err(Violation::CostOutOfRange { cost: request.cost, capacity }.into())
    }

    /// Returns why a gate cannot have these limits: a reason for each limit that is out of its
    /// range; none if they are valid.
    ///
    /// For a change of limits, `largest_cost` is the
    /// [largest cost](crate::Gate::largest_waiting_cost) of a waiter, below which the capacity must
    /// not be; for a new gate, zero.
    pub fn invalid(&self, largest_cost: usize) -> impl Iterator<Item = InvalidArgument> {
        self.ranges(narrow(largest_cost)).into_iter().filter_map(|range| range.violation()).map(InvalidArgument::from)
    }

    /// Fails with the first reason why a gate cannot have these limits, if there is one.
    #[inline(never)]
    pub(crate) fn check(&self, largest_cost: u32) -> Result<(), InvalidArgument> {
        for range in &self.ranges(largest_cost) {
            if let Some(violation) = range.violation() {
                return Err(violation.into());
            }
        }
        Ok(())
    }

    #[inline]
    fn ranges(&self, largest_cost: u32) -> [Range; 4] {
        let range = |field, value, least| Range { field, value, least };
        // Without a waiting room, no bound on its units is large enough.
        let least_units = if self.waiting_room > 0 { 1 } else { u32::MAX };
        let (units, least_units) = self.waiting_room_units.map_or((0, 0), |units| (units, least_units));
        [
            range(Field::Capacity, self.capacity, largest_cost.max(1)),
            range(Field::WaitingRoom, self.waiting_room, 0),
            range(Field::WaitingRoomUnits, units, least_units),
            range(Field::WaitLimit, usize::from(self.wait_limit != Some(Duration::ZERO)), 1),
        ]
    }

    /// Returns the limits as the gate keeps them. They must be in range.
    #[inline]
    pub(crate) fn narrow(&self) -> Checked {
        Checked {
            capacity: narrow(self.capacity),
            waiting_room: narrow(self.waiting_room),
            waiting_room_units: self.waiting_room_units.map_or(UNBOUNDED, narrow),
            wait_limit: self.wait_limit,
        }
    }
}

/// The value of a limit, and the least that it may be. No limit may be more than [`Limits::MAX`].
#[derive(Clone, Copy)]
struct Range {
    field: Field,
    value: usize,
    least: u32,
}

impl Range {
    #[inline]
    fn violation(&self) -> Option<Violation> {
        let Range { field, value, least } = *self;
        let is_valid = (least as usize..=Limits::MAX).contains(&value);
        (!is_valid).then_some(Violation::Limit { field, value, least })
    }
}

impl Checked {
    pub(crate) fn widen(self) -> Limits {
        let Checked { capacity, waiting_room, waiting_room_units: units, wait_limit } = self;
        Limits {
            capacity: capacity as usize,
            waiting_room: waiting_room as usize,
            waiting_room_units: (units != UNBOUNDED).then_some(units as usize),
            wait_limit,
        }
    }
}

/// Every limit in range fits.
fn narrow(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gate;

    const LIMITS: Limits = Limits { waiting_room: 2, ..Limits::new(3) };

    #[test]
    fn limits_are_valid_where_a_gate_accepts_them() {
        let all = [
            LIMITS,
            Limits { capacity: 0, ..LIMITS },
            Limits { capacity: Limits::MAX + 1, ..LIMITS },
            Limits { waiting_room: Limits::MAX + 1, ..LIMITS },
            Limits { wait_limit: Some(Duration::ZERO), ..LIMITS },
            Limits { waiting_room_units: Some(0), ..LIMITS },
            Limits { waiting_room_units: Some(Limits::MAX + 1), ..LIMITS },
            Limits { waiting_room_units: Some(1), waiting_room: 0, ..LIMITS },
            Limits { waiting_room_units: Some(1), ..LIMITS },
        ];
        for limits in all {
            assert_eq!(limits.validate(), Gate::<()>::new(limits).map(|gate| gate.occupancy()));
        }
    }

    #[test]
    fn a_cost_is_valid_where_a_gate_accepts_it() {
        for cost in [0, 1, 3, 4, usize::MAX] {
            let (request, mut gate) = (Request::new().cost(cost), Gate::<()>::new(LIMITS).expect("valid"));
            let entered = gate.enter(&request, None).map(drop);
            assert_eq!(LIMITS.check_cost(&request), entered, "cost {cost}");
        }
    }
}
