//! What a gate is configured with, and the check of it.

use core::time::Duration;

use crate::InvalidArgument;
use crate::invalid::Found;

/// The limits of a gate: how much may run at once, how many may wait, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units that may be in use at once, 1 to [`MAX`](Limits::MAX). With a cost of one each, the number of operations.
    pub capacity: usize,
    /// Operations that may wait at once, 0 to [`MAX`](Limits::MAX), whatever each costs.
    pub waiting_room: usize,
    /// The longest that anyone waits, more than zero; `None` for as long as it takes.
    pub wait_limit: Option<Duration>,
}

impl Limits {
    /// The largest capacity and the largest waiting room: what 31 bits hold.
    pub const MAX: usize = i32::MAX as usize;

    /// The capacity and the waiting room, if all three limits are in range.
    pub(crate) fn check(&self) -> Result<(u32, u32), InvalidArgument> {
        if self.wait_limit == Some(Duration::ZERO) {
            return Err(Found::NoWaitLimit.into());
        }
        let waiting_room = in_range(self.waiting_room).ok_or(Found::WaitingRoomTooLarge(self.waiting_room));
        Ok((check_capacity(self.capacity)?, waiting_room?))
    }
}

pub(crate) fn check_capacity(capacity: usize) -> Result<u32, InvalidArgument> {
    match in_range(capacity).ok_or(Found::CapacityTooLarge(capacity))? {
        0 => Err(Found::NoCapacity.into()),
        units => Ok(units),
    }
}

fn in_range(limit: usize) -> Option<u32> {
    u32::try_from(limit).ok().filter(|_| limit <= Limits::MAX)
}
