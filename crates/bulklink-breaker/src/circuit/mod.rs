//! A circuit as a pure state machine: no clock, no lock, no waiting.
//!
//! Each input has the time, in nanoseconds since an epoch that the caller chooses.
//! [`Breaker`](crate::Breaker) is a circuit for threads and tasks. A store that shares a circuit
//! does the same steps on the server.

pub(crate) mod settings;
pub(crate) mod snapshot;
mod state;
#[cfg(feature = "std")]
mod text;
pub(crate) mod window;

use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::time::Duration;

use bulklink::{InvalidArgument, runtime::Instant};

pub use settings::Settings;
#[cfg(feature = "std")]
pub(crate) use settings::{beside, duration, number};
pub use state::State;
pub(crate) use window::Window;
pub use window::{Counts, Mark, Outcomes};

/// The name of a probe, which its caller chooses.
///
/// A caller that repeats a request, because the answer was lost, uses the same again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProbeId(pub u64);

/// The pass of a call that was let through, given back with its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Pass {
    /// The circuit's generation at that time.
    pub generation: u64,
    /// Which probe the call is, if it is one.
    pub probe: Option<ProbeId>,
}

impl Pass {
    /// Makes a pass anew, for a store that keeps its parts.
    #[must_use]
    pub const fn new(generation: u64, probe: Option<ProbeId>) -> Self {
        Pass { generation, probe }
    }
}

/// Why a call was not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Refusal {
    /// `Open`, or `HalfOpen` if as many probes run as may.
    pub state: State,
    /// The end of the cool-down, or of the first lease of a probe. `None` if the circuit is open
    /// until it is closed by hand.
    pub retry_at: Option<Instant>,
}

impl Refusal {
    /// Makes a refusal anew, for a store that keeps its parts.
    #[must_use]
    pub const fn new(state: State, retry_at: Option<Instant>) -> Self {
        Refusal { state, retry_at }
    }
}

/// The state of a circuit at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct View {
    /// Whether it lets calls through. After its cool-down it is half-open, even if no call has
    /// come since.
    pub state: State,
    /// The number of its transitions.
    pub generation: u64,
    /// The end of the cool-down. `None` if the circuit is not open, or open until it is closed by
    /// hand.
    pub retry_at: Option<Instant>,
    /// Whether it was opened by hand.
    pub is_forced: bool,
    /// The calls of the window. None if the circuit is not closed. A window of time can contain
    /// older successes: those that were reported late count from then on.
    pub counts: Counts,
    /// The probes that have succeeded since the circuit became half-open.
    pub probe_successes: u32,
    /// The probes that have failed since then.
    pub probe_failures: u32,
    /// The probes that have not ended, within their lease.
    pub probes: usize,
}

impl View {
    pub(crate) const fn closed(generation: u64) -> Self {
        View {
            state: State::Closed,
            generation,
            retry_at: None,
            is_forced: false,
            counts: Counts { calls: 0, failures: 0, slow: 0 },
            probe_successes: 0,
            probe_failures: 0,
            probes: 0,
        }
    }
}

/// A circuit breaker's state machine.
///
/// ```
/// use bulklink_breaker::Instant;
/// use bulklink_breaker::circuit::{Circuit, Mark, ProbeId, Settings, State};
/// use std::time::Duration;
///
/// let settings = Settings::consecutive(2).cool_down(Duration::from_secs(5));
/// let mut circuit = Circuit::new(settings)?;
/// let failed = Mark { failed: true, slow: false };
///
/// let start = Instant::EPOCH;
/// let first = circuit.admit(start, ProbeId(1)).unwrap();
/// let second = circuit.admit(start, ProbeId(2)).unwrap();
/// let late = circuit.admit(start, ProbeId(3)).unwrap();
/// circuit.settle(start, first, Some(failed));
/// circuit.settle(start, second, Some(failed));
/// assert_eq!(circuit.view(start).state, State::Open);
///
/// // A result from before the trip changes nothing after it.
/// assert!(!circuit.settle(start, late, Some(Mark::default())));
///
/// let later = start + Duration::from_secs(5);
/// let probe = circuit.admit(later, ProbeId(4)).unwrap();
/// assert!(circuit.admit(later, ProbeId(5)).is_err(), "one probe at once");
/// circuit.settle(later, probe, Some(Mark::default()));
/// assert_eq!(circuit.view(later).state, State::Closed);
/// # Ok::<(), bulklink::InvalidArgument>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    settings: Settings,
    phase: Phase,
    generation: u64,
    /// How often in a row the probes have failed.
    reopened: u32,
    window: Window,
    /// The counts of the window when it last opened the circuit.
    tripped: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    /// `None` if it was opened by hand.
    Open {
        until: Option<Instant>,
    },
    HalfOpen {
        successes: u32,
        failures: u32,
        /// In the order in which they were let through.
        probes: Vec<Probe>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    id: ProbeId,
    /// From then on, another probe may take its place.
    until: Instant,
}

impl Circuit {
    /// A closed circuit of generation 0.
    ///
    /// # Errors
    ///
    /// If a setting is impossible.
    pub fn new(settings: Settings) -> Result<Self, InvalidArgument> {
        Self::in_generation(settings, 0)
    }

    /// A closed circuit of a later generation. One that replaces a circuit that was lost must not
    /// repeat its generations: outcomes from before would count in it.
    ///
    /// # Errors
    ///
    /// If a setting is impossible.
    pub fn in_generation(settings: Settings, generation: u64) -> Result<Self, InvalidArgument> {
        settings.check()?;
        let window = Window::new(&settings);
        Ok(Circuit { settings, phase: Phase::Closed, generation, reopened: 0, window, tripped: Counts::default() })
    }

    /// Changes the settings, from the next input on. The state stays as it is, with the cool-down
    /// and the leases of probes that have begun.
    ///
    /// A window of calls keeps its last calls; one of time is kept if its length stays the same.
    /// Where the numbers of failures, slow calls or successes have reached the new settings, the
    /// next outcome that counts changes the state, whatever it is. If more probes run than may by
    /// the new settings, no other is let through until fewer have a lease.
    ///
    /// # Errors
    ///
    /// If a setting is impossible: then nothing changes.
    pub fn set_settings(&mut self, settings: Settings) -> Result<(), InvalidArgument> {
        settings.check()?;
        self.window.fit(&settings);
        self.settings = settings;
        Ok(())
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns how long the circuit stays open the next time that its probes fail, or did last.
    #[cfg(feature = "std")]
    pub(crate) fn cool_down(&self) -> Duration {
        self.settings.cool_down_after(self.reopened)
    }

    /// Returns the number of transitions.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Lets a call through or refuses it. While the circuit is half-open, the call is the probe
    /// `id`.
    ///
    /// A probe that runs already is let through again. The circuit becomes half-open here, when the
    /// first call comes after the cool-down.
    ///
    /// # Errors
    ///
    /// If the circuit is open, or half-open with as many probes as may run.
    pub fn admit(&mut self, now: Instant, id: ProbeId) -> Result<Pass, Refusal> {
        match self.phase {
            Phase::Closed | Phase::HalfOpen { .. } => {}
            Phase::Open { until: Some(until) } if until <= now => {
                self.enter(Phase::HalfOpen { successes: 0, failures: 0, probes: Vec::new() });
            }
            Phase::Open { until } => return Err(Refusal { state: State::Open, retry_at: until }),
        }
        self.probe(now, id)
    }

    /// Follows a clock that was set back: no cool-down and no lease ends later than one that begins
    /// now. For stores, which have the clock of a server; not for a circuit that has adopted its
    /// cool-down from one.
    #[doc(hidden)]
    pub fn follow(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Open { until: Some(until) } => {
                *until = (*until).min(now + self.settings.cool_down_after(self.reopened));
            }
            Phase::HalfOpen { probes, .. } => {
                let latest = now + self.settings.probe_lease;
                for probe in probes {
                    probe.until = probe.until.min(latest);
                }
            }
            _ => {}
        }
    }

    /// Lets a probe through while the circuit is half-open.
    fn probe(&mut self, now: Instant, id: ProbeId) -> Result<Pass, Refusal> {
        let pass = Pass { generation: self.generation, probe: Some(id) };
        let Phase::HalfOpen { probes, .. } = &mut self.phase else { return Ok(Pass { probe: None, ..pass }) };
        let probe = Probe { id, until: now + self.settings.probe_lease };
        if probes.iter().any(|other| other.id == id) {
            return Ok(pass);
        }
        if let Some(until) = first_free(probes, &self.settings) {
            if until > now {
                return Err(Refusal { state: State::HalfOpen, retry_at: Some(until) });
            }
            // Not by their place in the list, which a store need not know.
            if let Some(oldest) = probes.iter_mut().min_by_key(|probe| (probe.until, probe.id)) {
                *oldest = probe;
            }
        } else {
            probes.push(probe);
        }
        Ok(pass)
    }

    /// Returns whether [`admit`](Circuit::admit) would let a new call through now.
    ///
    /// # Errors
    ///
    /// As `admit`.
    pub fn check(&self, now: Instant) -> Result<(), Refusal> {
        match &self.phase {
            Phase::Open { until } if until.is_none_or(|until| until > now) => {
                Err(Refusal { state: State::Open, retry_at: *until })
            }
            Phase::HalfOpen { probes, .. } => match first_free(probes, &self.settings) {
                Some(until) if until > now => Err(Refusal { state: State::HalfOpen, retry_at: Some(until) }),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Counts the outcome of a call that was let through. `None` counts for neither side, and frees
    /// the place of a probe.
    ///
    /// Returns whether the outcome could count. It could not if the circuit has changed its state
    /// since, or another probe has taken the place of this one.
    pub fn settle(&mut self, now: Instant, pass: Pass, outcome: Option<Mark>) -> bool {
        if pass.generation != self.generation {
            return false;
        }
        match (&mut self.phase, pass.probe) {
            (Phase::Closed, None) => {
                if let Some(mark) = outcome {
                    self.window.push(now, mark);
                    self.trip_if_due(now);
                }
                true
            }
            (Phase::HalfOpen { successes, failures, probes }, Some(id)) => {
                let Some(index) = probes.iter().position(|probe| probe.id == id) else { return false };
                probes.remove(index);
                // Also where changed settings need no more of them.
                let Some(mark) = outcome else { return true };
                if mark.failed || mark.slow {
                    *failures += 1;
                } else {
                    *successes += 1;
                }
                if *failures >= self.settings.reopen_after {
                    self.reopened = self.reopened.saturating_add(1);
                    self.open(now);
                } else if *successes >= self.settings.close_after {
                    self.close();
                }
                true
            }
            _ => false,
        }
    }

    /// Counts the outcomes of several calls that were let through while the circuit was closed.
    ///
    /// Returns whether they could count. They could not if the circuit has changed its state since.
    pub fn report(&mut self, now: Instant, generation: u64, outcomes: &Outcomes) -> bool {
        if generation != self.generation || self.phase != Phase::Closed {
            return false;
        }
        self.window.append(now, outcomes);
        self.trip_if_due(now);
        true
    }

    /// Closes the circuit as if it were new, but in a new generation.
    pub fn force_closed(&mut self) {
        self.close();
    }

    /// Opens the circuit until it is closed by hand.
    pub fn force_open(&mut self) {
        self.reopened = 0;
        self.enter(Phase::Open { until: None });
    }

    /// Returns the state at `now`.
    #[must_use]
    pub fn view(&self, now: Instant) -> View {
        let mut view = View::closed(self.generation);
        match &self.phase {
            Phase::Closed => view.counts = self.window.counts(now),
            Phase::Open { until: Some(until) } if *until <= now => view.state = State::HalfOpen,
            Phase::Open { until } => {
                view.state = State::Open;
                view.retry_at = *until;
                view.is_forced = until.is_none();
            }
            Phase::HalfOpen { successes, failures, probes } => {
                view.state = State::HalfOpen;
                view.probe_successes = *successes;
                view.probe_failures = *failures;
                view.probes = probes.iter().filter(|probe| probe.until > now).count();
            }
        }
        view
    }

    /// Returns whether the circuit is closed, and no success that was not slow can open it.
    ///
    /// It is calm until another input than such successes, so they may be added later and all at
    /// once, but before that: see [`add_successes`](Circuit::add_successes).
    #[must_use]
    pub fn is_calm(&self) -> bool {
        self.phase == Phase::Closed && self.window.is_calm(&self.settings)
    }

    /// Adds successes that were not slow, and that came while the circuit [was
    /// calm](Circuit::is_calm). A circuit that is not closed forgets them.
    ///
    /// In a window of calls that is as if each had been settled. A window of time counts them at
    /// `now`, so [`View::counts`] may have them longer; and if the clock is set back or rates are
    /// set later, that may matter.
    pub fn add_successes(&mut self, now: Instant, successes: u64) {
        if self.phase == Phase::Closed {
            self.window.add_successes(now, successes);
        }
    }

    /// Opens the circuit by the row of a store.
    #[doc(hidden)]
    pub fn adopt_open(&mut self, until: Option<Instant>) {
        self.enter(Phase::Open { until });
    }

    /// Ends the cool-down by the row of a store: earlier, or later if it is over here, as the
    /// store's clock may have been set back. Otherwise a later end is only one that was reported
    /// late.
    #[doc(hidden)]
    pub fn adjust(&mut self, now: Instant, until: Option<Instant>) {
        if let (Phase::Open { until: Some(known) }, Some(until)) = (&mut self.phase, until) {
            *known = if *known > now { (*known).min(until) } else { until };
        }
    }

    /// Makes the circuit half-open by the row of a store.
    #[doc(hidden)]
    pub fn adopt_half_open(&mut self) {
        self.enter(Phase::HalfOpen { successes: 0, failures: 0, probes: Vec::new() });
    }

    /// Returns the state without the time: open until the first call after the cool-down.
    #[doc(hidden)]
    #[must_use]
    pub const fn phase_state(&self) -> State {
        match self.phase {
            Phase::Closed => State::Closed,
            Phase::Open { .. } => State::Open,
            Phase::HalfOpen { .. } => State::HalfOpen,
        }
    }

    /// Returns the counts of the window when it last opened the circuit.
    #[cfg(feature = "std")]
    pub(crate) const fn tripped(&self) -> Counts {
        self.tripped
    }

    fn trip_if_due(&mut self, now: Instant) {
        let counts = self.window.counts(now);
        if counts.trip(&self.settings) {
            self.tripped = counts;
            self.open(now);
        }
    }

    fn open(&mut self, now: Instant) {
        let until = now + self.settings.cool_down_after(self.reopened);
        self.enter(Phase::Open { until: Some(until) });
    }

    fn close(&mut self) {
        self.reopened = 0;
        self.tripped = Counts::default();
        self.enter(Phase::Closed);
    }

    /// Each transition is a new generation, so that outcomes from before it do not count.
    fn enter(&mut self, phase: Phase) {
        self.window.clear();
        self.generation += 1;
        self.phase = phase;
    }
}

/// Returns from when on another probe may take the place of one, because fewer have a lease then
/// than may run. `None` if a place is free.
///
/// That is the end of the first lease, or of a later one if the settings were changed to fewer
/// probes.
fn first_free(probes: &[Probe], settings: &Settings) -> Option<Instant> {
    let too_many = probes.len().checked_sub(settings.probes as usize)?;
    let ends = probes.iter().map(|probe| probe.until);
    if too_many == 0 {
        return ends.min();
    }
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    ends.get(too_many).copied()
}
