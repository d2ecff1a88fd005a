//! Why a call got no permit.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Outcome;

/// The reason for a rejection. Where a local bulkhead has the same reason, the word is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// All units of the fleet were in use, and the waiting room was full or the call did not want
    /// to wait.
    Saturated,
    /// The wait limit or the deadline passed before the call got a permit.
    Expired,
    /// The bulkhead was closed in this process.
    Closed,
    /// The cost is impossible: zero, or more than the limit of the fleet.
    InvalidCost,
    /// The store is out of reach, or could not carry out the command.
    Unavailable,
    /// The store has lost data. Nothing is granted until all permits of before are known or over,
    /// and the call did not want to wait.
    Recovering,
    /// The processes of the fleet disagree about the bulkhead: see [`Rejection::conflict`].
    Conflict,
}

impl Reason {
    /// Returns the name in snake case, for machines: for a metric's label or a log. It never
    /// changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Saturated => "saturated",
            Self::Expired => "expired",
            Self::Closed => "closed",
            Self::InvalidCost => "invalid_cost",
            Self::Unavailable => "unavailable",
            Self::Recovering => "recovering",
            Self::Conflict => "conflict",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidCost => "invalid cost",
            other => other.as_str(),
        })
    }
}

/// What the processes of a fleet disagree about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// Another process declared another limit for the same configuration.
    Limit {
        /// What it declared, in units.
        limit: u64,
        /// For which configuration.
        config: u64,
    },
    /// Other processes have other times, or another number of uses for each grant.
    Terms {
        /// Their time of a lease.
        lease: Duration,
        /// Their time of a claim.
        claim: Duration,
    },
    /// Some processes recover from a loss of data with a quarantine, and others without.
    Recovery,
}

impl Conflict {
    pub(crate) fn of(outcome: &Outcome) -> Option<Self> {
        match *outcome {
            Outcome::LimitConflict { limit, config } => Some(Self::Limit { limit, config }),
            Outcome::TermsConflict { ttl, claim } => Some(Self::Terms { lease: ttl, claim }),
            Outcome::RecoveryConflict => Some(Self::Recovery),
            _ => None,
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit { limit, config } => {
                write!(f, "another process declared limit {limit} for configuration {config}")
            }
            Self::Terms { lease, claim } => write!(
                f,
                "other processes have lease {lease:?} and claim {claim:?}, or another number of uses for each grant"
            ),
            Self::Recovery => f.write_str("some processes recover with a quarantine, and others without"),
        }
    }
}

impl Error for Conflict {}

/// The units and waiters of the whole fleet, as the store last told this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// The live limit, in units. Zero if the store has never answered.
    pub limit: u64,
    /// The units in use.
    pub in_use: u64,
    /// The number of waiters.
    pub waiting: u64,
    /// The largest number of waiters.
    pub waiting_room: u64,
}

/// The error of a call that got no permit: its operation has not begun.
///
/// It has the reason, the bulkhead's name, the fleet's occupancy, and how long the call waited. It
/// never contains credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub(crate) label: Arc<str>,
    pub(crate) reason: Reason,
    pub(crate) cost: u64,
    pub(crate) waited: Duration,
    pub(crate) occupancy: Occupancy,
    pub(crate) conflict: Option<Conflict>,
}

impl Rejection {
    /// Returns the reason for the rejection.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns the name of the bulkhead, without its namespace.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the units that the call asked for.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Returns how long the call waited, in the process and in the fleet's queue.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Returns the fleet's units and waiters, as the store last told this process.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// Returns what the processes disagree about, if the reason is [`Conflict`](Reason::Conflict).
    #[must_use]
    pub fn conflict(&self) -> Option<Conflict> {
        self.conflict
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, reason, cost, waited, occupancy, conflict } = self;
        write!(f, "bulkhead {label} of the fleet: {reason}")?;
        if let Some(conflict) = conflict {
            return write!(f, ": {conflict}");
        }
        if *reason == Reason::InvalidCost {
            return write!(f, ": cost must be between 1 and {}, got {cost}", occupancy.limit);
        }
        if !waited.is_zero() {
            write!(f, " after {waited:?}")?;
        }
        let Occupancy { limit, in_use, waiting, waiting_room } = occupancy;
        write!(f, " ({in_use} of {limit} in use, {waiting} of {waiting_room} waiting)")
    }
}

impl Error for Rejection {}
