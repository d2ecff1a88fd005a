//! Why a statement or a change of the limit has no effect.

use std::time::Duration;

use thiserror::Error;

use super::{Declaration, Statement};
use crate::{ProcessId, Version};

/// Why a statement was refused. It has had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A later statement of the process, or this one, was processed before.
    #[error("a later statement of the process was processed before")]
    Stale,
    /// The process declares other values than the fleet, for the same configuration.
    #[error("another process has declared other values")]
    Conflict(#[source] Conflict),
}

/// Two declarations of the same configuration that differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[error("{difference} of process {declarer}, both for config {}", fleet.config)]
pub struct Conflict {
    /// The declaration that the fleet has.
    pub fleet: Box<Declaration>,
    /// The process that has declared it.
    pub declarer: ProcessId,
    /// The first value that differs.
    pub difference: Difference,
}

/// A value that differs between two declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Difference {
    /// The limit, in units.
    #[error("limit {own} differs from {fleet}")]
    Limit {
        /// The value of the refused process.
        own: u32,
        /// The value of the fleet.
        fleet: u32,
    },
    /// The lease.
    #[error("lease {own:?} differs from {fleet:?}")]
    Lease {
        /// The value of the refused process.
        own: Duration,
        /// The value of the fleet.
        fleet: Duration,
    },
    /// The claim.
    #[error("claim {own:?} differs from {fleet:?}")]
    Claim {
        /// The value of the refused process.
        own: Duration,
        /// The value of the fleet.
        fleet: Duration,
    },
    /// How long idle units are called back.
    #[error("calm {own:?} differs from {fleet:?}")]
    Calm {
        /// The value of the refused process.
        own: Duration,
        /// The value of the fleet.
        fleet: Duration,
    },
    /// Whether a loss of data begins a quarantine.
    #[error("recovery {own} differs from {fleet}")]
    Recovery {
        /// The value of the refused process.
        own: bool,
        /// The value of the fleet.
        fleet: bool,
    },
}

impl Difference {
    /// Returns the first value in which two declarations of one configuration differ.
    fn between(own: &Declaration, fleet: &Declaration) -> Option<Self> {
        let (mine, theirs) = (&own.terms, &fleet.terms);
        let all = [
            (own.limit != fleet.limit).then_some(Self::Limit { own: own.limit, fleet: fleet.limit }),
            (mine.lease != theirs.lease).then_some(Self::Lease { own: mine.lease, fleet: theirs.lease }),
            (mine.claim != theirs.claim).then_some(Self::Claim { own: mine.claim, fleet: theirs.claim }),
            (mine.calm != theirs.calm).then_some(Self::Calm { own: mine.calm, fleet: theirs.calm }),
            (mine.recovers != theirs.recovers).then_some(Self::Recovery { own: mine.recovers, fleet: theirs.recovers }),
        ];
        all.into_iter().flatten().next()
    }
}

impl Refusal {
    /// Returns the refusal of a statement that declares other values than the fleet, whose
    /// declaration is that of `declarer`. `None` if they are the same.
    #[must_use]
    pub fn between(statement: &Statement, declarer: ProcessId, fleet: &Declaration) -> Option<Self> {
        let conflict = |difference| Self::Conflict(Conflict { fleet: Box::new(*fleet), declarer, difference });
        Difference::between(&statement.declaration.bounded(), fleet).map(conflict)
    }
}

/// Why the limit was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum LimitRefusal {
    /// The name has no data: no process has stated anything yet, or the data was lost.
    #[error("no process has declared a limit")]
    Absent,
    /// The limit has another version than the expected one.
    #[error("the limit is {limit}, in version {current}")]
    Version {
        /// The version of the live limit.
        current: Version,
        /// The live limit, in units.
        limit: u32,
    },
}
