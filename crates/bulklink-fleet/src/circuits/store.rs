//! Stores on which processes share circuits, and the values that they carry.

use std::future::Future;
use std::time::Duration;

use bulklink_breaker::{Counts, Instant, Mark, Outcomes, Pass, ProbeId, Settings, State, View};

use crate::{Name, Namespace, StoreError};

/// A server on which processes share circuits.
///
/// The clones of a store and its futures may be used from any task. A store connects when it is
/// first used, and again when it is used after a connection has ended. It does not repeat an
/// operation that failed: that may have had an effect, unless the error is a
/// [refusal](StoreError::is_refusal).
///
/// A future that is dropped may leave its operation with or without effect.
///
/// # Rules for stores
///
/// A store keeps one row for each [`Name`], and does the steps of a
/// [`Circuit`](bulklink_breaker::Circuit) on the server's clock, each whole or not at all. It
/// decides nothing else.
///
/// - The generation of a new row is the server's time in microseconds, so a row that was lost and
///   made again never has a generation from before.
/// - A row that cannot be read is replaced by a closed one in a new generation.
/// - An operation brings the settings of its process. If the row was used with others before, it is
///   changed to these first, and [`Row::settings_differ`] shows it. Impossible settings are refused
///   with the code `SETTINGS`, and change nothing.
/// - A call that a closed circuit lets through is [`Effect::Done`], a probe [`Effect::Probe`].
///
/// Any crate may implement this trait and [`Changes`]. A method that they must have is added in a
/// release that breaks others alone; one with a default may come in any.
///
/// The stores of this project do the steps by items that may change in any release. A process that
/// shares circuits calls [`operate`](CircuitStore::operate) alone: the methods that a store has by
/// it are for others.
pub trait CircuitStore: Send + Sync + 'static {
    /// A subscription to the transitions of a namespace.
    type Changes: Changes;

    /// Does an operation on a circuit, and makes a closed circuit first if there is none.
    ///
    /// Only a change by hand comes without settings: those of the last operation stay.
    fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> impl Future<Output = Result<Reply, StoreError>> + Send;

    /// Subscribes to the transitions of all circuits in a namespace. None is missed after this
    /// returns, until [`Changes::next`] returns an error.
    fn changes(&self, namespace: &Namespace) -> impl Future<Output = Result<Self::Changes, StoreError>> + Send;

    /// Returns all circuits of a namespace, in the order of their names, and changes nothing. Those
    /// that cannot be read are left out.
    fn list(&self, namespace: &Namespace) -> impl Future<Output = Result<Vec<(Name, Row)>, StoreError>> + Send;

    /// Returns the row, and makes a closed one if there is none.
    fn load(&self, name: &Name, settings: &Settings) -> impl Future<Output = Result<Row, StoreError>> + Send {
        async { Ok(self.operate(name, Some(settings), &Operation::Load).await?.row) }
    }

    /// Lets the probe `id` through, if the circuit is closed or has a place for it.
    ///
    /// The same `id` may be sent again, if the answer was lost. It must differ from those of other
    /// processes: choose it at random.
    fn admit_probe(
        &self,
        name: &Name,
        settings: &Settings,
        id: ProbeId,
    ) -> impl Future<Output = Result<Asked, StoreError>> + Send {
        async move { self.operate(name, Some(settings), &Operation::Admit(id)).await?.asked(id) }
    }

    /// Counts outcomes.
    ///
    /// That of a probe may be sent again, as it counts once. [`Report::Closed`] must not be.
    fn report(
        &self,
        name: &Name,
        settings: &Settings,
        report: &Report,
    ) -> impl Future<Output = Result<Reported, StoreError>> + Send {
        async {
            let reply = self.operate(name, Some(settings), &Operation::Report(report.clone())).await?;
            Ok(Reported { counted: reply.effect == Effect::Done, row: reply.row })
        }
    }

    /// Opens or closes the circuit by hand, if its generation is the expected one. With `None`, it
    /// may be any.
    fn force(
        &self,
        name: &Name,
        expected: Option<u64>,
        force: Force,
    ) -> impl Future<Output = Result<Forced, StoreError>> + Send {
        async move {
            let Reply { effect, row } = self.operate(name, None, &Operation::Force(force, expected)).await?;
            Ok(if effect == Effect::Done { Forced::Done(row) } else { Forced::Stale(row) })
        }
    }
}

/// An operation on a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads the circuit.
    Load,
    /// Lets this probe through, if the circuit is closed or has a place for it.
    Admit(ProbeId),
    /// Counts outcomes.
    Report(Report),
    /// Opens or closes the circuit by hand, if its generation is this one, or any with `None`.
    Force(Force, Option<u64>),
}

/// The reply of a store to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The effect of the operation.
    pub effect: Effect,
    /// The circuit afterwards.
    pub row: Row,
}

/// The effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing was done: a call was not let through, an outcome could not count, or the generation
    /// is another one. The time after which a call may ask again, if it is known.
    Refused(Option<Duration>),
    /// The operation was done. A call was let through by a closed circuit.
    Done,
    /// A call was let through as a probe.
    Probe,
}

impl Reply {
    /// Returns the answer to the probe that asked.
    pub(super) fn asked(self, id: ProbeId) -> Result<Asked, StoreError> {
        let Reply { effect, row } = self;
        let pass = Pass::new(row.generation, None);
        let admission = match effect {
            Effect::Refused(retry_after) => Err(Refused { state: row.state, retry_after }),
            Effect::Done if row.state == State::Closed => Ok(pass),
            Effect::Done => return Err(StoreError::MALFORMED),
            Effect::Probe => Ok(Pass::new(pass.generation, Some(id))),
        };
        Ok(Asked { admission, row })
    }
}

/// A subscription to the transitions of a namespace. It ends when it is dropped.
pub trait Changes: Send + 'static {
    /// Waits for the next transition.
    ///
    /// An error ends the subscription. Then transitions may have been missed: subscribe again, and
    /// load the rows afterwards.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has taken no transition.
    fn next(&mut self) -> impl Future<Output = Result<Change, StoreError>> + Send;
}

/// A transition of a circuit on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The circuit.
    pub name: Name,
    /// Its row just after it.
    pub row: Row,
}

impl Change {
    /// Makes a transition, for a store.
    pub const fn new(name: Name, row: Row) -> Self {
        Self { name, row }
    }
}

/// The knowledge of a server about a circuit.
///
/// Times are from when the server answered, by its clock: no time of another clock is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Whether it lets calls through. After its cool-down it is half-open, even if no call has come
    /// since.
    pub state: State,
    /// Grows with each transition, and never repeats. It shows the order of rows that come out of
    /// order.
    pub generation: u64,
    /// The rest of the cool-down. `None` if the circuit is not open, or open until it is closed by
    /// hand.
    pub retry_after: Option<Duration>,
    /// Whether it was opened by hand.
    pub is_forced: bool,
    /// The calls of the window. None if the circuit is not closed.
    pub counts: Counts,
    /// The probes that have succeeded since the circuit became half-open.
    pub probe_successes: u32,
    /// The probes that have failed since then.
    pub probe_failures: u32,
    /// The probes that have not ended, within their lease.
    pub probes: u32,
    /// Whether the last operation before this one had other settings. In a
    /// [list](CircuitStore::list): whether that was so for any operation of the last minute.
    pub settings_differ: bool,
}

impl Row {
    /// Returns the row of a circuit at `now`.
    #[must_use]
    pub fn of(view: &View, now: Instant) -> Self {
        Row {
            state: view.state,
            generation: view.generation,
            retry_after: view.retry_at.map(|at| at.saturating_since(now)),
            is_forced: view.is_forced,
            counts: view.counts,
            probe_successes: view.probe_successes,
            probe_failures: view.probe_failures,
            probes: u32::try_from(view.probes).unwrap_or(u32::MAX),
            settings_differ: false,
        }
    }
}

/// The answer to a call that wants to be a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked {
    /// Whether the call was let through.
    pub admission: Result<Pass, Refused>,
    /// The circuit. It may be a little older than the refusal.
    pub row: Row,
}

/// Why a call was not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `Open`, or `HalfOpen` if as many probes run as may.
    pub state: State,
    /// The rest of the cool-down, or of the first lease of a probe. `None` if the circuit is open
    /// until it is closed by hand.
    pub retry_after: Option<Duration>,
}

/// Outcomes of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Of calls that were let through while the circuit was closed.
    Closed {
        /// Its generation then.
        generation: u64,
        /// Their outcomes.
        outcomes: Outcomes,
    },
    /// Of a probe.
    Probe {
        /// The circuit's generation when it was let through.
        generation: u64,
        /// Which one.
        id: ProbeId,
        /// `None` counts for neither side, and frees the place.
        outcome: Option<Mark>,
    },
}

/// The answer to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reported {
    /// Whether it could count. It could not if the circuit has changed its state since, or another
    /// probe has taken the place of this one.
    pub counted: bool,
    /// The circuit afterwards.
    pub row: Row,
}

/// The state to which a circuit is changed by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Force {
    /// Open, until it is closed by hand.
    Open,
    /// Closed, as if it were new.
    Closed,
}

/// The answer to a change by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forced {
    /// It is done.
    Done(Row),
    /// The circuit has another generation than was expected. Nothing has changed.
    Stale(Row),
}
