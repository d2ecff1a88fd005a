//! The configuration of a gate, and its validation.

use core::time::Duration;

use crate::invalid::Violation;
use crate::{InvalidArgument, Occupancy, Request};

/// The limits of a gate: how much may run at the same time, how many requests may wait, and for how
/// long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units that may be in use at the same time, 1 to [`MAX`](Limits::MAX). If every request costs
    /// one unit, this is the number of operations.
    pub capacity: usize,
    /// Requests that may wait at the same time, 0 to [`MAX`](Limits::MAX), whatever each costs.
    pub waiting_room: usize,
    /// The longest that a request waits, more than zero; `None` for no limit.
    pub wait_limit: Option<Duration>,
}

impl Limits {
    /// The largest capacity and the largest waiting room: the largest value of 31 bits.
    pub const MAX: usize = i32::MAX as usize;

    /// Returns the occupancy of an unused gate with these limits.
    ///
    /// # Errors
    ///
    /// If a limit is out of its range; the error names it. [`Gate::new`](crate::Gate::new) fails
    /// likewise.
    pub fn validate(&self) -> Result<Occupancy, InvalidArgument> {
        let (capacity, waiting_room) = self.check()?;
        Ok(Occupancy { in_flight: 0, in_use: 0, waiting: 0, capacity, waiting_room })
    }

    /// Checks whether a gate with these limits could ever admit a request of this cost.
    ///
    /// # Errors
    ///
    /// If the cost is zero or more than the whole capacity, as [`Gate::enter`](crate::Gate::enter)
    /// says; or if a limit is out of its range.
    pub fn check_cost(&self, request: &Request) -> Result<(), InvalidArgument> {
        let (capacity, _) = self.check()?;
        if (1..=capacity).contains(&request.cost) {
            return Ok(());
        }
        Err(Violation::CostOutOfRange { cost: request.cost, capacity }.into())
    }

    /// The capacity and the waiting room, if all three limits are in range.
    pub(crate) fn check(&self) -> Result<(u32, u32), InvalidArgument> {
        if self.wait_limit == Some(Duration::ZERO) {
            return Err(Violation::NoWaitLimit.into());
        }
        let waiting_room = in_range(self.waiting_room).ok_or(Violation::WaitingRoomTooLarge(self.waiting_room));
        Ok((check_capacity(self.capacity)?, waiting_room?))
    }
}

pub(crate) fn check_capacity(capacity: usize) -> Result<u32, InvalidArgument> {
    match in_range(capacity).ok_or(Violation::CapacityTooLarge(capacity))? {
        0 => Err(Violation::NoCapacity.into()),
        units => Ok(units),
    }
}

fn in_range(limit: usize) -> Option<u32> {
    u32::try_from(limit).ok().filter(|_| limit <= Limits::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gate;

    const LIMITS: Limits = Limits { capacity: 3, waiting_room: 2, wait_limit: None };

    #[test]
    fn limits_are_valid_where_a_gate_accepts_them() {
        let all = [
            LIMITS,
            Limits { capacity: 0, ..LIMITS },
            Limits { capacity: Limits::MAX + 1, ..LIMITS },
            Limits { waiting_room: Limits::MAX + 1, ..LIMITS },
            Limits { wait_limit: Some(Duration::ZERO), ..LIMITS },
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
