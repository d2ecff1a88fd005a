//! The row of one process.

use super::{Level, ServerTime, Token};

/// The knowledge of the server about one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Row {
    /// The latest statement.
    pub(super) seq: u64,
    /// When it was processed, in the order of the name.
    pub(super) serial: Token,
    pub(super) granted: u32,
    pub(super) need: u32,
    /// The units with which the process can go on.
    pub(super) least: u32,
    pub(super) weight: u32,
    /// The place in the queue. Zero if its need is met.
    pub(super) ticket: u64,
    /// The time of the latest statement.
    pub(super) stated: ServerTime,
    /// Until then, the process counts as living and can be granted units: for a claim. Zero from
    /// then on, or when a notice finds that the process does not listen.
    pub(super) heard: ServerTime,
    /// The row is dropped then.
    pub(super) until: ServerTime,
    /// The token of the last growth.
    pub(super) token: Token,
}

impl Row {
    pub(super) fn is_hungry(&self) -> bool {
        self.granted < self.need
    }

    /// Returns how many units help the process, at least: fewer would stay idle.
    pub(super) fn step(&self) -> u32 {
        self.least.min(self.need).saturating_sub(self.granted).max(1)
    }

    /// Whether the process can be granted units.
    pub(super) fn is_served(&self) -> bool {
        self.heard > ServerTime::default()
    }

    /// Whether the process waits for units that it can be granted. With more than the limit, it can
    /// only wait for its own operations to end.
    pub(super) fn waits(&self, limit: u32) -> bool {
        self.is_hungry() && self.is_served() && self.least <= limit
    }

    /// Whether the process has and needs nothing: its last statement was that it leaves.
    pub(super) fn is_empty(&self) -> bool {
        self.granted == 0 && self.need == 0
    }

    /// Returns when the row changes without a statement.
    pub(super) fn turns(&self) -> ServerTime {
        if self.is_served() { self.heard } else { self.until }
    }

    /// Returns the units that the process can keep in use while others wait.
    pub(super) fn fair(&self, level: Level) -> u32 {
        self.need.min(level.units(self.weight))
    }
}
