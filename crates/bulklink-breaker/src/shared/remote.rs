//! What a breaker knows of its row on a store, and what it has to tell the store.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_channel::oneshot;

use super::signal::{Keep, Left, Signal};
use crate::breaker::{Core, Locked, Source};
use crate::circuit::{Circuit, Mark, Outcomes, Pass, Refusal, State, Window};
use crate::store::{Force, Name, Refused, Report, Row, StoreError};
use crate::{Call, Instant, OpenCircuit, Settings};

/// How long a circuit that the store refuses is left alone.
const RETRY: Duration = Duration::from_secs(1);

/// Outcomes that the store could not be told for longer than this are history.
const YOUNG: Duration = Duration::from_secs(1);

/// Under the lock of a breaker.
pub(crate) struct Remote {
    /// The number of the breaker in the task.
    id: u64,
    name: Name,
    settings: Settings,
    /// Keeps the task that synchronizes.
    keep: Arc<Keep>,
    /// Why the store is out of reach, and since when.
    down: Option<(Instant, Option<StoreError>)>,
    /// The latest generation of the row that is known.
    generation: Option<u64>,
    settings_differ: bool,
    /// When the store was last heard of.
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
    /// The circuit was opened by its own outcomes: the store is told immediately.
    is_urgent: bool,
    /// What the circuit was changed to by hand. Until the store knows, its rows do not matter.
    forced: Option<Force>,
    /// Calls that want to be probes.
    asks: VecDeque<Answer>,
    /// How many of them the store is being asked for.
    asking: usize,
    /// The probes that the store has let through and that have not ended, with the ends of their
    /// leases.
    probes: Vec<(Pass, Instant)>,
    /// The outcomes of such probes.
    reports: VecDeque<(Pass, Option<Mark>)>,
}

/// Where a call that wants to be a probe waits.
type Answer = oneshot::Sender<Result<Granted, Refused>>;

/// A probe that the call which has asked for it has not taken yet. If it never does, no operation
/// has run: the probe counts for neither side, even where cancelled calls count.
pub(super) struct Granted(Option<Call<'static>>);

impl Drop for Granted {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call.ignore();
        }
    }
}

/// What has to be sent to the store.
pub(super) enum Work {
    Load,
    Force(Force),
    Ask(Answer),
    Report(Report),
}

/// How a breaker stands to the store that it shares its circuit through.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sharing {
    /// Whether the store is in reach. If not, the circuit goes by the calls of this process alone.
    pub is_connected: bool,
    /// For how long the store has been out of reach: since the breaker was built, if it never was
    /// in reach. Zero if it is.
    pub down_for: Duration,
    /// The error by which the store was lost, if there was one.
    pub error: Option<StoreError>,
    /// Whether another process uses other settings for the same circuit, by the last answer.
    pub settings_differ: bool,
}

impl Remote {
    pub(super) fn new(id: u64, name: Name, settings: Settings, keep: Arc<Keep>, now: Instant) -> Self {
        Remote {
            id,
            name,
            settings,
            keep,
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
            asks: VecDeque::new(),
            asking: 0,
            probes: Vec::new(),
            reports: VecDeque::new(),
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.down.is_none()
    }

    /// Returns what wakes the task, and the number by which it knows the breaker. Not under the
    /// lock of the breaker: see [`Signal::notify_of`].
    pub(crate) fn signal(&self) -> (Arc<Signal>, u64) {
        (Arc::clone(&self.keep.0), self.id)
    }

    /// Whether a call that the circuit would let through as a probe needs the store for it.
    fn must_ask(&self, circuit: &Circuit, now: Instant) -> bool {
        self.is_connected() && circuit.view(now).state == State::HalfOpen
    }

    /// Whether this process has, or asks for, as many probes as may run.
    fn is_full(&self, circuit: &Circuit, now: Instant) -> bool {
        self.asks.len() + self.asking + self.running(now) >= circuit.settings().most_probes()
    }

    /// Whether no probe can be let through here without the store: it must be asked, or as many run
    /// as may, those that it let through before it was lost among them.
    pub(crate) fn keeps_probes(&self, circuit: &Circuit, now: Instant) -> bool {
        let view = circuit.view(now);
        let most = circuit.settings().most_probes();
        view.state == State::HalfOpen && (self.is_connected() || self.running(now) + view.probes >= most)
    }

    /// Whether a call would be refused, because as many probes run as may.
    pub(crate) fn refuses(&self, circuit: &Circuit, now: Instant) -> bool {
        self.keeps_probes(circuit, now) && (!self.is_connected() || self.is_full(circuit, now))
    }

    /// Returns how many probes of the store have a place here, as far as is known.
    fn running(&self, now: Instant) -> usize {
        let has_place = |(pass, until): &&(Pass, Instant)| Some(pass.generation) == self.generation && *until > now;
        self.probes.iter().filter(has_place).count()
    }

    /// Takes the outcome of a probe that the store has let through. Returns whether it is one.
    pub(crate) fn settle_probe(&mut self, pass: Pass, mark: Option<Mark>) -> bool {
        let Some(place) = self.probes.iter().position(|probe| probe.0 == pass) else { return false };
        self.probes.swap_remove(place);
        self.reports.push_back((pass, mark));
        true
    }

    /// Collects an outcome for the next report. Returns whether the task must be told of it.
    pub(crate) fn collect(&mut self, circuit: &Circuit, now: Instant, mark: Mark) -> bool {
        let is_open = circuit.view(now).state == State::Open;
        // The outcome that opens a circuit is of the generation before.
        let counts_in = circuit.generation() - u64::from(is_open);
        if self.pending_in != counts_in {
            self.forget_pending();
            self.pending_in = counts_in;
        }
        self.pending.push(circuit.settings(), mark);
        if !self.is_connected() && self.settings.window_calls().is_none() {
            self.recent.push(now, mark);
            self.pending.set_counts(self.recent.counts(now));
        }
        self.is_urgent |= is_open;
        let is_first = self.pending_since.is_none();
        self.pending_since.get_or_insert(now);
        is_first || self.is_urgent
    }

    /// Forgets outcomes that are too old to be reported. Those that have opened the circuit are
    /// kept until its cool-down is over.
    fn forget_old(&mut self, circuit: &Circuit, now: Instant) {
        let is_old = self.pending_since.is_some_and(|since| now.saturating_since(since) > YOUNG);
        if is_old && circuit.view(now).state != State::Open {
            self.forget_pending();
        }
    }

    /// The circuit was opened or closed by hand.
    pub(crate) fn force(&mut self, is_open: bool) {
        self.forced = Some(if is_open { Force::Open } else { Force::Closed });
        self.forget_pending();
    }

    /// Takes what the store must be told that the circuit was changed to by hand. That it was
    /// closed means nothing once it has opened again.
    fn next_force(&mut self, circuit: &Circuit) -> Option<Force> {
        self.forced.take().filter(|force| *force == Force::Open || circuit.phase_state() == State::Closed)
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

    /// Takes the asks that nothing waits for any more. They are dropped without the lock: each may
    /// find the waker of a call whose future is being dropped just then, and wake it.
    fn take_cancelled(&mut self) -> VecDeque<Answer> {
        let asks = std::mem::take(&mut self.asks).into_iter();
        let (cancelled, asks) = asks.partition(oneshot::Sender::is_canceled);
        self.asks = asks;
        cancelled
    }

    fn forget_pending(&mut self) {
        self.pending.clear();
        self.recent.clear();
        self.pending_since = None;
        self.is_urgent = false;
    }
}

impl Core {
    /// Lets a call through as a probe of the store's, if it must be one. `None` if it need not be.
    pub(crate) async fn ask(self: &Arc<Self>) -> Option<Result<Call<'static>, OpenCircuit>> {
        let (now, mut answer, mut cancelled) = (self.now(), None, VecDeque::new());
        let refusal = self.with_remote(|locked, remote| {
            if !remote.must_ask(&locked.circuit, now) {
                return None;
            }
            cancelled = remote.take_cancelled();
            if remote.is_full(&locked.circuit, now) {
                return Some(Refusal { state: State::HalfOpen, retry_at: None });
            }
            let (sender, receiver) = oneshot::channel();
            remote.asks.push_back(sender);
            answer = Some((receiver, remote.signal()));
            None
        });
        drop(cancelled);
        if let Some(refusal) = refusal.flatten() {
            return Some(Err(self.refuse(now, refusal)));
        }
        let (receiver, (signal, id)) = answer?;
        signal.notify_of(id);
        // Without an answer the store is out of reach, and the circuit decides by itself.
        match receiver.await.ok()? {
            Ok(mut granted) => granted.0.take().map(Ok),
            Err(refused) => {
                let now = self.now();
                let retry_at = refused.retry_after.map(|time| now + time);
                Some(Err(self.refuse(now, Refusal { state: refused.state, retry_at })))
            }
        }
    }

    /// Returns what has to be sent to the store next, if anything is due.
    pub(super) fn next_work(&self, now: Instant, flush: Duration, refresh: Duration) -> Option<Work> {
        let mut cancelled = VecDeque::new();
        let work = self.with_remote(|locked, remote| {
            if remote.retry_at.is_some_and(|at| at > now) {
                return None;
            }
            if !remote.is_connected() || now.saturating_since(remote.heard) >= refresh {
                return Some(Work::Load);
            }
            if let Some(force) = remote.next_force(&locked.circuit) {
                return Some(Work::Force(force));
            }
            if let Some(report) = remote.next_report() {
                return Some(Work::Report(report));
            }
            cancelled = remote.take_cancelled();
            if let Some(answer) = remote.asks.pop_front() {
                remote.asking += 1;
                return Some(Work::Ask(answer));
            }
            let is_due =
                remote.pending_since.is_some_and(|since| remote.is_urgent || now.saturating_since(since) >= flush);
            if is_due { remote.take_pending().map(Work::Report) } else { None }
        });
        drop(cancelled);
        work.flatten()
    }

    /// Returns when something is due that is not now.
    pub(super) fn next_due(&self, flush: Duration, refresh: Duration) -> Option<Instant> {
        self.with_remote(|_, remote| {
            let flush = remote.pending_since.map(|since| since + flush);
            let refresh = remote.heard + refresh;
            remote.retry_at.unwrap_or_else(|| flush.map_or(refresh, |flush| flush.min(refresh)))
        })
    }

    /// Takes over what the store says in a notice, unless an answer has said it before.
    pub(super) fn notice(&self, row: &Row) {
        let known = self.with_remote(|_, remote| remote.generation).flatten();
        if known.is_none_or(|known| row.generation > known) {
            self.adopt(row);
        }
    }

    /// Takes over what the store has answered to a change by hand of this process. Calls that began
    /// after the circuit was closed here count, also those that have ended before the answer.
    pub(super) fn forced(&self, row: &Row) {
        if row.state == State::Closed {
            self.with_remote(|_, remote| remote.generation = Some(row.generation));
        }
        self.adopt(row);
    }

    /// Takes over what the store has answered.
    ///
    /// A command is sent after all earlier rows were taken over. So an answer of an older
    /// generation means that the store itself has gone back, as after a failover that lost writes.
    pub(super) fn adopt(&self, row: &Row) {
        let now = self.now();
        // A transition by hand in this process was told of then.
        let is_forced = row.is_forced && !self.view().is_forced;
        self.change(now, is_forced, |locked| {
            let Locked { circuit, remote: Some(remote), .. } = locked else { return };
            remote.forced = remote.next_force(circuit);
            if remote.forced.is_some() {
                remote.generation.get_or_insert(row.generation);
                (remote.heard, remote.retry_at, remote.down) = (now, None, None);
                return;
            }
            let was_known = remote.generation.replace(row.generation);
            let is_new = was_known != Some(row.generation);
            let was_down = remote.down.take().is_some();
            (remote.heard, remote.retry_at, remote.settings_differ) = (now, None, row.settings_differ);
            let here = circuit.phase_state();
            if is_new && was_known.is_some() {
                remote.forget_pending();
            } else if was_down {
                remote.forget_old(circuit, now);
            }
            match row.state {
                // What opened it here has still to be told.
                State::Closed if here == State::Open && remote.pending_since.is_some() => remote.is_urgent = true,
                State::Closed if here != State::Closed || (is_new && was_known.is_some()) => circuit.force_closed(),
                State::Open => {
                    let until = row.retry_after.map(|time| now + time);
                    let is_known = here == State::Open && !is_new && !was_down;
                    if is_known { circuit.shorten(until) } else { circuit.adopt_open(until) }
                }
                // Probes of the time without the store decide no more.
                State::HalfOpen if here != State::HalfOpen || is_new || was_down => circuit.adopt_half_open(),
                _ => {}
            }
        });
    }

    /// Answers a call that wanted to be a probe.
    pub(super) fn answer(self: &Arc<Self>, answer: Answer, admission: Result<Pass, Refused>) {
        let began = self.now();
        let pass = match admission {
            Ok(pass) => pass,
            Err(refused) => {
                self.asked();
                let _ = answer.send(Err(refused));
                return;
            }
        };
        self.with_remote(|locked, remote| {
            remote.asking -= 1;
            if pass.probe.is_some() {
                remote.probes.push((pass, began + locked.circuit.settings().lease()));
                locked.stats.probes += 1;
            }
        });
        if pass.probe.is_some() {
            // Given back here if nothing waits for it any more.
            let _ = answer.send(Ok(Granted(Some(Call::new(Source::Owned(Arc::clone(self)), pass, began)))));
        }
        // Otherwise the circuit is closed now, and the call finds it so.
    }

    /// The store was not asked after all.
    pub(super) fn asked(&self) {
        self.with_remote(|_, remote| remote.asking -= 1);
    }

    /// The outcome of a probe has to be told again. It counts only once.
    pub(super) fn tell_again(&self, report: Report) {
        let Report::Probe { generation, id, outcome } = report else { return };
        self.with_remote(|_, remote| {
            remote.reports.push_front((Pass { generation, probe: Some(id) }, outcome));
        });
    }

    /// The store has to be told again what the circuit was changed to by hand. It may have been
    /// done: then the generation is this process's own, and what has ended since then counts in it.
    pub(super) fn force_again(&self, force: Force) {
        self.with_remote(|_, remote| {
            remote.forced.get_or_insert(force);
            if force == Force::Closed {
                remote.generation = None;
            }
        });
    }

    /// The store is out of reach, or refuses this circuit.
    pub(super) fn lose(&self, error: &StoreError) {
        let now = self.now();
        let asks = self.with_remote(|_, remote| {
            if remote.is_connected() {
                remote.recent.clear();
                remote.recent.append(now, &remote.pending);
                remote.down = Some((now, Some(error.clone())));
            } else if let Some((_, known)) = &mut remote.down {
                *known = Some(error.clone());
            }
            remote.retry_at = Some(now + RETRY);
            std::mem::take(&mut remote.asks)
        });
        // They wake calls, which may do anything.
        drop(asks);
    }

    /// A new connection: nothing need be waited for.
    pub(super) fn retry(&self) {
        self.with_remote(|_, remote| remote.retry_at = None);
    }

    pub(crate) fn sharing(&self) -> Option<Sharing> {
        let now = self.now();
        self.with_remote(|_, remote| {
            let down = remote.down.as_ref();
            Sharing {
                is_connected: down.is_none(),
                down_for: down.map_or(Duration::ZERO, |(since, _)| now.saturating_since(*since)),
                error: down.and_then(|(_, error)| error.clone()),
                settings_differ: remote.settings_differ,
            }
        })
    }
}

impl Drop for Remote {
    /// The task holds no breaker while it waits, so the last outcomes outlive this one.
    fn drop(&mut self) {
        if self.is_connected() {
            let forced = self.forced.take();
            let mut reports: Vec<_> = std::iter::from_fn(|| self.next_report()).collect();
            reports.extend(self.take_pending());
            self.keep.0.leave(Left { name: self.name.clone(), settings: self.settings, forced, reports });
        }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("generation", &self.generation).field("down", &self.down).finish_non_exhaustive()
    }
}
