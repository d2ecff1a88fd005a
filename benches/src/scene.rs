//! A scene: one operation, ours or a peer's, to be timed or to have its instructions counted.

use std::fmt;

/// Runs the work that a scene has set up, and measures it.
pub type Meter<'a> = &'a mut dyn FnMut(&mut dyn FnMut());

/// A named operation that can be done any number of times.
pub struct Scene {
    /// Goal and contender: `uncontended/tokio acquire`.
    pub name: String,
    /// How many operations one run of the work does.
    pub pace: Pace,
    /// The clock that times the work.
    pub clock: Clock,
    body: Box<dyn Fn(usize, Meter<'_>)>,
}

/// How many operations one run of a scene's work does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As many as make a round long enough.
    Any,
    /// The same for a longer round, because threads do not all start and end at the same moment.
    Long,
    /// This many, because the scene is made of them.
    Fixed(usize),
    /// This many, and only once: the work uses up the setup.
    Once(usize),
}

/// The clock that times a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Wall time.
    Wall,
    /// Processor time of the process, on all processors.
    Cpu,
}

impl Scene {
    /// Makes a scene. `body` sets up, passes the work of the given number of operations to the
    /// meter, and cleans up; only the work is measured. The meter may run the work twice, the first
    /// time to warm up.
    pub fn new(name: impl Into<String>, body: impl Fn(usize, Meter<'_>) + 'static) -> Self {
        Scene { name: name.into(), pace: Pace::Any, clock: Clock::Wall, body: Box::new(body) }
    }

    /// Sets the pace.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Measures processor time instead of wall time.
    #[must_use]
    pub fn cpu(mut self) -> Self {
        self.clock = Clock::Cpu;
        self
    }

    /// Returns the contender, which is the name without the goal.
    #[must_use]
    pub fn contender(&self) -> &str {
        self.name.split_once('/').map_or(&self.name, |(_, contender)| contender)
    }

    /// Returns how many operations the work does: `any`, unless the scene has a fixed number.
    #[must_use]
    pub fn operations(&self, any: usize) -> usize {
        match self.pace {
            Pace::Any | Pace::Long => any,
            Pace::Fixed(operations) | Pace::Once(operations) => operations,
        }
    }

    /// Sets up `operations` operations and passes them to the meter.
    pub fn perform(&self, operations: usize, meter: Meter<'_>) {
        (self.body)(operations, meter);
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("name", &self.name).field("pace", &self.pace).finish_non_exhaustive()
    }
}
