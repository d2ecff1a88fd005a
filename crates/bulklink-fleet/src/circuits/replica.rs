//! The knowledge of a process about a shared circuit, and its commands to the store: a pure
//! machine.
//!
//! The circuit of the process is a [`Circuit`](bulklink_breaker::Circuit) beside it, which inputs
//! get. At most one command is under way. So a command is sent after all earlier rows were adopted,
//! and an answer of an older generation means that the store itself has gone back, as after a
//! failover that lost writes.

use std::collections::VecDeque;
use std::time::Duration;

use bulklink_breaker::plumbing::{Access, Settled, Window};
use bulklink_breaker::{Circuit, Instant, Mark, Outcomes, Pass, Refusal, Settings, State};

use super::{Force, Refused, Report, Row, Sharing};
use crate::StoreError;

/// How long a circuit that the store refuses is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// Outcomes that could not be reported for longer than this are history.
const YOUNG: Duration = Duration::from_secs(1);

/// The knowledge of a process about a shared circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    settings: Settings,
    pace: Pace,
    /// Why the store is out of reach, and since when.
    down: Option<(Instant, Option<StoreError>)>,
    /// The latest generation of the row that is known.
    generation: Option<u64>,
    settings_differ: bool,
    /// When the latest row was adopted.
    heard: Instant,
    /// When a store that has refused the circuit is asked again.
    retry_at: Option<Instant>,
    /// Outcomes since the last report, and since when there are some.
    pending: Outcomes,
    pending_since: Option<Instant>,
    /// The local generation in which they count.
    pending_in: u64,
    /// Of a window of time, those that are in it still: only while the store is out of reach.
    recent: Window,
    /// The circuit was opened by its own outcomes, which are reported immediately.
    is_urgent: bool,
    /// The change of the circuit by hand. Until the store has it, its rows do not matter.
    forced: Option<Force>,
    last_ask: AskId,
    /// Calls that want to be probes.
    asks: VecDeque<AskId>,
    /// The probes that the store has let through and that have not ended, with the ends of their
    /// leases.
    probes: Vec<(Pass, Instant)>,
    /// The outcomes of such probes.
    reports: VecDeque<(Pass, Option<Mark>)>,
    under_way: Option<Command>,
}

/// How often a process uses the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long outcomes are collected.
    pub flush: Duration,
    /// How old the latest row may be.
    pub refresh: Duration,
}

/// The number of a call that wants to be a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// A command to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Loads the row.
    Load,
    /// Opens or closes the circuit by hand.
    Force(Force),
    /// Asks for a probe.
    Ask(AskId),
    /// Reports outcomes.
    Report(Report),
}

/// The store's answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The row after the command.
    pub row: Row,
    /// Whether a call was let through, if the command was [`Work::Ask`].
    pub admission: Option<Result<Pass, Refused>>,
}

/// The answers to calls that asked for a probe. With `None`, the circuit of the process decides.
pub type Verdicts = Vec<(AskId, Option<Result<Pass, Refusal>>)>;

/// The command that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Command {
    work: Work,
    /// Nothing waits any more for the probe that it asks for.
    is_cancelled: bool,
    /// The newest notice since it was sent. Adopted before the answer, it would make that look as
    /// if the store had gone back.
    notice: Option<Row>,
}

/// # Calls and changes by hand in this process
impl Replica {
    /// Makes the replica of a new circuit, for which the store was not in reach yet.
    #[must_use]
    pub fn new(settings: Settings, pace: Pace, now: Instant) -> Self {
        Replica {
            settings,
            pace,
            down: Some((now, None)),
            generation: None,
            settings_differ: false,
            heard: now,
            retry_at: None,
            pending: Outcomes::default(),
            pending_since: None,
            pending_in: 0,
            recent: Window::new(&settings),
            is_urgent: false,
            forced: None,
            last_ask: AskId(0),
            asks: VecDeque::new(),
            probes: Vec::new(),
            reports: VecDeque::new(),
            under_way: None,
        }
    }

    /// Returns whether the store is in reach.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.down.is_none()
    }

    /// Returns what decides on a call that wants to be let through.
    #[must_use]
    pub fn access(&self, circuit: &Circuit, now: Instant) -> Access {
        let view = circuit.view(now);
        // Without the store, the circuit lets probes through, beside those that the store has.
        let others = if self.is_connected() { self.asking() } else { view.probes };
        if view.state != State::HalfOpen {
            Access::Local
        } else if self.running(now) + others >= self.settings.parts().probes as usize {
            Access::Full
        } else if self.is_connected() {
            Access::Ask
        } else {
            Access::Local
        }
    }

    /// Asks for a probe, where [`access`](Replica::access) returns [`Access::Ask`].
    pub fn ask(&mut self) -> AskId {
        self.last_ask.0 += 1;
        self.asks.push_back(self.last_ask);
        self.last_ask
    }

    /// Nothing waits any more for the probe.
    pub fn cancel(&mut self, id: AskId) {
        self.asks.retain(|ask| *ask != id);
        if let Some(command) = self.under_way.as_mut().filter(|command| command.work == Work::Ask(id)) {
            command.is_cancelled = true;
        }
    }

    /// Counts the outcome of a call, in the circuit or as a probe of the store's.
    pub fn settle(&mut self, circuit: &mut Circuit, now: Instant, pass: Pass, outcome: Option<Mark>) -> Settled {
        if self.settle_probe(pass, outcome) {
            return Settled { counted: true, has_work: true };
        }
        let counted = circuit.settle(now, pass, outcome);
        let has_work = match outcome.filter(|_| counted && pass.probe.is_none()) {
            Some(mark) => self.collect(circuit, now, mark),
            None => false,
        };
        Settled { counted, has_work }
    }

    /// Takes the outcome of a probe that the store has let through. Returns whether it is one.
    pub fn settle_probe(&mut self, pass: Pass, outcome: Option<Mark>) -> bool {
        let Some(place) = self.probes.iter().position(|probe| probe.0 == pass) else { return false };
        self.probes.swap_remove(place);
        self.reports.push_back((pass, outcome));
        true
    }

    /// Collects an outcome for the next report. Returns whether `next_work` or `next_due` changes.
    fn collect(&mut self, circuit: &Circuit, now: Instant, mark: Mark) -> bool {
        let is_open = circuit.view(now).state == State::Open;
        // The outcome that opens a circuit is of the generation before.
        let counts_in = circuit.generation() - u64::from(is_open);
        if self.pending_in != counts_in {
            self.forget_pending();
            self.pending_in = counts_in;
        }
        self.pending.push(&self.settings, mark);
        if !self.is_connected() && self.settings.window_calls().is_none() {
            self.recent.push(now, mark);
            self.pending.set_counts(self.recent.counts(now));
        }
        self.is_urgent |= is_open;
        let is_first = self.pending_since.is_none();
        self.pending_since.get_or_insert(now);
        is_first || self.is_urgent
    }

    /// The circuit was opened or closed by hand.
    pub fn force(&mut self, is_open: bool) {
        self.forced = Some(if is_open { Force::Open } else { Force::Closed });
        self.forget_pending();
    }

    /// Returns how the breaker stands to the store.
    #[must_use]
    pub fn sharing(&self, now: Instant) -> Sharing {
        let down = self.down.as_ref();
        Sharing {
            is_connected: down.is_none(),
            down_for: down.map_or(Duration::ZERO, |(since, _)| now.saturating_since(*since)),
            error: down.and_then(|(_, error)| error.clone()),
            settings_differ: self.settings_differ,
        }
    }

    /// Returns how many calls ask for a probe.
    fn asking(&self) -> usize {
        let is_asking = matches!(&self.under_way, Some(Command { work: Work::Ask(_), .. }));
        self.asks.len() + usize::from(is_asking)
    }

    /// Returns how many probes of the store have a place here, as far as is known.
    fn running(&self, now: Instant) -> usize {
        let has_place = |(pass, until): &&(Pass, Instant)| Some(pass.generation) == self.generation && *until > now;
        self.probes.iter().filter(has_place).count()
    }

    fn forget_pending(&mut self) {
        self.pending.clear();
        self.recent.clear();
        self.pending_since = None;
        self.is_urgent = false;
    }
}

/// # Commands to the store
impl Replica {
    /// Returns the next command, if one is due and none is under way. It is under way until
    /// [`answered`](Replica::answered).
    pub fn next_work(&mut self, circuit: &Circuit, now: Instant) -> Option<Work> {
        if self.under_way.is_some() || self.retry_at.is_some_and(|at| at > now) {
            return None;
        }
        let work = self.take_work(circuit, now)?;
        self.under_way = Some(Command { work: work.clone(), is_cancelled: false, notice: None });
        Some(work)
    }

    /// Returns when a command is due that is not now. `None` while one is under way.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        if self.under_way.is_some() {
            return None;
        }
        let refresh = self.heard + self.pace.refresh;
        let flush = self.pending_since.map(|since| since + self.pace.flush);
        Some(self.retry_at.unwrap_or_else(|| flush.map_or(refresh, |flush| flush.min(refresh))))
    }

    /// The command that is under way has ended. Returns the answers to calls.
    #[must_use]
    pub fn answered(&mut self, circuit: &mut Circuit, now: Instant, result: Result<Answer, StoreError>) -> Verdicts {
        let Some(command) = self.under_way.take() else { return Verdicts::new() };
        let verdicts = match result {
            Ok(answer) => self.take_answer(circuit, now, &command, answer),
            Err(error) => self.take_error(now, &command, &error),
        };
        if let Some(row) = command.notice {
            self.notice(circuit, now, &row);
        }
        verdicts
    }

    /// Adopts the row of a notice, unless an answer has had it before.
    pub fn notice(&mut self, circuit: &mut Circuit, now: Instant, row: &Row) {
        if let Some(Command { notice, .. }) = &mut self.under_way {
            *notice = notice.iter().chain([row]).max_by_key(|row| row.generation).copied();
        } else if self.generation.is_none_or(|known| row.generation > known) {
            self.adopt(circuit, now, row);
        }
    }

    /// The store is out of reach, or refuses this circuit. Returns the answers to calls.
    #[must_use]
    pub fn lose(&mut self, now: Instant, error: &StoreError) -> Verdicts {
        if self.is_connected() {
            self.recent.clear();
            self.recent.append(now, &self.pending);
            self.down = Some((now, Some(error.clone())));
        } else if let Some((_, known)) = &mut self.down {
            *known = Some(error.clone());
        }
        self.retry_at = Some(now + RETRY);
        self.asks.drain(..).map(|id| (id, None)).collect()
    }

    /// A new connection: the store is asked again immediately.
    pub fn retry(&mut self) {
        self.retry_at = None;
    }

    /// Ends the replica. Returns the commands that are left, if the store is in reach.
    #[must_use]
    pub fn end(&mut self) -> Vec<Work> {
        if !self.is_connected() {
            return vec![];
        }
        let mut work: Vec<_> = self.forced.take().into_iter().map(Work::Force).collect();
        work.extend(std::iter::from_fn(|| self.next_report()).map(Work::Report));
        work.extend(self.take_pending().map(Work::Report));
        work
    }

    fn take_work(&mut self, circuit: &Circuit, now: Instant) -> Option<Work> {
        if !self.is_connected() || now.saturating_since(self.heard) >= self.pace.refresh {
            return Some(Work::Load);
        }
        if let Some(force) = self.next_force(circuit) {
            return Some(Work::Force(force));
        }
        if let Some(report) = self.next_report() {
            return Some(Work::Report(report));
        }
        if let Some(id) = self.asks.pop_front() {
            return Some(Work::Ask(id));
        }
        let is_due = |since| self.is_urgent || now.saturating_since(since) >= self.pace.flush;
        if self.pending_since.is_some_and(is_due) { self.take_pending().map(Work::Report) } else { None }
    }

    /// Takes the change of the circuit by hand. That it was closed means nothing once it has
    /// opened again, unless the outcomes that have opened it are still to be reported: they count
    /// after the change, and in no row from before it.
    fn next_force(&mut self, circuit: &Circuit) -> Option<Force> {
        let holds = circuit.phase_state() == State::Closed || self.is_urgent;
        self.forced.take().filter(|force| *force == Force::Open || holds)
    }

    /// Takes the oldest outcome of a probe.
    fn next_report(&mut self) -> Option<Report> {
        let (pass, outcome) = self.reports.pop_front()?;
        Some(Report::Probe { generation: pass.generation, id: pass.probe?, outcome })
    }

    /// Takes all outcomes that no report had yet.
    fn take_pending(&mut self) -> Option<Report> {
        let generation = self.generation?;
        let outcomes = std::mem::take(&mut self.pending);
        self.forget_pending();
        (!outcomes.is_empty()).then_some(Report::Closed { generation, outcomes })
    }

    fn take_answer(&mut self, circuit: &mut Circuit, now: Instant, command: &Command, answer: Answer) -> Verdicts {
        // Calls that began after the circuit was closed by hand count, also those that have ended
        // before the answer.
        if matches!(command.work, Work::Force(_)) && answer.row.state == State::Closed {
            self.generation = Some(answer.row.generation);
        }
        self.adopt(circuit, now, &answer.row);
        let (Work::Ask(id), Some(admission)) = (&command.work, answer.admission) else { return Verdicts::new() };
        if let Ok(pass @ Pass { probe: Some(_), .. }) = admission {
            if command.is_cancelled {
                self.reports.push_back((pass, None));
            } else {
                self.probes.push((pass, now + self.settings.parts().probe_lease));
            }
        }
        if command.is_cancelled {
            return Verdicts::new();
        }
        let verdict = match admission {
            // The circuit is closed now, which the call finds.
            Ok(Pass { probe: None, .. }) => None,
            Ok(pass) => Some(Ok(pass)),
            Err(Refused { state, retry_after }) => Some(Err(Refusal::new(state, retry_after.map(|time| now + time)))),
        };
        vec![(*id, verdict)]
    }

    fn take_error(&mut self, now: Instant, command: &Command, error: &StoreError) -> Verdicts {
        let mut verdicts = self.lose(now, error);
        match command.work {
            Work::Load | Work::Report(Report::Closed { .. }) => {}
            Work::Ask(id) => verdicts.extend((!command.is_cancelled).then_some((id, None))),
            // It counts only once.
            Work::Report(Report::Probe { generation, id, outcome }) => {
                self.reports.push_front((Pass::new(generation, Some(id)), outcome));
            }
            // It may have been done. Calls that have ended since then count after it is done again.
            Work::Force(force) => _ = self.forced.get_or_insert(force),
        }
        verdicts
    }

    /// Adopts a row of the store's.
    fn adopt(&mut self, circuit: &mut Circuit, now: Instant, row: &Row) {
        let was_known = self.generation.replace(row.generation);
        let is_new = was_known != Some(row.generation);
        let was_down = self.down.take().is_some();
        (self.heard, self.retry_at, self.settings_differ) = (now, None, row.settings_differ);
        if was_down {
            self.forget_old(circuit, now);
        }
        self.forced = self.next_force(circuit);
        if self.forced.is_some() {
            return;
        }
        if is_new && was_known.is_some() {
            self.forget_pending();
        }
        let here = circuit.phase_state();
        match row.state {
            // The outcomes that have opened it here are still to be reported.
            State::Closed if self.is_urgent => {}
            State::Closed if here != State::Closed || (is_new && was_known.is_some()) => circuit.force_closed(),
            State::Open => {
                let until = row.retry_after.map(|time| now + time);
                // A store that has gone back may repeat a generation.
                let is_same = row.is_forced == circuit.view(now).is_forced;
                let is_known = here == State::Open && is_same && !is_new && !was_down;
                if is_known { circuit.adjust(now, until) } else { circuit.adopt_open(until) }
            }
            // Probes of the time without the store decide no more.
            State::HalfOpen if here != State::HalfOpen || was_down => circuit.adopt_half_open(),
            _ => {}
        }
    }

    /// Forgets outcomes that are too old to be reported. Those that have opened the circuit are
    /// kept until its cool-down is over.
    fn forget_old(&mut self, circuit: &Circuit, now: Instant) {
        let is_old = self.pending_since.is_some_and(|since| now.saturating_since(since) > YOUNG);
        if is_old && circuit.view(now).state != State::Open {
            self.forget_pending();
        }
    }
}
