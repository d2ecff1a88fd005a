//! The frame of every test: a fresh bulkhead, all executions of a scenario on it, and what must hold after each.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bulklink::{Bulkhead, Clock, Instant, Status, Timer};
use loom::model::Builder;

pub(crate) type Front = Bulkhead<ByHand>;

/// A runtime whose clock stands where it is put and whose timers never fire: who is late learns it by being polled. Loom has a
/// hand in when it is read and set.
#[derive(Clone)]
pub(crate) struct ByHand(Arc<loom::sync::Mutex<u64>>);

impl ByHand {
    pub(crate) fn new() -> Self {
        ByHand(Arc::new(loom::sync::Mutex::new(0)))
    }

    pub(crate) fn set(&self, nanos: u64) {
        *self.0.lock().unwrap() = nanos;
    }
}

impl Clock for ByHand {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::from_nanos(*self.0.lock().unwrap())
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for ByHand {
    type Sleep = Pending<()>;

    fn sleep_until(&self, _deadline: Instant) -> Pending<()> {
        std::future::pending()
    }
}

pub(crate) struct Model {
    parallelism: usize,
    waiting_room: usize,
    measures_waits: bool,
    preemptions: Option<usize>,
}

/// A model of a bulkhead with these limits.
pub(crate) fn model(parallelism: usize, waiting_room: usize) -> Model {
    Model { parallelism, waiting_room, measures_waits: true, preemptions: None }
}

impl Model {
    /// Of a bulkhead that measures no waits.
    pub(crate) fn unmeasured(mut self) -> Self {
        self.measures_waits = false;
        self
    }

    /// Leaves out executions in which threads are interrupted more often than this, for models too large to be searched whole.
    pub(crate) fn preemptions(mut self, most: usize) -> Self {
        self.preemptions = Some(most);
        self
    }

    /// The same where the fast path is there, as it adds many steps to every scene; by the lock alone the search is whole.
    pub(crate) fn preemptions_if_fast(self, most: usize) -> Self {
        if cfg!(bulklink_lock_only) { self } else { self.preemptions(most) }
    }

    /// Runs the scenario in every order, and returns all that it came to.
    pub(crate) fn explore<O>(self, scenario: impl Fn(&Front) -> O + Send + Sync + 'static) -> BTreeSet<O>
    where
        O: Ord + Debug + Send + 'static,
    {
        self.explore_in_time(move |bulkhead, _| scenario(bulkhead))
    }

    /// The same for a scenario that moves the clock.
    pub(crate) fn explore_in_time<O>(
        self,
        scenario: impl Fn(&Front, &ByHand) -> O + Send + Sync + 'static,
    ) -> BTreeSet<O>
    where
        O: Ord + Debug + Send + 'static,
    {
        let (parallelism, waiting_room, measured) = (self.parallelism, self.waiting_room, self.measures_waits);
        in_every_order(self.preemptions, move || {
            let clock = ByHand::new();
            let builder = Bulkhead::builder_on(clock.clone(), "loom").parallelism(parallelism);
            let builder = builder.waiting_room(waiting_room).measure_waits(measured);
            let bulkhead = builder.build().expect("sound limits");
            let outcome = scenario(&bulkhead, &clock);
            check_settled(&bulkhead);
            outcome
        })
    }
}

/// Runs the same over and over, in every order in which its threads can go, and returns all that it came to.
pub(crate) fn in_every_order<O>(
    preemptions: Option<usize>,
    execution: impl Fn() -> O + Send + Sync + 'static,
) -> BTreeSet<O>
where
    O: Ord + Debug + Send + 'static,
{
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let executions = Arc::new(AtomicUsize::new(0));
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(preemptions);
    builder.check({
        let (outcomes, executions) = (Arc::clone(&outcomes), Arc::clone(&executions));
        move || {
            let outcome = execution();
            outcomes.lock().unwrap().insert(outcome);
            executions.fetch_add(1, Ordering::Relaxed);
        }
    });
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    let name = thread::current().name().unwrap_or_default().to_owned();
    println!("{name}: {} executions came to {outcomes:?}", executions.load(Ordering::Relaxed));
    outcomes
}

/// What holds whenever all slots are given back and all calls have ended.
fn check_settled(bulkhead: &Front) {
    let status = bulkhead.status();
    check_identities(&status);
    assert_eq!((status.in_flight, status.in_use, status.waiting, status.waiting_units), (0, 0, 0, 0), "left behind");
    assert_eq!(bulkhead.handler_panics(), 0);
    if !status.is_closed {
        let slots: Vec<_> = (0..status.limits.capacity).map(|_| bulkhead.try_slot()).collect();
        assert!(slots.iter().all(Result::is_ok), "a slot was lost");
        assert!(bulkhead.try_slot().is_err(), "a slot was made up");
    }
}

/// What holds at any moment.
pub(crate) fn check_identities(status: &Status) {
    let totals = &status.totals;
    assert_eq!(totals.admitted, totals.finished + totals.abandoned + status.in_flight as u64);
    let settled = totals.admitted_from_queue + totals.cancelled + totals.expired + totals.closed_while_waiting;
    assert_eq!(totals.queued, settled + status.waiting as u64);
}
