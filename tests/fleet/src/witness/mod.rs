//! Judges a limit from outside: from the observations of the clients of all processes, and nothing
//! else.
//!
//! A client knows when it asked and when it had the answer. The step of the server is somewhere
//! between. So the witness accuses only of what follows from every order in which it can have
//! happened: a lower bound of the faults, without false alarms.
//!
//! - *Over-admission* is certain if more units than the limit are in intervals that overlap, each
//!   from the end of an acquire to the last instant at which its holder found the permit valid. A
//!   record that a killed process lost makes an interval shorter, or removes it.
//! - *A rejection is certainly false* if, throughout the attempt, all calls that may have had a
//!   lease left room for it, and no call can have been in the queue. Here a call counts from the
//!   start of its acquire to the instant at which the server has certainly forgotten it; if that
//!   is unknown, for ever.
//! - *A call is certainly overtaken* if a later one was granted before; the file `order.rs` has the
//!   certain part of both.

mod figures;
mod order;
mod overlap;
mod rejections;

pub use figures::{hand_offs, jain, mean, moves, percentile, reached, releases, utilisation, waits};
pub use order::{overtaken, unfenced};
pub use overlap::{Peak, peak};
pub use rejections::false_rejections;

/// An instant, in nanoseconds of the clock that all processes of a machine share.
pub type Nanos = u64;

/// A call of `acquire`, as its client saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The process of the client.
    pub process: u32,
    /// The client; no two processes have the same.
    pub client: u32,
    /// The units that it asked for.
    pub cost: u32,
    /// Whether it was ready to wait.
    pub waits: bool,
    /// Read before anything was sent.
    pub start: Nanos,
    /// Read after the answer was there. `None` if the client never saw one.
    pub end: Option<Nanos>,
    /// From when on the server certainly has nothing of this call. `None` if that is unknown.
    pub gone: Option<Nanos>,
    /// The answer to the client.
    pub outcome: Outcome,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It had a permit.
    Admitted(Hold),
    /// It was answered that no unit is free.
    Saturated,
    /// It was rejected for another reason, such as the end of its patience, or an outage.
    Refused,
    /// The client died before it wrote down more.
    Unknown,
}

/// The time in which a call had its permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The permit was not granted before: when the command was sent that brought it.
    pub not_before: Nanos,
    /// The fencing token, if the scheme has one.
    pub token: Option<u64>,
    /// The last instant at which the holder certainly had a valid permit, and was not releasing.
    pub valid_until: Nanos,
    /// When the release began and ended. The end is missing if it was not confirmed.
    pub release: Option<(Nanos, Option<Nanos>)>,
}

impl Call {
    /// Returns the hold and when the client had its permit, of a call that was admitted.
    pub fn admitted(&self) -> Option<(&Hold, Nanos)> {
        match (&self.outcome, self.end) {
            (Outcome::Admitted(hold), Some(end)) => Some((hold, end)),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// No place.
    pub(crate) const NONE: [usize; 0] = [];

    /// A call of a client that is the only one of its process.
    pub(crate) fn call(client: u32, start: Nanos, end: Nanos, outcome: Outcome) -> Call {
        let gone = (outcome == Outcome::Saturated).then_some(end);
        Call { process: client, client, cost: 1, waits: false, start, end: Some(end), gone, outcome }
    }

    /// A call that was admitted at `end`, released from `until` on, and gone after `gone`.
    pub(crate) fn admitted(client: u32, [start, end, until, gone]: [Nanos; 4]) -> Call {
        let hold = Hold { not_before: start, token: None, valid_until: until, release: Some((until, Some(gone))) };
        Call { gone: Some(gone), ..call(client, start, end, Outcome::Admitted(hold)) }
    }

    /// The same call, of a client that was ready to wait.
    pub(crate) fn waiting(call: Call) -> Call {
        Call { waits: true, ..call }
    }

    /// The same call, with a token.
    pub(crate) fn with_token(mut call: Call, number: u64) -> Call {
        if let Outcome::Admitted(hold) = &mut call.outcome {
            hold.token = Some(number);
        }
        call
    }
}
