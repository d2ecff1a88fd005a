//! The configuration of a gate, and its validation.

use core::time::Duration;

use crate::InvalidArgument;
use crate::invalid::Violation;

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

    /// Returns the capacity and the waiting room, if all three limits are in range.
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
