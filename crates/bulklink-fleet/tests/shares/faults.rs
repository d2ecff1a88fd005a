//! Faults that are planted into what goes in and out of the machines, to see that the tests find
//! them.

use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink_fleet::share::{Connection, Demand, Grant, Notice, Reply, Statement, Status};
use bulklink_fleet::{ServerTime, Token};

use crate::world::{Member, Message};

/// The lease of the first declaration.
const LEASE: Duration = Duration::from_millis(6);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    None,
    /// The reply to an earlier statement counts.
    OldReply,
    /// A notice about an earlier statement counts.
    OldNotice,
    /// The server processes an earlier statement.
    OldStatement,
    /// A lease is counted from when the reply comes.
    LeaseFromReply,
    /// Units that were granted to a waiter are valid for a lease.
    ClaimAsLease,
    /// A notice renews the lease.
    NoticeRenews,
    /// Units that are given back are usable until the reply comes.
    LateReturn,
    /// A new epoch and a young server begin no quarantine.
    NoEpoch,
    /// Another run of the server begins no quarantine.
    NoRun,
    /// A lease never ends.
    NoDeadline,
    /// Lost units are still stated.
    KeepsLost,
    /// The reply to a statement from before a lapse counts.
    LapseKeepsStatement,
    /// A statement that is processed twice has one serial.
    NoSerial,
    /// Rows never expire.
    NoExpiry,
    /// No process hears that others wait.
    NeverTight,
    /// A process counts its own lease, whatever the fleet has.
    OwnLease,
    /// A process does not state the longest lease that it heard of.
    ForgetsLongest,
}

impl Fault {
    /// All that random scripts or the fair phase find. Directed scripts find the others.
    pub(crate) const ALL: [Fault; 14] = [
        Fault::OldReply,
        Fault::OldNotice,
        Fault::OldStatement,
        Fault::LeaseFromReply,
        Fault::ClaimAsLease,
        Fault::NoticeRenews,
        Fault::LateReturn,
        Fault::NoEpoch,
        Fault::NoRun,
        Fault::NoDeadline,
        Fault::KeepsLost,
        Fault::NoExpiry,
        Fault::NeverTight,
        Fault::OwnLease,
    ];

    /// The clock of a process.
    pub(crate) fn clock(self, now: Instant) -> Instant {
        if self == Fault::NoDeadline { Instant::from_nanos(1) } else { now }
    }

    pub(crate) fn server_clock(self, now: ServerTime) -> ServerTime {
        if self == Fault::NoExpiry { ServerTime::from(1) } else { now }
    }

    pub(crate) fn send(self, member: &mut Member, now: Instant, connection: Connection, demand: Demand) -> Statement {
        let keep = demand.keep.min(member.share.usable(now));
        let kept = if self == Fault::LateReturn { u32::MAX } else { demand.keep };
        let mut statement = member.share.send(now, connection, Demand { keep: kept, ..demand });
        match self {
            Fault::LateReturn => statement.keep = keep,
            Fault::KeepsLost => statement.keep += member.lost,
            Fault::NoEpoch => (statement.epoch, statement.is_young) = (None, false),
            Fault::NoRun => statement.run = None,
            Fault::ForgetsLongest => statement.longest = Duration::ZERO,
            _ => {}
        }
        statement
    }

    /// The statement as the server sees it.
    pub(crate) fn arrival(self, statement: &mut Statement, status: Option<&Status>) {
        let Some(status) = status else { return };
        if self == Fault::OldStatement {
            let row = status.rows.iter().find(|row| row.process == statement.process);
            statement.seq = statement.seq.max(row.map_or(0, |row| row.seq + 1));
        }
    }

    /// The message as a process sees it.
    pub(crate) fn message(self, member: &Member, now: u64, message: &mut Message) {
        match message {
            Message::Reply(Reply { grant, .. }) => self.grant(member, now, grant, true),
            Message::Notice(_, Notice::Granted(grant)) => self.grant(member, now, grant, false),
            Message::Notice(..) if self == Fault::NeverTight => {
                *message = Message::Notice(member.id, Notice::Tight(u32::MAX.into()));
            }
            _ => {}
        }
    }

    fn grant(self, member: &Member, now: u64, grant: &mut Grant, is_reply: bool) {
        let elapsed = Duration::from_millis(now - member.sent);
        match self {
            Fault::OldReply if is_reply => grant.seq = grant.seq.max(member.seq),
            Fault::OldNotice if !is_reply => grant.seq = grant.seq.max(member.seq),
            Fault::LeaseFromReply => grant.valid += elapsed,
            Fault::ClaimAsLease => grant.valid = grant.valid.max(LEASE),
            Fault::NoticeRenews if !is_reply => grant.valid = grant.valid.max(elapsed + LEASE),
            Fault::LapseKeepsStatement if grant.seq == member.seq => grant.seq += member.voids,
            Fault::NoSerial => grant.serial = Token::from(1),
            Fault::NeverTight => grant.level = grant.level.map(|_| u32::MAX.into()),
            Fault::OwnLease => grant.valid = member.lease(),
            _ => {}
        }
    }
}
