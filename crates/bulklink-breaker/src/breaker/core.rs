//! What all clones of a breaker share: its circuit under a lock, and a word beside it.
//!
//! The word shows whether the circuit is closed, so that a call of a closed circuit reads it and
//! nothing else. While the circuit is calm, a success cannot open it, so successes are counted
//! beside the lock, in stripes by thread: whatever takes the lock adds them to the circuit first.
//! The stripes are shut meanwhile, so that all happens in one order.

use std::fmt;
use std::sync::Arc;
// Not loom's: a number is all there is to it.
use std::sync::atomic::AtomicU64 as Number;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::counters::{Striped, Successes, TAG, Used};
use super::event::{Handlers, Transition};
use super::log::{Cause, Origin};
use super::run_limit::LiveLimit;
use super::waiters::Waiters;
use super::{BreakerTotals, Config, OpenCircuit};
use crate::circuit::{Circuit, Mark, Pass, ProbeId, Refusal, State};
use crate::plumbing::{Access, Peer, Settled};
use crate::sync::{self, AtomicU64, Mutex, MutexGuard};
use crate::{Instant, Outcome, Settings};

/// The lowest bits of the word. Those from `TAG` on are the tag of its calls, by which their
/// successes are counted.
const STATE: u64 = 0b11;
/// Zero, as `TIMED` usually is, so that one test of bits finds both.
const CLOSED: u64 = 0b00;
const HALF_OPEN: u64 = 0b01;
const OPEN: u64 = 0b10;
/// Calls can be slow, so each reads the clock before its success is counted.
const TIMED: u64 = 1 << TAG;
const GENERATION: u32 = TAG + 1;

/// The beginning of a call with a duration that did not matter then. It is never slow, also where
/// changed settings have made durations matter.
const UNTIMED: Instant = Instant::FAR_FUTURE;
/// From how many nanoseconds on a call is slow, if durations do not matter.
const NEVER: u64 = u64::MAX;

/// The word with which a closed circuit has let a call through. Without `TIMED`, so that the tag of
/// a call that can be slow is no stripe's.
#[derive(Clone, Copy)]
pub(crate) struct Ticket(u64);

/// The number of the latest breaker.
static INSTANCES: Number = Number::new(0);

pub(crate) fn next_instance() -> u64 {
    INSTANCES.fetch_add(1, Ordering::Relaxed) + 1
}

pub(crate) struct Core {
    pub(crate) config: Config,
    instance: u64,
    word: AtomicU64,
    /// When the cool-down ends, if the word is open: nanoseconds of the clock.
    until: AtomicU64,
    /// From how many nanoseconds on a call is slow: a setting, changed under the lock.
    pub(super) slow_after: Number,
    /// The run limit of its configuration, for its guards.
    pub(crate) run_limit: LiveLimit,
    locked: Mutex<Locked>,
    successes: Successes,
    refused: Striped,
    waiters: Waiters,
    handlers: Handlers,
    /// The other processes, if the circuit is shared.
    pub(super) peer: Option<Arc<dyn Peer>>,
}

pub(super) struct Locked {
    pub(super) circuit: Circuit,
    next_probe: u64,
    /// Without the counts beside the lock.
    pub(super) totals: BreakerTotals,
    /// Where threads of this breaker count successes.
    used: Used,
    /// When a call last changed the circuit, or was let through as a probe.
    pub(super) changed_at: Instant,
    /// When the last transition was, or the breaker was built.
    pub(super) in_state_since: Instant,
    /// When the circuit left the state closed. `None` while it is closed.
    pub(super) unhealthy_since: Option<Instant>,
}

/// The rejection of a call that could only be a probe, while as many run as may.
const FULL: Refusal = Refusal { state: State::HalfOpen, retry_at: None };

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Outcome(Outcome),
    /// Dropped before it had ended.
    Cancelled,
    Panicked,
    TimedOut,
}

impl Ticket {
    #[inline]
    pub(crate) fn pass(self) -> Pass {
        Pass { generation: self.0 >> GENERATION, probe: None }
    }
}

impl Core {
    pub(crate) fn new(config: Config, circuit: Circuit) -> Self {
        let in_state_since = (config.now)();
        let core = Core {
            slow_after: Number::new(slow_after(circuit.settings())),
            run_limit: LiveLimit::default(),
            config,
            instance: next_instance(),
            word: AtomicU64::new(0),
            until: AtomicU64::new(0),
            locked: Mutex::new(Locked {
                circuit,
                next_probe: 0,
                totals: BreakerTotals::default(),
                used: Used::default(),
                changed_at: Instant::EPOCH,
                in_state_since,
                unhealthy_since: None,
            }),
            successes: Successes::default(),
            refused: Striped::default(),
            waiters: Waiters::default(),
            handlers: Handlers::default(),
            peer: None,
        };
        core.publish(&core.lock());
        core
    }

    /// Lets a call through. Returns its pass, and when it began if its duration matters.
    #[inline]
    pub(crate) fn admit(&self) -> Result<(Pass, Instant), OpenCircuit> {
        let word = self.word.load(Ordering::Acquire);
        let pass = if word & STATE == CLOSED { Ticket(word).pass() } else { self.admit_slowly(word)? };
        Ok((pass, if word & TIMED == 0 { UNTIMED } else { self.now() }))
    }

    /// As `admit`, if the circuit is closed.
    #[inline]
    pub(super) fn admit_if_closed(&self) -> Option<(Pass, Instant)> {
        let word = self.word.load(Ordering::Acquire);
        if word & STATE != CLOSED {
            return None;
        }
        Some((Ticket(word).pass(), if word & TIMED == 0 { UNTIMED } else { self.now() }))
    }

    /// Lets a call through if the circuit is closed. Returns its ticket, and when it began if its
    /// duration matters.
    #[inline]
    pub(crate) fn admit_closed(&self) -> Option<(Ticket, Instant)> {
        let word = self.word.load(Ordering::Acquire);
        if word & (STATE | TIMED) == CLOSED {
            return Some((Ticket(word), UNTIMED));
        }
        if word & STATE == CLOSED { Some(self.admit_timed(word)) } else { None }
    }

    /// Not inlined, so that the code of a circuit without slow calls goes straight on.
    #[cold]
    fn admit_timed(&self, word: u64) -> (Ticket, Instant) {
        (Ticket(word & !TIMED), self.now())
    }

    /// Counts the outcome of a call that `admit_closed` has let through.
    #[inline]
    pub(crate) fn settle_closed(&self, ticket: Ticket, began: Instant, outcome: Outcome) {
        // Called twice, so that the path of a success need not keep the outcome in a register.
        if outcome != Outcome::Success {
            self.settle_ticket(ticket, began, outcome);
        } else if !self.successes.add(ticket.0) {
            self.settle_ticket(ticket, began, Outcome::Success);
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_ticket(&self, ticket: Ticket, began: Instant, outcome: Outcome) {
        self.settle_slowly(ticket.pass(), began, Ending::Outcome(outcome));
    }

    /// Returns an error if `admit` would, without taking the place of a probe.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), OpenCircuit> {
        let word = self.word.load(Ordering::Acquire);
        if word & STATE == CLOSED { Ok(()) } else { self.check_slowly(word) }
    }

    #[cold]
    fn admit_slowly(&self, word: u64) -> Result<Pass, OpenCircuit> {
        let now = self.now();
        self.refuse_open(word, now)?;
        let admitted = self.change(now, Origin::Calls, |locked| {
            if self.access(&locked.circuit, now) != Access::Local {
                return Err(FULL);
            }
            locked.next_probe += 1;
            let admitted = locked.circuit.admit(now, ProbeId(locked.next_probe));
            if matches!(admitted, Ok(Pass { probe: Some(_), .. })) {
                locked.totals.probes += 1;
            }
            admitted
        });
        admitted.map_err(|refusal| self.refuse(now, refusal))
    }

    fn access(&self, circuit: &Circuit, now: Instant) -> Access {
        self.peer.as_ref().map_or(Access::Local, |peer| peer.access(circuit, now))
    }

    #[cold]
    fn check_slowly(&self, word: u64) -> Result<(), OpenCircuit> {
        let now = self.now();
        self.refuse_open(word, now)?;
        let locked = self.lock();
        let checked = locked.circuit.check(now).and_then(|()| match self.access(&locked.circuit, now) {
            Access::Full => Err(FULL),
            Access::Local | Access::Ask => Ok(()),
        });
        drop(locked);
        checked.map_err(|refusal| self.refuse(now, refusal))
    }

    /// Rejects a call of a circuit that is certainly open, without the lock.
    #[inline]
    fn refuse_open(&self, word: u64, now: Instant) -> Result<(), OpenCircuit> {
        let until = Instant::from_nanos(self.until.load(Ordering::Acquire));
        // The time belongs to the word if that has not changed meanwhile.
        if word & STATE != OPEN || until <= now || self.word.load(Ordering::Acquire) != word {
            return Ok(());
        }
        let retry_at = (until != Instant::FAR_FUTURE).then_some(until);
        Err(self.refuse(now, Refusal { state: State::Open, retry_at }))
    }

    pub(super) fn refuse(&self, now: Instant, refusal: Refusal) -> OpenCircuit {
        self.refused.add();
        OpenCircuit {
            label: Arc::clone(&self.config.label),
            state: refusal.state,
            // The end of a probe's lease is known too, but a probe usually ends long before.
            retry_after: refusal.retry_at.filter(|_| refusal.state == State::Open).map(|at| at.saturating_since(now)),
        }
    }

    /// Returns when a call with an answer that is on its way began, if the answer came late; else a
    /// beginning with which it is never slow: its reader sets the pace from now on.
    pub(super) fn beginning_of_answered(&self, began: Instant) -> Instant {
        let slow_after = self.slow_after.load(Ordering::Relaxed);
        let is_slow = slow_after != NEVER && nanos(self.now().saturating_since(began)) >= slow_after;
        if is_slow { began } else { UNTIMED }
    }

    /// Counts how a call ended.
    #[inline]
    pub(crate) fn settle(&self, pass: Pass, began: Instant, ending: Ending) {
        let is_success = ending == Ending::Outcome(Outcome::Success) && pass.probe.is_none();
        if !is_success || !self.successes.add(pass.generation << GENERATION) {
            self.settle_slowly(pass, began, ending);
        }
    }

    #[inline(never)]
    fn settle_slowly(&self, pass: Pass, began: Instant, ending: Ending) {
        let now = self.now();
        let slow = nanos(now.saturating_since(began)) >= self.slow_after.load(Ordering::Relaxed);
        let success = ending == Ending::Outcome(Outcome::Success);
        if success && !slow && pass.probe.is_none() && self.successes.add(self.tag(pass.generation)) {
            return;
        }
        let mark = match ending {
            Ending::Outcome(Outcome::Success) => Some(Mark { failed: false, slow }),
            Ending::Outcome(Outcome::Failure) | Ending::Panicked | Ending::TimedOut => {
                Some(Mark { failed: true, slow })
            }
            Ending::Outcome(Outcome::Ignore) => None,
            Ending::Cancelled if self.config.count_cancelled => Some(Mark { failed: true, slow }),
            // That it took too long is known, though not how it would have ended.
            Ending::Cancelled => slow.then_some(Mark { failed: false, slow }),
        };
        let has_work = self.change(now, Origin::Calls, |locked| {
            let settled = match &self.peer {
                Some(peer) => peer.settle(&mut locked.circuit, now, pass, mark),
                None => Settled { counted: locked.circuit.settle(now, pass, mark), has_work: false },
            };
            locked.totals.count(ending, mark, settled.counted);
            settled.has_work
        });
        if has_work {
            self.notify();
        }
    }

    /// Shares the circuit, before any call comes.
    pub(crate) fn share<P: Peer>(&mut self, peer: impl FnOnce(u64, Settings, Instant) -> Arc<P>) {
        self.peer = Some(peer(self.instance, self.settings(), self.now()));
    }

    pub(crate) fn settings(&self) -> Settings {
        *self.lock().circuit.settings()
    }

    /// Changes the circuit by the deeds of other processes. A transition is by hand if the
    /// circuit is opened by hand now, and was not before.
    pub(crate) fn adopt<T>(&self, adopt: impl FnOnce(&mut Circuit, Instant) -> T) -> T {
        let now = self.now();
        self.change_by(now, |locked| {
            let was_forced = locked.circuit.view(now).is_forced;
            let value = adopt(&mut locked.circuit, now);
            let is_by_hand = locked.circuit.view(now).is_forced && !was_forced;
            (value, if is_by_hand { Origin::Hand } else { Origin::Store })
        })
    }

    /// Opens or closes the circuit by hand.
    pub(crate) fn force(&self, is_open: bool) {
        self.change(self.now(), Origin::Hand, |locked| {
            if is_open {
                locked.circuit.force_open();
            } else {
                locked.circuit.force_closed();
            }
            if let Some(peer) = &self.peer {
                peer.force(is_open);
            }
        });
        self.notify();
    }

    fn notify(&self) {
        if let Some(peer) = &self.peer {
            peer.notify();
        }
    }

    pub(super) fn change<T>(&self, now: Instant, origin: Origin, change: impl FnOnce(&mut Locked) -> T) -> T {
        self.change_by(now, |locked| (change(locked), origin))
    }

    /// Changes the circuit, publishes its state, and makes a transition known. The change returns
    /// its origin.
    fn change_by<T>(&self, now: Instant, change: impl FnOnce(&mut Locked) -> (T, Origin)) -> T {
        let mut locked = self.lock_told(now);
        locked.changed_at = now;
        locked.used.add_own();
        let generation = locked.circuit.generation();
        let from = self.state();
        let before = locked.circuit.view(now).counts;
        let (value, origin) = change(&mut locked);
        if generation == locked.circuit.generation() {
            self.publish(&locked);
            return value;
        }
        let to = self.publish(&locked);
        if to == State::Open {
            locked.totals.opened += 1;
        }
        let is_forced = origin == Origin::Hand;
        let counts = if from == State::Closed && !is_forced { locked.circuit.tripped() } else { before };
        let label = Arc::clone(&self.config.label);
        let generation = locked.circuit.generation();
        // A store may have another generation in the same state.
        if from != to || is_forced {
            locked.in_state_since = now;
            locked.unhealthy_since = locked.unhealthy_since.or(Some(now)).filter(|_| to != State::Closed);
            let transition = Transition { label, from, to, generation, is_forced, counts };
            let cause = Cause::of(origin, &transition, locked.circuit.settings());
            self.handlers.append(transition, cause);
        }
        drop(locked);
        self.waiters.wake();
        self.handlers.deliver(&self.config.log);
        value
    }

    /// Locks the circuit, adds all successes that were counted beside it, and lets none be
    /// counted there until it is published.
    pub(super) fn lock_told(&self, now: Instant) -> MutexGuard<'_, Locked> {
        let mut locked = self.lock();
        let successes = self.successes.shut(locked.used);
        locked.totals.successes += successes;
        locked.circuit.add_successes(now, successes);
        locked
    }

    /// Writes the word, and lets successes be counted beside the lock if the circuit is calm.
    pub(super) fn publish(&self, locked: &Locked) -> State {
        let circuit = &locked.circuit;
        // At the epoch, a cool-down has never passed.
        let view = circuit.view(Instant::EPOCH);
        let bits = match view.state {
            State::Closed => CLOSED,
            State::HalfOpen => HALF_OPEN,
            State::Open => {
                let until = view.retry_at.unwrap_or(Instant::FAR_FUTURE);
                self.until.store(until.as_nanos(), Ordering::Release);
                OPEN
            }
        };
        let tag = self.tag(circuit.generation());
        let word = tag | bits;
        // Usually it is the same, and a store would take it from the caches of all other threads.
        if self.word.load(Ordering::Relaxed) != word {
            self.word.store(word, Ordering::Release);
        }
        // The other processes count each success.
        if self.peer.is_none() && circuit.is_calm() {
            self.successes.open(locked.used, tag);
        }
        view.state
    }

    /// The tag of calls that were let through in this generation.
    fn tag(&self, generation: u64) -> u64 {
        let is_timed = self.slow_after.load(Ordering::Relaxed) != NEVER;
        generation << GENERATION | if is_timed { TIMED } else { 0 }
    }

    /// The state by the word: open until the first call after the cool-down.
    fn state(&self) -> State {
        match self.word.load(Ordering::Acquire) & STATE {
            HALF_OPEN => State::HalfOpen,
            OPEN => State::Open,
            _ => State::Closed,
        }
    }

    /// Adds the counts beside the lock.
    pub(super) fn whole(&self, locked: &Locked) -> BreakerTotals {
        let mut totals = locked.totals;
        totals.successes += self.successes.sum(locked.used);
        totals.rejected += self.refused.sum();
        totals
    }

    pub(crate) fn instance(&self) -> u64 {
        self.instance
    }

    /// Returns the generation by the word.
    pub(crate) fn generation(&self) -> u64 {
        self.word.load(Ordering::Acquire) >> GENERATION
    }

    pub(crate) fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    pub(crate) fn now(&self) -> Instant {
        (self.config.now)()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Locked> {
        sync::lock(&self.locked)
    }
}

pub(super) fn slow_after(settings: &Settings) -> u64 {
    settings.slow_after().map_or(NEVER, nanos)
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(NEVER - 1)
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("label", &self.config.label).field("state", &self.state()).finish_non_exhaustive()
    }
}
