//! The adaptive limit of a bulkhead: whose turn it is to judge, and what follows from a judgement.
//!
//! A machine may be foreign, so it never runs under the lock. The call that ends takes it out of
//! the state, judges, sets the ceiling, and puts it back. Calls that end meanwhile do not wait: the
//! next one that finds the machine in its place stands for them too.

use alloc::boxed::Box;

use bulklink_core::limit::{Limit, Outcome, Sample, State};
use bulklink_core::{Grant, Instant};

use crate::foreign::{attempt, discard};
use crate::gate::ceilings::Bound;
use crate::gate::shared::{Shared, hint};
use crate::gate::state::GateState;
use crate::limit::{Adaptive, BY, Config, Logged, Mode};
use crate::observe::trace;

/// An adaptive limit, under the lock of its bulkhead.
pub(crate) struct Adaptation {
    /// Not here while a call judges, and after it has failed.
    machine: Option<Machine>,
    ceiling: u64,
    figures: Adaptive,
    /// How many calls end from one sample to the next, and how many more until the next one.
    one_in: u32,
    left: u64,
    chance: u64,
    /// Whether calls pressed, and the units of those that ended, since the latest sample.
    pressed: bool,
    successes: usize,
    overloads: usize,
}

struct Machine {
    limit: Box<dyn Limit + Send>,
    logged: Logged,
}

/// The turn of a call to judge.
pub(crate) struct Judge {
    machine: Machine,
    sample: Sample,
    ceiling: u64,
    figures: Adaptive,
}

impl Adaptation {
    /// Takes a call into account that ends. Returns its turn, if it is to judge.
    fn take_turn(&mut self, sample: Sample) -> Option<Judge> {
        if self.figures.mode == Mode::Frozen || self.figures.has_failed {
            return None;
        }
        self.pressed |= sample.pressed;
        let units = match sample.outcome {
            Outcome::Overload => &mut self.overloads,
            _ => &mut self.successes,
        };
        *units = units.saturating_add(sample.units);
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return None;
        }
        let machine = self.machine.take()?;
        let sample = sample.units(core::mem::take(units)).pressed(core::mem::take(&mut self.pressed));
        // By chance, because outcomes may have a rhythm. The mean of the distances is `one_in`.
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let distances = 2 * u64::from(self.one_in) - 1;
        self.left = 1 + below(distances, self.chance);
        Some(Judge { machine, sample, ceiling: self.ceiling, figures: self.figures })
    }

    /// Returns what its ceiling allows. A call that costs more runs alone.
    fn bound(&self) -> Option<Bound> {
        let units = self.figures.state.limit;
        (self.figures.mode != Mode::Monitor).then_some(Bound { units, or_one_call: true })
    }
}

/// Returns a number below this one, by random bits.
fn below(count: u64, bits: u64) -> u64 {
    ((u128::from(count) * u128::from(bits)) >> 64) as u64
}

impl GateState {
    fn adaptation(&mut self) -> Option<&mut Adaptation> {
        self.rare.as_mut()?.adaptation.as_deref_mut()
    }

    /// Returns the figures of the adaptive limit.
    pub(crate) fn adaptive(&self) -> Option<Adaptive> {
        Some(self.rare.as_ref()?.adaptation.as_ref()?.figures)
    }

    /// Ends an operation of a bulkhead that has an adaptive limit.
    fn finish_judged(&mut self, grant: Grant, now: Instant) -> Option<Judge> {
        let GateState { gate, calls, rare, .. } = self;
        let sample = calls.as_mut().and_then(|calls| calls.sample(gate, &grant, now));
        let adaptation = rare.as_mut().and_then(|rare| rare.adaptation.as_deref_mut());
        let judge = adaptation.zip(sample).and_then(|(adaptation, sample)| adaptation.take_turn(sample));
        let released = self.finish_any(grant, Some(now));
        debug_assert_eq!(released, Ok(()), "the time is known");
        judge
    }
}

impl Shared {
    /// Gives the bulkhead an adaptive limit. Called before it has any call.
    pub(crate) fn adapt(&self, config: &Config, mode: Mode, one_in: u32) {
        let limit = config.make();
        let (state, bounds) = (State::of(limit.limit().clamp(limit.bounds().0, limit.bounds().1)), limit.bounds());
        let figures = Adaptive { mode, bounds, state, raised: 0, lowered: 0, has_failed: false };
        let ceiling = self.add_ceiling(BY);
        let adaptation = Adaptation {
            machine: Some(Machine { limit, logged: config.logged.clone() }),
            ceiling,
            figures,
            one_in,
            left: one_in.into(),
            chance: 0,
            pressed: false,
            successes: 0,
            overloads: 0,
        };
        let bound = adaptation.bound();
        self.change_ceiling(ceiling, |entry| entry.bound = bound);
        self.beside_the_word(|state| {
            state.rare.get_or_insert_default().adaptation = Some(Box::new(adaptation));
            self.give_hint(hint::ADAPTIVE, true);
        });
    }

    /// Gives back the grant of a call whose bulkhead has an adaptive limit.
    #[cold]
    #[inline(never)]
    pub(crate) fn release_judged(&self, grant: Grant) {
        let now = self.now_if_sound();
        // The operation panicked, or the code around it did.
        #[cfg(feature = "std")]
        let grant = if std::thread::panicking() { self.ignored(grant) } else { grant };
        if let Some(judge) = self.input(|state| state.finish_judged(grant, now)) {
            self.judge(judge);
        }
    }

    #[cfg(feature = "std")]
    fn ignored(&self, grant: Grant) -> Grant {
        self.beside_the_word(|state| {
            if let Some(calls) = &mut state.calls {
                calls.set_outcome(&grant, Some(Outcome::Ignore));
            }
        });
        grant
    }

    fn judge(&self, judge: Judge) {
        let Judge { mut machine, sample, ceiling, figures } = judge;
        let judged = attempt(|| {
            machine.limit.sample(&sample);
            machine.limit.state()
        });
        let (least, most) = figures.bounds;
        let Some(state) = judged.filter(|state| (least..=most).contains(&state.limit)) else {
            let figures = Adaptive { has_failed: true, ..figures };
            self.beside_the_word(|state| state.adaptation().map(|adaptation| adaptation.figures.has_failed = true));
            discard(machine.limit);
            return trace::limit_failed(self, &machine.logged.failed, &figures);
        };
        let (before, after) = (figures.state.limit, state.limit);
        let is_active = figures.mode == Mode::Active;
        let moved = Adaptive {
            state,
            raised: figures.raised + u64::from(is_active && after > before),
            lowered: figures.lowered + u64::from(is_active && after < before),
            ..figures
        };
        let logged = (before != after).then(|| machine.logged.moved.clone());
        let put_back = |adaptation: &mut Adaptation| {
            // The mode may have been changed meanwhile. Nothing moves once it is frozen.
            let mode = adaptation.figures.mode;
            if mode != Mode::Frozen {
                adaptation.figures = Adaptive { mode, ..moved };
            }
            adaptation.machine = Some(machine);
            adaptation.bound()
        };
        let Some(logged) = logged else {
            self.beside_the_word(|state| state.adaptation().map(put_back));
            return;
        };
        // The judgement of a foreign limit may have taken long.
        let now = self.now_if_sound();
        self.input(|state| {
            if let Some(bound) = state.adaptation().map(put_back) {
                self.set_ceiling_now(state, ceiling, bound, now);
            }
        });
        trace::limit_moved(self, &logged, before, &moved);
    }

    /// Sets the mode of the adaptive limit, and returns the one before.
    pub(crate) fn set_limit_mode(&self, mode: Mode) -> Option<Mode> {
        let now = self.now_if_sound();
        self.input(|state| {
            let adaptation = state.adaptation()?;
            let before = core::mem::replace(&mut adaptation.figures.mode, mode);
            let (ceiling, bound) = (adaptation.ceiling, adaptation.bound());
            if before != mode {
                self.set_ceiling_now(state, ceiling, bound, now);
            }
            Some(before)
        })
    }
}
