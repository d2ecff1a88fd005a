//! A runtime that keeps its closures until the test runs or drops them, and can refuse them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, SpawnBlocking, SpawnError, Timer};
use bulklink::testing::{Executor, FakeClock, FakeSleep};

type Work = Box<dyn FnOnce() + Send>;

/// How the runtime treats closures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Treatment {
    #[default]
    Keep,
    /// As a runtime that is shutting down.
    Drop,
    Refuse,
    /// Refuses a closure, and does not drop it.
    KeepAndRefuse,
    Panic,
    /// As tokio, when it cannot start a thread.
    KeepAndPanic,
}

#[derive(Clone)]
pub(crate) struct ByHand {
    clock: FakeClock,
    treatment: Treatment,
    kept: Arc<Mutex<Vec<Work>>>,
    /// How much earlier than at their time timers complete.
    early: Duration,
}

impl ByHand {
    pub(crate) fn new(executor: &Executor, treatment: Treatment) -> Self {
        ByHand { clock: executor.clock(), treatment, kept: Arc::default(), early: Duration::ZERO }
    }

    pub(crate) fn early(self, early: Duration) -> Self {
        ByHand { early, ..self }
    }

    /// Takes the closures that were kept.
    pub(crate) fn take(&self) -> Vec<Work> {
        std::mem::take(&mut *self.kept.lock().expect("no panic"))
    }

    /// Runs the closures that were kept.
    pub(crate) fn run(&self) {
        for work in self.take() {
            work();
        }
    }
}

impl Clock for ByHand {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for ByHand {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        let rest = deadline.saturating_since(self.now());
        // The second one is on time, as the rest is shorter.
        let early = if rest > self.early { self.early } else { Duration::ZERO };
        self.clock.sleep_until(deadline.saturating_sub(early))
    }
}

impl SpawnBlocking for ByHand {
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        let keep = |work| self.kept.lock().expect("no panic").push(Box::new(work));
        match self.treatment {
            Treatment::Keep => keep(work),
            Treatment::Drop => drop(work),
            Treatment::Refuse => return Err(SpawnError::new("on purpose")),
            Treatment::KeepAndRefuse => {
                keep(work);
                return Err(SpawnError::new("on purpose"));
            }
            Treatment::Panic => panic!("no threads here, on purpose"),
            Treatment::KeepAndPanic => {
                keep(work);
                panic!("no threads here, on purpose");
            }
        }
        Ok(())
    }
}
