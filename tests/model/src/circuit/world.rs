//! A small world: a circuit and its model side by side, which get the same inputs.

use bulklink_breaker::{Circuit, Instant, Mark, Outcomes, Pass, ProbeId, State};

use super::model::{Model, Setup, Time};
use super::rules;
use super::steps::Step;
use crate::script::Machine;
use crate::search;

/// A call that succeeded.
pub(super) const GOOD: Mark = Mark { failed: false, slow: false };
/// A call that failed.
pub(super) const BAD: Mark = Mark { failed: true, slow: false };
/// A call that was slow.
pub(super) const SLOW: Mark = Mark { failed: false, slow: true };
/// A call that was slow and failed.
pub(super) const BOTH: Mark = Mark { failed: true, slow: true };

/// Outcomes that are reported together.
const BATCHES: [&[Mark]; 4] = [&[], &[BAD, GOOD], &[GOOD, GOOD, GOOD], &[GOOD, BAD, BAD, SLOW]];

/// The time when a world begins.
const BEGIN: Time = 10;

/// An input to the circuit and its model.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// A call asks to be let through, as a probe of this name if the circuit is half-open.
    Admit(ProbeId),
    /// A call ends. `None` counts for neither side.
    Settle(Pass, Option<Mark>),
    /// Several calls of this generation have ended.
    Report(u64, &'static [Mark]),
    /// Time passes, without an input to the circuit.
    Wait(Time),
    /// The clock is set back, without an input to the circuit.
    Back(Time),
    /// The circuit follows the clock, as on a store.
    Follow,
    /// The circuit is opened by hand.
    ForceOpen,
    /// The circuit is closed by hand.
    ForceClosed,
    /// The settings are changed.
    Change(Setup),
}

/// How a world begins, and its possible events.
#[derive(Clone, Debug)]
pub struct Start {
    /// The settings.
    pub setup: Setup,
    /// How long time can pass between two inputs.
    pub waits: Vec<Time>,
    /// Whether the clock can be set back.
    pub goes_back: bool,
    /// Whether reports, and changes by hand, are tried everywhere and not only at the end.
    pub is_full: bool,
    /// The settings to which those of the circuit can be changed.
    pub others: Vec<Setup>,
    /// What happened already, so that the search begins in a state where much can happen.
    pub prelude: Vec<Step>,
}

/// A circuit and its model.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) start: Start,
    pub(super) circuit: Circuit,
    /// A second circuit, to which the successes that come while it is calm are added late: as in a
    /// breaker, before the next other input. Until the clock is set back.
    pub(super) lazy: Circuit,
    /// The successes that are to be added to it.
    pub(super) pending: u64,
    pub(super) model: Model,
    pub(super) now: Time,
    /// Whether the clock was set back.
    pub(super) went_back: bool,
    /// The names of probes so far, some of which were refused.
    pub(super) ids: u64,
    /// All passes so far.
    pub(super) passes: Vec<Pass>,
}

impl search::World for World {
    type Start = Start;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        let circuit = Circuit::new(start.setup.settings()).expect("the settings of a world are possible");
        let mut world = World {
            start: start.clone(),
            lazy: circuit.clone(),
            pending: 0,
            circuit,
            model: Model::new(start.setup),
            now: BEGIN,
            went_back: false,
            ids: 0,
            passes: vec![],
        };
        for step in &start.prelude {
            for input in world.inputs(step) {
                world.apply(input);
            }
        }
        world
    }

    fn fork(&self) -> Self {
        self.clone()
    }

    fn options(&self) -> Vec<Input> {
        let mut options = self.settlements(&[Some(GOOD), Some(BAD), Some(SLOW), None]);
        // The circuit does not change when it lets a call through while closed; a rule checks that.
        if self.model.state(self.now) != State::Closed {
            options.push(Input::Admit(self.new_id()));
        }
        options.extend(self.start.waits.iter().map(|&time| Input::Wait(time)));
        if self.start.goes_back {
            options.push(Input::Back(self.start.waits[0].min(self.now)));
        }
        options.extend(self.start.others.iter().copied().map(Input::Change));
        if self.start.is_full {
            options.extend([Input::ForceOpen, Input::ForceClosed]);
            options.extend(self.reports(&BATCHES[1..2]));
        }
        options
    }

    fn last_options(&self) -> Vec<Input> {
        let mut options = self.settlements(&[Some(BAD), Some(BOTH)]);
        options.extend(self.reports(&BATCHES));
        options.extend([Input::Admit(self.new_id()), Input::ForceOpen, Input::ForceClosed]);
        // A name that had its probe can be used again, for another.
        options.extend(self.passes.last().and_then(|pass| pass.probe).map(Input::Admit));
        options
    }

    fn replay(&mut self, input: Input) {
        self.apply(input);
    }

    fn check(&mut self, input: Input) {
        self.give_checked(input);
        rules::check(self);
    }
}

impl World {
    /// Returns the ends of the calls that count now, with these outcomes.
    pub(super) fn settlements(&self, outcomes: &[Option<Mark>]) -> Vec<Input> {
        let settle = |pass| outcomes.iter().map(move |&outcome| Input::Settle(pass, outcome));
        self.counting().into_iter().flat_map(settle).collect()
    }

    /// Returns the passes with outcomes that count now.
    pub(super) fn counting(&self) -> Vec<Pass> {
        let generation = self.model.generation();
        match self.model.state(0) {
            State::Closed => vec![Pass::new(generation, None)],
            State::Open => vec![],
            State::HalfOpen => self.model.running().iter().map(|probe| Pass::new(generation, Some(probe.0))).collect(),
        }
    }

    fn reports(&self, batches: &[&'static [Mark]]) -> Vec<Input> {
        let is_closed = self.model.state(self.now) == State::Closed;
        let report = |&batch| Input::Report(self.model.generation(), batch);
        batches.iter().filter(|_| is_closed).map(report).collect()
    }

    pub(super) fn new_id(&self) -> ProbeId {
        ProbeId(self.ids)
    }

    pub(super) fn instant(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// Gives the input, and checks its changes.
    pub(super) fn give_checked(&mut self, input: Input) {
        let before = self.circuit.clone();
        self.apply(input);
        rules::check_change(&before, self, input);
    }

    fn apply(&mut self, input: Input) {
        match input {
            Input::Admit(id) => self.admit(id),
            Input::Settle(pass, outcome) => self.settle(pass, outcome),
            Input::Report(generation, marks) => self.report(generation, marks),
            Input::Wait(time) => self.now = self.now.saturating_add(time),
            Input::Back(time) => {
                self.now -= time;
                // A success that is still to be added would have shown how late it was.
                self.went_back = true;
                self.lazy = self.circuit.clone();
                self.pending = 0;
            }
            Input::Follow => {
                let now = self.instant();
                self.circuit.follow(now);
                self.caught_up().follow(now);
                self.model.follow(self.now);
            }
            Input::ForceOpen => {
                self.circuit.force_open();
                self.caught_up().force_open();
                self.model.force_open();
            }
            Input::ForceClosed => {
                self.circuit.force_closed();
                self.caught_up().force_closed();
                self.model.force_closed();
            }
            Input::Change(setup) => self.change(setup),
        }
    }

    fn change(&mut self, setup: Setup) {
        let was_of_time = self.circuit.settings().window_calls().is_none();
        self.circuit.set_settings(setup.settings()).expect("the settings of a world are possible");
        self.caught_up().set_settings(setup.settings()).expect("the settings of a world are possible");
        // By the new settings it might matter when a success came; and the counts that a window of
        // time had when it opened the circuit are kept with a window of calls.
        if was_of_time || setup.settings().window_calls().is_none() {
            self.lazy = self.circuit.clone();
        }
        self.model.change(setup);
    }

    /// Returns the second circuit, after all successes were added to it.
    fn caught_up(&mut self) -> &mut Circuit {
        let now = self.instant();
        self.lazy.add_successes(now, std::mem::take(&mut self.pending));
        &mut self.lazy
    }

    fn admit(&mut self, id: ProbeId) {
        let expected = self.model.admit(self.now, id);
        let admitted = self.circuit.admit(self.instant(), id);
        let now = self.instant();
        assert_eq!(self.caught_up().admit(now, id), admitted, "a circuit to which successes were added late");
        self.ids = self.ids.max(id.0 + 1);
        match admitted {
            Ok(pass) => {
                assert_eq!((Ok(pass.probe), pass.generation), (expected, self.model.generation()));
                if !self.passes.contains(&pass) {
                    self.passes.push(pass);
                }
            }
            Err(refusal) => {
                assert_eq!(Err((refusal.state, refusal.retry_at.map(Instant::as_nanos))), expected);
            }
        }
    }

    fn settle(&mut self, pass: Pass, outcome: Option<Mark>) {
        let expected = self.model.settle(self.now, pass.generation, pass.probe, outcome);
        assert_eq!(self.circuit.settle(self.instant(), pass, outcome), expected);
        // As a breaker does, which then does not take its lock.
        let is_good = outcome == Some(GOOD) && pass == Pass::new(self.lazy.generation(), None);
        if !self.went_back && is_good && self.lazy.is_calm() {
            self.pending += 1;
        } else {
            let now = self.instant();
            assert_eq!(self.caught_up().settle(now, pass, outcome), expected);
        }
        if !self.passes.contains(&pass) {
            self.passes.push(pass);
        }
    }

    fn report(&mut self, generation: u64, marks: &[Mark]) {
        let mut outcomes = Outcomes::default();
        for mark in marks {
            outcomes.push(self.circuit.settings(), *mark);
        }
        let expected = self.model.report(self.now, generation, marks.to_vec());
        assert_eq!(self.circuit.report(self.instant(), generation, &outcomes), expected);
        let now = self.instant();
        assert_eq!(self.caught_up().report(now, generation, &outcomes), expected);
    }
}
