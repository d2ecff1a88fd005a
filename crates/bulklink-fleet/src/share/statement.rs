//! The protocol of shares, as plain values: the statement of a process, the reply, and notices.
//!
//! Numbers in it are exact below 2⁵³, so a server may compute with floating-point numbers.

use std::str::FromStr;
use std::time::Duration;

use bulklink::InvalidArgument;

use super::{Refusal, Tuning};
use crate::{Epoch, ProcessId, RunId, Token, Version};

/// The longest duration that a declaration can have; a longer one counts as this.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The rules of a name that hold for all its processes. Durations are in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How long units can be used after the statement that they were granted to: 10 s.
    ///
    /// The units of a process that ends without a last statement are free after this time.
    pub lease: Duration,
    /// How long a process without units keeps its place after a statement, and how long a silent
    /// process is still granted units: 3 s.
    pub claim: Duration,
    /// How long idle units are called back after a process had to wait for some: 20 ms.
    pub calm: Duration,
    /// Whether a loss of data begins a quarantine, in which nothing is granted until each process
    /// has stated what it uses, or has lost it.
    ///
    /// Without it, up to twice the limit can be in use for a lease after a loss.
    pub recovers: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(10),
            claim: Duration::from_secs(3),
            calm: Duration::from_millis(20),
            recovers: true,
        }
    }
}

impl Terms {
    /// Checks the terms beside the tuning of a process.
    pub(crate) fn check(&self, tuning: &Tuning) -> Result<(), InvalidArgument> {
        let Tuning { beat, .. } = *tuning;
        if beat < Duration::from_millis(1) {
            return Err(InvalidArgument::new("beat", format_args!("{beat:?}"), "must be at least 1 ms"));
        }
        if self.claim < beat.saturating_mul(2) {
            let requirement = format!("must be at least two beats, {:?}", beat.saturating_mul(2));
            return Err(InvalidArgument::new("claim", format_args!("{:?}", self.claim), requirement));
        }
        if self.lease < self.claim || self.lease > LONGEST {
            let requirement = format!("must be at least the claim, {:?}, and at most a day", self.claim);
            return Err(InvalidArgument::new("lease", format_args!("{:?}", self.lease), requirement));
        }
        Ok(())
    }

    /// Returns the longest time for which a process can count on a grant.
    pub(super) fn longest(&self) -> Duration {
        self.lease.max(self.claim)
    }

    /// Returns the terms with durations of at most a day.
    pub(super) fn bounded(self) -> Self {
        let Self { lease, claim, calm, recovers } = self;
        Self { lease: bounded(lease), claim: bounded(claim), calm: bounded(calm), recovers }
    }
}

/// Returns the duration, or a day if it is longer: no value of one process blocks a name for ever.
pub(super) fn bounded(duration: Duration) -> Duration {
    let micros = u64::try_from(duration.min(LONGEST).as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(micros)
}

/// The settings of a name, as a process declares them with each statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Declaration {
    /// Orders declarations: a larger one replaces limit and terms, a smaller one is ignored while
    /// the name is in use.
    pub config: u64,
    /// The limit, in units.
    pub limit: u32,
    /// The terms.
    pub terms: Terms,
}

impl Declaration {
    /// Returns the declaration with durations of at most a day.
    pub(super) fn bounded(self) -> Self {
        Self { terms: self.terms.bounded(), ..self }
    }
}

/// The whole condition of a process for one name. It is the only command that moves units.
///
/// A statement replaces all that the process stated before. Leaving is a statement of nothing:
/// `keep`, `need` and `spare` are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// The process.
    pub process: ProcessId,
    /// Grows with the statements of the process. An older statement has no effect.
    pub seq: u64,
    /// The settings of the process.
    pub declaration: Declaration,
    /// The epoch that the process knows, if it can still hold units of it.
    pub epoch: Option<Epoch>,
    /// The run of the server that the statement is sent to. `None` if it cannot be learned.
    pub run: Option<RunId>,
    /// Whether the server has run for less than [`longest`](Self::longest).
    pub is_young: bool,
    /// The longest lease that a process of this name can have, as far as this process knows.
    pub longest: Duration,
    /// The largest token that the process has.
    pub token: Token,
    /// The units that the process keeps: at least those in use.
    pub keep: u32,
    /// The units that the process needs: those in use, and those that calls wait for or were
    /// refused since the last statement.
    pub need: u32,
    /// The units with which the process can go on: those in use, and those of its first waiting
    /// call. With fewer, the rest would stay idle. It may be zero.
    pub least: u32,
    /// The idle units that the process would like to have while no process waits.
    pub spare: u32,
    /// The part of the process among those that wait, relative to the others; 0 counts as 1.
    pub weight: u32,
}

impl Statement {
    /// Returns the statement with durations of at most a day, as servers take it.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self { declaration: self.declaration.bounded(), longest: bounded(self.longest), ..self }
    }
}

/// The answer of a server to a statement.
pub type Answer = Result<Reply, Refusal>;

/// The units of a process after a statement, in a reply or in a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The process.
    pub process: ProcessId,
    /// The statement that the grant belongs to.
    pub seq: u64,
    /// When the statement was processed, in the order of the name. A statement that arrives twice
    /// can be processed twice, if its effect has expired in between.
    pub serial: Token,
    /// All units that the process has.
    pub units: u32,
    /// How long they can be used, counted from when the statement was sent.
    pub valid: Duration,
    /// The fencing token of the last growth. Zero if the process never had units.
    pub token: Token,
    /// The epoch of the data.
    pub epoch: Epoch,
    /// The level, while processes wait for units.
    pub level: Option<Level>,
}

/// The reply to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reply {
    /// The units of the process.
    pub grant: Grant,
    /// The time until units become free without any statement, if the process needs more.
    pub due: Option<Duration>,
    /// The rest of the quarantine. Zero if there is none.
    pub quarantine: Duration,
    /// The longest lease that a process of this name can have.
    pub longest: Duration,
    /// The live limit, in units.
    pub limit: u32,
    /// Its version.
    pub version: Version,
    /// The number of processes that use or need units, and have stated so within a claim.
    pub processes: u64,
    /// The sum of their weights.
    pub weights: u64,
}

/// A message from the server without a statement. It may be lost, late, or doubled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notice {
    /// For one process: it has more units.
    Granted(Grant),
    /// For all processes: some wait, and idle units above the level are called back.
    Tight(Level),
}

impl Notice {
    /// Returns the text in which stores carry the notice. It may change in any release.
    #[doc(hidden)]
    #[must_use]
    pub fn text(&self) -> String {
        let level = |level: Option<Level>| level.map_or_else(|| "-1".to_owned(), |level| u32::from(level).to_string());
        match self {
            Self::Granted(Grant { seq, serial, units, valid, token, epoch, level: known, .. }) => {
                format!("s {seq} {serial} {units} {} {token} {epoch} {}", valid.as_micros(), level(*known))
            }
            Self::Tight(known) => format!("t {}", level(Some(*known))),
        }
    }

    /// Reads the text of a notice for this process, or to all.
    #[doc(hidden)]
    #[must_use]
    pub fn of_text(process: ProcessId, text: &str) -> Option<Self> {
        fn number<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        let words: Vec<_> = text.split(' ').collect();
        Some(match words[..] {
            ["t", level] => Self::Tight(number::<u32>(level)?.into()),
            ["s", seq, serial, units, valid, token, epoch, level] => Self::Granted(Grant {
                process,
                seq: number(seq)?,
                serial: number::<u64>(serial)?.into(),
                units: number(units)?,
                valid: Duration::from_micros(number(valid)?),
                token: number::<u64>(token)?.into(),
                epoch: number::<u64>(epoch)?.into(),
                level: if level == "-1" { None } else { Some(number::<u32>(level)?.into()) },
            }),
            _ => return None,
        })
    }
}

/// The units for each unit of weight that a process can keep in use while others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level(u32);

impl Level {
    /// The level at which all needs can be met.
    pub const UNBOUNDED: Level = Level(u32::MAX);

    /// Returns the units of a process of this weight; 0 counts as 1.
    #[must_use]
    pub fn units(self, weight: u32) -> u32 {
        self.0.saturating_mul(weight.max(1))
    }
}

impl From<u32> for Level {
    fn from(units: u32) -> Self {
        Self(units)
    }
}

impl From<Level> for u32 {
    fn from(level: Level) -> Self {
        level.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_checked_beside_the_beat() {
        let millis = Duration::from_millis;
        for (beat, claim, lease, refused) in [
            (1, 2, 2, None),
            (0, 2, 2, Some("beat")),
            (2, 4, 4, None),
            (2, 3, 4, Some("claim")),
            (2, 4, 3, Some("lease")),
            (1, 2, 86_400_000, None),
            (1, 2, 86_400_001, Some("lease")),
        ] {
            let terms = Terms { lease: millis(lease), claim: millis(claim), ..Terms::default() };
            let checked = terms.check(&Tuning { beat: millis(beat), ..Tuning::default() });
            assert_eq!(checked.err().map(|invalid| invalid.field()), refused, "{beat} {claim} {lease}");
        }
    }
}
