//! The steps of scripts for a circuit, and the inputs that they mean in a world.

use std::time::Duration;

use bulklink_breaker::{Circuit, Mark, ProbeId};

use super::model::Time;
use super::rules;
use super::world::{BAD, BOTH, GOOD, Input, SLOW, Start, World};
use crate::script::Machine;
use crate::search;

/// One step of a script. Numbers of calls and probes are modulo those that exist.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A call comes.
    Admit,
    /// A call comes under the name of an earlier one.
    AdmitAgain(u8),
    /// A call ends that counts.
    Settle(u8, Option<Mark>),
    /// A call ends that had this pass, whether it counts or not.
    SettleAny(u8, Option<Mark>),
    /// Several calls are reported, perhaps with the generation of an earlier one.
    Report(bool, u8),
    /// This time passes, in the shortest wait of the world.
    Wait(u8),
    /// Time passes until the first cool-down or lease ends, or a nanosecond less.
    WaitForEnd(bool),
    /// The clock is set back, in the shortest wait of the world. The circuit follows it if that is
    /// an even number.
    Back(u8),
    /// The circuit is opened by hand.
    ForceOpen,
    /// The circuit is closed by hand.
    ForceClosed,
    /// The settings are changed to others of the world, or to its first ones.
    Change(u8),
}

/// Outcomes that are reported together in scripts.
const REPORTS: [&[Mark]; 6] = [
    &[],
    &[BAD],
    &[GOOD, SLOW],
    &[BAD, BOTH, GOOD],
    &[GOOD; 30],
    &[BAD, BAD, GOOD, GOOD, GOOD, GOOD, BAD, SLOW, GOOD, GOOD, GOOD, BAD],
];

impl Machine for World {
    type Start = Start;
    type Step = Step;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        search::World::begin(start)
    }

    fn inputs(&self, step: &Step) -> Vec<Input> {
        let unit = self.start.waits[0];
        match *step {
            Step::Admit => vec![Input::Admit(self.new_id())],
            Step::AdmitAgain(index) => one_of(index, &(0..self.ids).rev().take(4).collect::<Vec<_>>())
                .map(|id| Input::Admit(ProbeId(id)))
                .collect(),
            Step::Settle(index, outcome) => one_of(index, &self.settlements(&[outcome])).collect(),
            Step::SettleAny(index, outcome) => {
                one_of(index, &self.passes).map(|pass| Input::Settle(pass, outcome)).collect()
            }
            Step::Report(is_late, index) => {
                let generation = self.model.generation().saturating_sub(u64::from(is_late));
                one_of(index, &REPORTS).map(|marks| Input::Report(generation, marks)).collect()
            }
            Step::Wait(times) => vec![Input::Wait(Time::from(times) * unit)],
            Step::WaitForEnd(is_reached) => self.until_end(is_reached).map(Input::Wait).into_iter().collect(),
            Step::Back(times) => {
                let back = Input::Back((Time::from(times) * unit).min(self.now));
                if times % 2 == 0 { vec![back, Input::Follow] } else { vec![back] }
            }
            Step::ForceOpen => vec![Input::ForceOpen],
            Step::ForceClosed => vec![Input::ForceClosed],
            Step::Change(index) => {
                let setups = [&[self.start.setup], &self.start.others[..]].concat();
                one_of(index, &setups).map(Input::Change).collect()
            }
        }
    }

    fn give(&mut self, input: Input) {
        self.give_checked(input);
    }

    fn check(&mut self) {
        rules::check(self);
        // A store keeps it as values, and restores it.
        let snapshot = self.circuit.snapshot();
        let restored = Circuit::restore(*self.circuit.settings(), &snapshot).expect("a circuit has had them");
        // Then also when some parts of a window of time are too old.
        for millis in [0, 4, 13] {
            let later = self.instant() + Duration::from_millis(millis);
            assert_eq!(restored.view(later), self.circuit.view(later));
        }
        assert_eq!(restored.snapshot(), snapshot);
    }
}

impl World {
    /// Returns the time until the first cool-down or lease ends, or a nanosecond less.
    fn until_end(&self, is_reached: bool) -> Option<Time> {
        let ends = self.model.running().into_iter().map(|probe| probe.1).chain(self.model.open_until());
        let first = ends.filter(|end| *end > self.now).min()?;
        Some(first - self.now - u64::from(!is_reached))
    }
}

fn one_of<T: Copy>(index: u8, options: &[T]) -> impl Iterator<Item = T> {
    usize::from(index).checked_rem(options.len()).map(|place| options[place]).into_iter()
}
