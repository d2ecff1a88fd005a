//! A scene runs in every order of its threads, each time on a new bulkhead, which is checked at the
//! end.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::{Bulkhead, Status};
use loom::model::Builder;

pub(crate) type TestBulkhead = Bulkhead<ByHand>;

/// A runtime with a clock that is set by hand and timers that never fire: a late waiter must be
/// polled. Loom interrupts where the clock is read and set.
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
    measures_holds: bool,
    preemptions: Option<usize>,
}

/// Returns a model of a bulkhead with these limits.
pub(crate) fn model(parallelism: usize, waiting_room: usize) -> Model {
    Model { parallelism, waiting_room, measures_waits: true, measures_holds: false, preemptions: None }
}

impl Model {
    /// Disables the measurement of waits.
    pub(crate) fn unmeasured(mut self) -> Self {
        self.measures_waits = false;
        self
    }

    /// Measures how long slots are held.
    pub(crate) fn measured_holds(mut self) -> Self {
        self.measures_holds = true;
        self
    }

    /// Leaves out executions with more preemptions than this, for scenes too large for a complete
    /// search.
    pub(crate) fn preemptions(mut self, most: usize) -> Self {
        self.preemptions = Some(most);
        self
    }

    /// Bounds the preemptions only with the fast path, which adds many steps to every scene. By the
    /// lock alone the search is complete.
    pub(crate) fn preemptions_if_fast(self, most: usize) -> Self {
        if cfg!(bulklink_lock_only) { self } else { self.preemptions(most) }
    }

    /// Runs the scene in every order, and returns all its outcomes.
    pub(crate) fn explore<O>(self, scene: impl Fn(&TestBulkhead) -> O + Send + Sync + 'static) -> BTreeSet<O>
    where
        O: Ord + Debug + Send + 'static,
    {
        self.explore_in_time(move |bulkhead, _| scene(bulkhead))
    }

    /// Runs a scene that moves the clock in every order, and returns all its outcomes.
    pub(crate) fn explore_in_time<O>(
        self,
        scene: impl Fn(&TestBulkhead, &ByHand) -> O + Send + Sync + 'static,
    ) -> BTreeSet<O>
    where
        O: Ord + Debug + Send + 'static,
    {
        let Model { parallelism, waiting_room, measures_waits, measures_holds, preemptions } = self;
        in_every_order(preemptions, move || {
            let clock = ByHand::new();
            let builder = Bulkhead::builder_on(clock.clone(), "loom").parallelism(parallelism);
            let builder =
                builder.waiting_room(waiting_room).measure_waits(measures_waits).measure_holds(measures_holds);
            let bulkhead = builder.build().expect("sound limits");
            let outcome = scene(&bulkhead, &clock);
            check_settled(&bulkhead);
            outcome
        })
    }
}

/// Runs the execution once for every order in which its threads can run, and returns all its
/// outcomes.
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
    println!("{name}: {} executions, outcomes {outcomes:?}", executions.load(Ordering::Relaxed));
    outcomes
}

/// Runs the work on a separate thread, on a clone.
pub(crate) fn on_a_thread<B: Clone + 'static, T: 'static>(
    shared: &B,
    work: impl FnOnce(&B) -> T + 'static,
) -> loom::thread::JoinHandle<T> {
    let shared = shared.clone();
    loom::thread::spawn(move || work(&shared))
}

/// Acquires a slot, which must be free, and releases it.
pub(crate) fn use_a_slot(bulkhead: &TestBulkhead) {
    drop(bulkhead.try_slot().unwrap());
}

/// Returns how many waiters were cancelled, and how many were abandoned.
pub(crate) fn cancelled_and_abandoned(bulkhead: &TestBulkhead) -> (u64, u64) {
    let totals = bulkhead.status().totals;
    (totals.cancelled, totals.abandoned)
}

/// Checks what holds when all slots are released and all calls have ended.
fn check_settled(bulkhead: &TestBulkhead) {
    let status = bulkhead.status();
    check_identities(&status);
    assert_eq!(
        (status.in_flight, status.in_use, status.waiting, status.waiting_units),
        (0, status.written_off, 0, 0),
        "an operation or a waiter is left"
    );
    assert_eq!(bulkhead.status().handler_panics, 0);
    if !status.is_closed {
        let slots: Vec<_> = (0..status.limits.capacity).map(|_| bulkhead.try_slot()).collect();
        assert!(slots.iter().all(Result::is_ok), "a slot was lost");
        assert!(bulkhead.try_slot().is_err(), "there is one slot too many");
    }
}

/// Checks what holds at every moment.
pub(crate) fn check_identities(status: &Status) {
    let totals = &status.totals;
    let ended = totals.finished + totals.abandoned + status.merged;
    assert_eq!(totals.admitted + status.split, ended + status.in_flight as u64);
    let settled = totals.admitted_from_queue + totals.cancelled + totals.expired + totals.closed_while_waiting;
    assert_eq!(totals.queued, settled + status.waiting as u64);
}
