//! A scene: one operation, the same for ours and for a peer, that can be timed and whose instructions can be counted.

use std::fmt;

/// What a scene hands its work to, once all is set up: runs it, and takes its measure.
pub type Meter<'a> = &'a mut dyn FnMut(&mut dyn FnMut());

/// A name, and how to do the operation a number of times.
pub struct Scene {
    /// Goal and contender: `uncontended/tokio acquire`.
    pub name: String,
    /// How many operations the work does at a time.
    pub pace: Pace,
    /// What is read before and after.
    pub clock: Clock,
    body: Box<dyn Fn(usize, Meter<'_>)>,
}

/// How many operations the work of a scene does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As many as make a round long enough.
    Any,
    /// The same, but longer: threads neither begin nor end all at once.
    Long,
    /// So many, because the scene is made of them.
    Fixed(usize),
    /// So many, and only once: there is nothing left to do it again.
    Once(usize),
}

/// What a timed scene costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time on the wall.
    Wall,
    /// Time of the process on all processors.
    Cpu,
}

impl Scene {
    /// `body` sets up, hands the work of so many operations to the meter, and cleans up; only the work is measured. The work may
    /// be run twice, the first time to warm up.
    pub fn new(name: impl Into<String>, body: impl Fn(usize, Meter<'_>) + 'static) -> Self {
        Scene { name: name.into(), pace: Pace::Any, clock: Clock::Wall, body: Box::new(body) }
    }

    /// With another pace.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Measured by the processor's time.
    #[must_use]
    pub fn cpu(mut self) -> Self {
        self.clock = Clock::Cpu;
        self
    }

    /// How many operations its work does, where `any` is as good as any other number.
    #[must_use]
    pub fn operations(&self, any: usize) -> usize {
        match self.pace {
            Pace::Any | Pace::Long => any,
            Pace::Fixed(operations) | Pace::Once(operations) => operations,
        }
    }

    /// Sets up `operations` operations and hands them to the meter.
    pub fn perform(&self, operations: usize, meter: Meter<'_>) {
        (self.body)(operations, meter);
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("name", &self.name).field("pace", &self.pace).finish_non_exhaustive()
    }
}
