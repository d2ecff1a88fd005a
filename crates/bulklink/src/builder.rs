//! Making a bulkhead.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::time::Duration;

use bulklink_core::{Gate, InvalidArgument, Limits};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;

use crate::gate::shared::Shared;
use crate::rejection::Identity;
use crate::{Bulkhead, Clock, label};

/// The configuration of a bulkhead to be; made by [`Bulkhead::builder`].
///
/// # Labels
///
/// Spaces around a label are removed. It must not be blank, and must not hold control or invisible characters, so
/// that a log or a terminal can show it as it is: [`str::escape_debug`] has to leave each of its
/// characters alone, quotes and backslashes apart. A combining mark needs a character before it.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<R> {
    runtime: R,
    label: String,
    capacity: Option<usize>,
    capacity_field: &'static str,
    waiting_room: usize,
    wait_limit: Option<Duration>,
    measure_waits: bool,
}

impl<R> Builder<R> {
    pub(crate) fn new(runtime: R, label: &str) -> Self {
        let capacity_field = "parallelism";
        let (capacity, waiting_room, wait_limit) = (None, 0, None);
        let label = label.to_string();
        Builder { runtime, label, capacity, capacity_field, waiting_room, wait_limit, measure_waits: true }
    }

    /// How many operations may run at once, from 1 to [`Limits::MAX`]. This or [`capacity`](Builder::capacity) must be set.
    pub fn parallelism(mut self, operations: usize) -> Self {
        (self.capacity, self.capacity_field) = (Some(operations), "parallelism");
        self
    }

    /// How many units may be in use at once, from 1 to [`Limits::MAX`]: the same as [`parallelism`](Builder::parallelism), where
    /// requests cost more than one unit each.
    pub fn capacity(mut self, units: usize) -> Self {
        (self.capacity, self.capacity_field) = (Some(units), "capacity");
        self
    }

    /// How many operations may wait, up to [`Limits::MAX`], whatever each costs. Nobody waits unless this is set.
    pub fn waiting_room(mut self, operations: usize) -> Self {
        self.waiting_room = operations;
        self
    }

    /// The longest that anyone waits, more than zero. Without it, waiters wait as long as it takes.
    #[doc(alias = "timeout")]
    pub fn wait_limit(mut self, limit: Duration) -> Self {
        self.wait_limit = Some(limit);
        self
    }

    /// Whether waits are measured, as they are unless this says `false`. Measuring reads the clock when a wait begins, when a slot
    /// is handed over, and when others ask meanwhile. Without it, the clock is read only where a limit or a deadline needs it, in
    /// resize and close, and for events; a wait that has neither limit nor deadline counts as zero long.
    pub fn measure_waits(mut self, measured: bool) -> Self {
        self.measure_waits = measured;
        self
    }

    /// What is to be built, checked.
    pub(crate) fn plan(self) -> Result<Plan<R>, InvalidArgument> {
        let label = label::check(&self.label)?;
        let unused = self.check().map_err(|invalid| invalid.of(format_args!("bulkhead {label}")))?;
        let Builder { runtime, capacity_field, measure_waits, .. } = self;
        let identity = Arc::new(Identity::new(label, unused.occupancy()));
        Ok(Plan { runtime, limits: unused.limits(), measure_waits, capacity_field, identity })
    }

    /// A gate that shows that the limits are valid.
    fn check(&self) -> Result<Gate<Waker>, InvalidArgument> {
        let field = self.capacity_field;
        let capacity =
            self.capacity.ok_or_else(|| InvalidArgument::new(field, "nothing", "or capacity must be set"))?;
        let limits = Limits { capacity, waiting_room: self.waiting_room, wait_limit: self.wait_limit };
        Gate::new(limits).map_err(|invalid| match invalid.field() {
            "capacity" => invalid.for_field(field),
            _ => invalid,
        })
    }
}

/// All that bulkheads are made from, for one of them or for many alike.
pub(crate) struct Plan<R> {
    pub(crate) runtime: R,
    pub(crate) limits: Limits,
    pub(crate) identity: Arc<Identity>,
    capacity_field: &'static str,
    measure_waits: bool,
}

impl<R: Clock + Clone + Send + Sync + 'static> Plan<R> {
    /// A bulkhead that nobody uses yet.
    pub(crate) fn make(&self) -> Arc<Shared> {
        let runtime = Arc::new(self.runtime.clone());
        Shared::new(self.gate(), Arc::clone(&self.identity), self.capacity_field, runtime)
    }

    pub(crate) fn gate(&self) -> Gate<Waker> {
        let mut gate = Gate::with_instance(self.limits, next_instance()).expect("checked when it was planned");
        gate.measure_waits(self.measure_waits);
        gate
    }
}

impl<R: Clock + Clone + Send + Sync + 'static> Builder<R> {
    /// Makes the bulkhead.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, if neither parallelism nor capacity was set, or if the
    /// label is blank or holds control or invisible characters (see [Labels](Builder#labels)). The
    /// error names the field and the value.
    pub fn build(self) -> Result<Bulkhead<R>, InvalidArgument> {
        let plan = self.plan()?;
        Ok(Bulkhead::new(plan.make(), plan.runtime))
    }
}

/// An identity for the snapshots of one bulkhead.
pub(crate) fn next_instance() -> u64 {
    static INSTANCES: AtomicUsize = AtomicUsize::new(1);
    INSTANCES.fetch_add(1, Ordering::Relaxed) as u64
}
