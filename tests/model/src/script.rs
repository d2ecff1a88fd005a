//! Scripts: a start and steps, which are played to a machine and to its model.

use std::fmt::Debug;

/// A machine and its model side by side.
pub trait Machine {
    /// How it begins.
    type Start: Clone + Debug;
    /// The unit of a script.
    ///
    /// A step has a meaning in every state, so that a failing script can be shortened by leaving
    /// out steps.
    type Step: Clone + Debug;
    /// An input to the machine and its model.
    type Input: Copy + Debug;

    /// Makes the machine and its model.
    fn begin(start: &Self::Start) -> Self;
    /// Returns the inputs that the step means in this state; none if the state has nothing for it,
    /// as a release while no grant is held.
    fn inputs(&self, step: &Self::Step) -> Vec<Self::Input>;
    /// Gives the input to both, and compares the machine's answer with the model's.
    fn give(&mut self, input: Self::Input);
    /// Compares everything else with the model: the state, and the output since the last check.
    fn check(&mut self);
}

/// A start, and the steps that follow it.
#[derive(Clone, Debug)]
pub struct Script<Start, Step> {
    /// How the machine begins.
    pub start: Start,
    /// What happens then.
    pub steps: Vec<Step>,
    /// The number of steps from one check to the next.
    ///
    /// More than one, because users do not look at a machine after each input either.
    pub stride: usize,
}

impl<Start, Step> Script<Start, Step> {
    /// Plays the script to the end, and panics where a check fails.
    ///
    /// `listen` is called with each step and its inputs before the inputs are given.
    pub fn play<M>(&self, mut listen: impl FnMut(&Step, &[M::Input]))
    where
        M: Machine<Start = Start, Step = Step>,
    {
        let mut machine = M::begin(&self.start);
        for steps in self.steps.chunks(self.stride) {
            for step in steps {
                let inputs = machine.inputs(step);
                listen(step, &inputs);
                for input in inputs {
                    machine.give(input);
                }
            }
            machine.check();
        }
    }
}
