//! The figures of a share, and the tokens of its operations.

use std::fmt;
use std::time::Duration;

use crate::share::Refusal;
use crate::{StoreError, Token, Version};

/// The figures of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareStatus {
    /// The units that this process can use: the ceiling of its bulkhead is at most that.
    pub granted: usize,
    /// Units in use when the share was looked at last.
    pub in_use: usize,
    /// The units that this process can keep in use while others wait; `None` if none waits.
    pub firm: Option<usize>,
    /// The live limit of the fleet, in units. Zero until the store has answered.
    pub limit: usize,
    /// Its version.
    pub version: Version,
    /// The number of processes that use or need units.
    pub processes: u64,
    /// The sum of their weights.
    pub weights: u64,
    /// How long nothing is granted yet, because data was lost, or the name is new on a server that
    /// has just started. `None` if that is not so.
    pub quarantine: Option<Duration>,
    /// How long units can be used if the store does not answer any more. `None` without units.
    pub lease_left: Option<Duration>,
    /// Why the store does not answer, if it does not.
    pub error: Option<StoreError>,
    /// Why the store refuses the statements of this process, if it does: then the share ends with
    /// its lease.
    pub refusal: Option<Refusal>,
    /// Why the fleet has refused the values that this process has declared after it had joined, as
    /// by [another configuration](super::Fleet::apply), if it has: then the share goes on with what
    /// the fleet has.
    pub declined: Option<Refusal>,
    /// How often a lease has ended while units were in use.
    pub lost: u64,
}

/// Orders operations on a resource: see [`FleetShare::token`](super::FleetShare::token).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FencingToken {
    /// The token of the grant by which the process had more units last.
    pub grant: Token,
    /// Counts the tokens that this process has made since then.
    pub number: u64,
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.grant, self.number)
    }
}
