//! How a world of a pool begins.

use bulklink_core::pool::{Limits, Share};

use super::model::Cost;
use super::world::Input;

/// How a world begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// The limits, and others that can be set later.
    pub limits: Vec<Limits>,
    /// The shares of the keys.
    pub shares: Vec<Share>,
    /// Shares that can be set later.
    pub other_shares: Vec<Share>,
    /// The costs of calls.
    pub costs: Vec<Cost>,
    /// The classes of calls, by their place.
    pub classes: Vec<usize>,
    /// Whether shares and limits change in the middle of a script, and not only at its end.
    pub changes: bool,
    /// Whether calls with a deadline come, and time passes, in the middle of a script too.
    pub deadlines: bool,
    /// Inputs that were given already, so that the search begins in a state where much can happen.
    pub prelude: Vec<Input>,
}

impl Start {
    /// Returns whether no line of calls of one unit waits beside a free unit, unless it is at its
    /// ceiling: all calls are of one class, and no unit is kept or left.
    pub(super) fn is_plain(&self) -> bool {
        let shares = self.shares.iter().chain(&self.other_shares);
        let is_kept = shares.clone().any(|share| share.is_kept);
        let headroom = self.limits.iter().any(|limits| limits.headroom != [0; 4]);
        self.classes.len() == 1 && !is_kept && !headroom
    }
}

/// Returns a share with this weight and floor.
#[must_use]
pub fn share(weight: u32, floor: Cost) -> Share {
    let mut share = Share::new();
    (share.weight, share.floor) = (weight, floor);
    share
}
