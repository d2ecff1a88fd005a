//! Why a statement or a change of the limit has no effect.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::{Declaration, Statement};
use crate::{ProcessId, Version};

/// Why a statement was refused. It has had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// A later statement of the process, or this one, was processed before.
    Stale,
    /// The process declares other values than the fleet, for the same configuration.
    Conflict(Conflict),
}

/// Two declarations of the same configuration that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conflict {
    /// The configuration of both.
    pub config: u64,
    /// The process whose declaration the fleet has.
    pub declarer: ProcessId,
    /// The first value that differs.
    pub difference: Difference,
}

/// A value that differs between two declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// The limit, in units.
    Limit {
        /// The value of the refused process.
        own: u32,
        /// The value of the fleet.
        fleet: u32,
    },
    /// The lease.
    Lease {
        /// The value of the refused process.
        own: Duration,
        /// The value of the fleet.
        fleet: Duration,
    },
    /// The claim.
    Claim {
        /// The value of the refused process.
        own: Duration,
        /// The value of the fleet.
        fleet: Duration,
    },
    /// How long idle units are called back.
    Calm {
        /// The value of the refused process.
        own: Duration,
        /// The value of the fleet.
        fleet: Duration,
    },
    /// Whether a loss of data begins a quarantine.
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
        let own = statement.declaration;
        let conflict = |difference| Self::Conflict(Conflict { config: own.config, declarer, difference });
        Difference::between(&own.bounded(), fleet).map(conflict)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str("a later statement of the process was processed before"),
            Self::Conflict(conflict) => conflict.fmt(f),
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, declarer, difference } = self;
        let (name, own, fleet) = difference.texts();
        write!(f, "{name} {own} differs from {fleet} of process {declarer}, both for config {config}")
    }
}

impl Difference {
    /// Returns the name of the value, and both values.
    fn texts(&self) -> (&'static str, String, String) {
        fn both<T: fmt::Debug>(own: T, fleet: T) -> (String, String) {
            (format!("{own:?}"), format!("{fleet:?}"))
        }
        let (name, (own, fleet)) = match *self {
            Self::Limit { own, fleet } => ("limit", both(own, fleet)),
            Self::Lease { own, fleet } => ("lease", both(own, fleet)),
            Self::Claim { own, fleet } => ("claim", both(own, fleet)),
            Self::Calm { own, fleet } => ("calm", both(own, fleet)),
            Self::Recovery { own, fleet } => ("recovery", both(own, fleet)),
        };
        (name, own, fleet)
    }
}

impl Error for Refusal {}

/// Why the limit was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitRefusal {
    /// The name has no data: no process has stated anything yet, or the data was lost.
    Absent,
    /// The limit has another version than the expected one.
    Version {
        /// The version of the live limit.
        current: Version,
        /// The live limit, in units.
        limit: u32,
    },
}

impl fmt::Display for LimitRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("no process has declared a limit"),
            Self::Version { current, limit } => write!(f, "the limit is {limit}, in version {current}"),
        }
    }
}

impl Error for LimitRefusal {}
