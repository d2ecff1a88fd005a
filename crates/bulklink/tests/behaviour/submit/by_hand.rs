//! A runtime that keeps its tasks until the test polls them, and can refuse tasks and closures.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use bulklink::runtime::{Clock, Instant, Spawn, SpawnBlocking, SpawnError, Timer};
use bulklink::testing::{FakeClock, FakeSleep};

pub(super) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
pub(super) type Work = Box<dyn FnOnce() + Send>;

/// How the runtime treats the tasks and closures that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    Keep,
    /// As a runtime that is shutting down.
    DropSilently,
    Refuse,
    /// Only the waker that the poll leaves behind keeps the task.
    PollAndRefuse,
    Panic,
    /// As tokio, when it cannot start a thread.
    KeepAndPanic,
}

#[derive(Clone)]
pub(crate) struct ByHand {
    clock: FakeClock,
    clock_panics: Arc<AtomicBool>,
    treatment: Treatment,
    tasks: Arc<Mutex<Vec<Task>>>,
    works: Arc<Mutex<Vec<Work>>>,
    /// How the runtime treats closures.
    for_works: Treatment,
}

impl ByHand {
    pub(crate) fn new(treatment: Treatment) -> Self {
        ByHand {
            clock: FakeClock::new(),
            clock_panics: Arc::default(),
            treatment,
            tasks: Arc::default(),
            works: Arc::default(),
            for_works: treatment,
        }
    }

    /// Sets another treatment for closures.
    pub(super) fn for_works(self, treatment: Treatment) -> Self {
        ByHand { for_works: treatment, ..self }
    }

    /// Sets whether the clock panics.
    pub(super) fn panic_on_time(&self, panics: bool) {
        self.clock_panics.store(panics, SeqCst);
    }

    /// Polls every task once.
    pub(super) fn poll_tasks(&self, waker: &Waker) {
        let tasks = std::mem::take(&mut *self.tasks.lock().expect("no panic"));
        for mut task in tasks {
            if task.as_mut().poll(&mut Context::from_waker(waker)).is_pending() {
                self.tasks.lock().expect("no panic").push(task);
            }
        }
    }

    /// Returns the latest task.
    pub(super) fn pop(&self) -> Option<Task> {
        self.tasks.lock().expect("no panic").pop()
    }

    pub(super) fn works(&self) -> Vec<Work> {
        std::mem::take(&mut *self.works.lock().expect("no panic"))
    }

    /// Drops all tasks and closures.
    pub(super) fn clear(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().expect("no panic"));
        drop((tasks, self.works()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.lock().expect("no panic").is_empty() && self.works.lock().expect("no panic").is_empty()
    }
}

/// A task that its wakers keep.
struct Polled(Mutex<Task>);

impl Wake for Polled {
    fn wake(self: Arc<Self>) {}
}

fn take<T>(treatment: Treatment, given: T, kept: &Mutex<Vec<T>>) -> Result<(), SpawnError> {
    match treatment {
        Treatment::Keep => kept.lock().expect("no panic").push(given),
        Treatment::DropSilently => drop(given),
        Treatment::Refuse | Treatment::PollAndRefuse => return Err(SpawnError::new("on purpose")),
        Treatment::Panic => panic!("no tasks here, on purpose"),
        Treatment::KeepAndPanic => {
            kept.lock().expect("no panic").push(given);
            panic!("no threads here, on purpose");
        }
    }
    Ok(())
}

impl Clock for ByHand {
    type Instant = Instant;

    fn now(&self) -> Instant {
        assert!(!self.clock_panics.load(SeqCst), "a clock that panics, on purpose");
        self.clock.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for ByHand {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.clock.sleep_until(deadline)
    }
}

impl Spawn for ByHand {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        if self.treatment == Treatment::PollAndRefuse {
            let polled = Arc::new(Polled(Mutex::new(Box::pin(task))));
            let waker = Waker::from(Arc::clone(&polled));
            _ = polled.0.lock().expect("no panic").as_mut().poll(&mut Context::from_waker(&waker));
            return Err(SpawnError::new("on purpose"));
        }
        take::<Task>(self.treatment, Box::pin(task), &self.tasks)
    }
}

impl SpawnBlocking for ByHand {
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        take::<Work>(self.for_works, Box::new(work), &self.works)
    }
}
