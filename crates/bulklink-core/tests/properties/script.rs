//! Scripts: what is played to a machine and to its model.

use std::fmt::Debug;

/// A machine and its model side by side.
pub trait Machine {
    /// How it begins.
    type Start: Clone + Debug;
    /// What scripts are made of. It means something whatever came before, so that steps can be left out.
    type Step: Clone + Debug;
    type Input: Copy + Debug;

    fn begin(start: &Self::Start) -> Self;
    /// What the step comes to here; nothing, where nobody is there who could do it.
    fn inputs(&self, step: &Self::Step) -> Vec<Self::Input>;
    /// Gives the input to both, and holds the machine's answer against the model's.
    fn give(&mut self, input: Self::Input);
    /// Holds everything that came of the inputs since the last check against the model.
    fn check(&mut self);
}

/// A beginning, and what comes then.
#[derive(Clone, Debug)]
pub struct Script<Start, Step> {
    pub start: Start,
    pub steps: Vec<Step>,
    /// The steps from one check to the next: nobody looks at a machine after each.
    pub stride: usize,
}

impl<Start, Step> Script<Start, Step> {
    /// Plays it to the end, and panics where a check fails. What the steps come to is told to `listen` before it happens.
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
