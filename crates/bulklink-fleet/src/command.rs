//! The protocol between a process and a server, as plain values.
//!
//! Numbers in it are exact below 2⁵³, so a server may compute with floating-point numbers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{CallId, OwnerId};

/// Declares numbers that must not be mistaken for each other.
macro_rules! numbers {
    ($($(#[$docs:meta])* $name:ident)+) => {$(
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u64);

        impl From<u64> for $name {
            fn from(number: u64) -> Self {
                Self(number)
            }
        }

        impl From<$name> for u64 {
            fn from(number: $name) -> Self {
                number.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

numbers! {
    /// The life of one set of a bulkhead's data; data that is made anew has a larger one.
    ///
    /// It is the server's time when the data was made, in microseconds, or more.
    Epoch
    /// A fencing token: larger than all that were handed out before for the same name.
    Token
    /// A place in the queue; smaller ones are first.
    ///
    /// The first ticket of an epoch is larger than the epoch, as is its first token: so a waiter
    /// that returns after a loss of data is ahead of all that came later.
    Ticket
    /// Counts the changes of the live limit.
    Version
    /// An instant of the server's clock, in microseconds since 1970.
    ServerTime
    /// Identifies a run of the server program: another one may lack data. A hash of its run id.
    RunId
}

impl ServerTime {
    /// Returns the instant that is `duration` later, in whole microseconds.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Returns the time from `earlier` to this instant, and zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// What must be equal in all processes of a fleet, by name. Durations are in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How long a lease is valid after it was granted or renewed.
    pub ttl: Duration,
    /// How long a pushed grant is valid without a beat, and a process counts as alive after one.
    pub claim: Duration,
    /// How many tokens a grant is worth: one more than a process may reuse it.
    pub block: u64,
}

/// What a process believes to talk to. A server with other data answers
/// [`Stale`](Outcome::Stale).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Era {
    /// The epoch of the data.
    pub epoch: Epoch,
    /// The run of the server that the link talks to. `None` if the fleet recovers without a
    /// quarantine, or if the run cannot be learned.
    pub run: Option<RunId>,
}

/// One step on the server: it happens whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Creates or joins the bulkhead, and begins a session.
    Open {
        /// The process.
        owner: OwnerId,
        /// Counts the links of the process. Beats of earlier links are refused.
        generation: u64,
        /// The limit that the process declares, in units.
        limit: u64,
        /// Which declaration it is: a larger one replaces the limit, a smaller one is ignored.
        config: u64,
        /// What must be equal in all processes.
        terms: Terms,
        /// The epoch that the process knows, if it may still hold a lease of it.
        known: Option<Epoch>,
        /// The largest token that the process has, with those that it may use of its blocks.
        highest: Option<Token>,
        /// The run of the server, as in [`Era::run`].
        run: Option<RunId>,
        /// Whether the server has run for less than the ttl: data may have been lost just now.
        young: bool,
        /// A text for people about the process; printable ASCII without spaces.
        info: Arc<str>,
    },
    /// Asks for a lease.
    Acquire {
        /// The call.
        id: CallId,
        /// Whether the call waits if it is not admitted immediately.
        wait: bool,
        /// The largest number of waiters of the whole fleet.
        queue: u64,
        /// What the process believes to talk to.
        era: Era,
        /// As declared.
        terms: Terms,
        /// Leases and waiters to give back in the same step, before.
        give_back: Vec<CallId>,
    },
    /// Gives back leases, and takes waiters out of the queue.
    Release {
        /// Leases and waiters in any order; unknown ones are ignored.
        ids: Vec<CallId>,
    },
    /// Renews all that a process has in this bulkhead, and repairs what was lost on the way.
    Beat {
        /// The process.
        owner: OwnerId,
        /// Counts the links of the process.
        generation: u64,
        /// What the process believes to talk to.
        era: Era,
        /// As declared.
        terms: Terms,
        /// As in [`Open`](Self::Open).
        info: Arc<str>,
        /// The leases to renew.
        leases: Vec<CallId>,
        /// The waiters, with their tickets.
        waiters: Vec<(CallId, Ticket)>,
        /// Calls that have ended, and may have left something on the server.
        gone: Vec<CallId>,
    },
    /// Drops leases that have expired, and moves the queue.
    Reap {
        /// Whether to drop waiters of dead processes too.
        full: bool,
        /// The number of waiters to skip: 0, then what the last answer returned.
        offset: u64,
    },
    /// Changes the live limit, if nothing else did since.
    SetLimit {
        /// The new limit, in units.
        limit: u64,
        /// The version that it replaces.
        expected: Version,
    },
    /// Ends a session, and gives back what the process has.
    Close {
        /// The process.
        owner: OwnerId,
        /// All leases and waiters of the process.
        ids: Vec<CallId>,
    },
    /// Reads the state, and changes nothing.
    Status {
        /// How many leases, waiters and processes to skip.
        offset: u64,
        /// How many of each to return.
        count: u64,
    },
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What came of the command.
    pub outcome: Outcome,
    /// The state afterwards. A grant and a release may omit it, and a status always does.
    pub head: Option<Head>,
}

/// The state of a bulkhead after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The server's time.
    pub now: ServerTime,
    /// The epoch, if there is any data. Without it, limit, version and used are zero.
    pub epoch: Option<Epoch>,
    /// The live limit, in units.
    pub limit: u64,
    /// The version of the live limit.
    pub version: Version,
    /// The units in use.
    pub used: u64,
    /// The number of waiters.
    pub waiting: u64,
    /// Whether work was left: [`Command::Reap`] goes on with it.
    pub more: bool,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The data is of another epoch or another run: open, beat, and then repeat the command.
    Stale,
    /// Done: of a release, a change of the limit, and closing.
    Done,
    /// The bulkhead is open.
    Opened {
        /// The end of the quarantine, in which nothing is granted. Zero if there was none.
        quarantine: ServerTime,
        /// The number of living processes.
        owners: u64,
    },
    /// The call has its lease.
    Granted {
        /// The token of the grant.
        token: Token,
    },
    /// The call waits.
    Queued {
        /// Its place.
        ticket: Ticket,
        /// When the first lease expires. Zero if there is none.
        first_expiry: ServerTime,
        /// The number of waiters before it.
        position: u64,
    },
    /// No unit is free, or other calls wait, and the call does not wait.
    Saturated {
        /// When the first lease expires. Zero if there is none.
        first_expiry: ServerTime,
    },
    /// No unit is free, and neither is a place in the queue.
    QueueFull {
        /// When the first lease expires. Zero if there is none.
        first_expiry: ServerTime,
    },
    /// Data was lost, and the call does not wait until all leases of before are known or over.
    Recovering {
        /// When that is.
        until: ServerTime,
    },
    /// The cost is above the live limit.
    TooLarge,
    /// Another process declared another limit for the same configuration.
    LimitConflict {
        /// What it declared, in units.
        limit: u64,
        /// For which configuration.
        config: u64,
    },
    /// The limit has another version than expected: the one in the head.
    VersionConflict,
    /// Other processes have other terms.
    TermsConflict {
        /// Their [`Terms::ttl`].
        ttl: Duration,
        /// Their [`Terms::claim`].
        claim: Duration,
    },
    /// Some processes recover with a quarantine, and others without.
    RecoveryConflict,
    /// The beat is of an earlier link than the session.
    OldGeneration,
    /// The beat was applied.
    Beaten {
        /// When the first lease expires. Zero if there is none.
        first_expiry: ServerTime,
        /// The number of living processes.
        owners: u64,
        /// Leases that are over. Their units may be in use by others.
        lost: Vec<CallId>,
        /// Waiters that have a lease: the notice was lost, or is on its way.
        granted: Vec<(CallId, Token)>,
        /// The end of the quarantine. Zero if there was none.
        quarantine: ServerTime,
    },
    /// What has expired was dropped.
    Reaped {
        /// The units that became free.
        freed: u64,
        /// The waiters that were dropped.
        dropped: u64,
        /// The offset of the next call, if the head says that there is more.
        next: u64,
    },
    /// The state.
    Status(Box<Status>),
}

/// A page of the state of a bulkhead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The server's time.
    pub now: ServerTime,
    /// The settings and counters. `None` if the bulkhead does not exist.
    pub settings: Option<Settings>,
    /// The number of leases.
    pub leases: u64,
    /// The number of waiters.
    pub waiting: u64,
    /// The number of leases that have expired, and count until they are dropped.
    pub expired: u64,
    /// Leases and when they expire, the first to expire first.
    pub lease_page: Vec<(CallId, ServerTime)>,
    /// Waiters and their tickets, in order.
    pub waiter_page: Vec<(CallId, Ticket)>,
    /// Processes, the first to expire first.
    pub session_page: Vec<SessionStatus>,
}

/// The settings and counters of a bulkhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The epoch of the data.
    pub epoch: Epoch,
    /// The live limit, in units.
    pub limit: u64,
    /// Its version.
    pub version: Version,
    /// The limit that processes declared, in units.
    pub declared: u64,
    /// For which configuration.
    pub config: u64,
    /// What all processes have in common.
    pub terms: Terms,
    /// The end of the last quarantine. Zero if there was none.
    pub quarantine: ServerTime,
    /// The units that leases cost beyond one each.
    pub extra: u64,
    /// The last token that was handed out; the epoch if there is none.
    pub token: Token,
    /// The last ticket that was handed out; the epoch if there is none.
    pub ticket: Ticket,
    /// The run of the server that was opened last.
    pub run: Option<RunId>,
}

/// A process in a [`Status`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// The process.
    pub owner: OwnerId,
    /// When its session ends unless it beats.
    pub until: ServerTime,
    /// Its latest link. Zero if unknown.
    pub generation: u64,
    /// What it said about itself.
    pub info: Arc<str>,
}

/// What the server tells a process without being asked. It may be lost, late, or doubled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A waiter has a lease, valid for [`Terms::claim`] until a beat renews it.
    Granted {
        /// The call.
        id: CallId,
        /// The token of the grant.
        token: Token,
        /// The epoch of the grant.
        epoch: Epoch,
    },
    /// A waiter left the queue, because its cost is above the new limit.
    TooLarge {
        /// The call.
        id: CallId,
    },
}
