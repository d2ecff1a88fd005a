//! The configuration of a bulkhead.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::time::Duration;

use bulklink_core::{Calls, Gate, InvalidArgument, Limits, Occupancy, Reserve};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;

use crate::gate::shared::Shared;
use crate::rejection::Identity;
use crate::{Bulkhead, Clock, label};

/// Configures and builds a bulkhead; made by [`Bulkhead::builder`].
///
/// # Labels
///
/// Spaces around a label are removed. It must not be blank, and must not hold control or invisible
/// characters, so that a log or a terminal can show it as it is: [`str::escape_debug`] must not
/// escape any of its characters, except quotes and backslashes. A combining mark needs a character
/// before it.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<R> {
    pub(crate) runtime: R,
    label: String,
    pub(crate) limits: Limits,
    /// The method that set the capacity; `None` if none did.
    capacity_field: Option<&'static str>,
    measure_waits: bool,
    reserve: Reserve,
}

impl<R> Builder<R> {
    pub(crate) fn new(runtime: R, label: &str) -> Self {
        let limits = Limits::new(0);
        Builder {
            runtime,
            label: label.to_string(),
            limits,
            capacity_field: None,
            measure_waits: true,
            reserve: Reserve::default(),
        }
    }

    /// Sets how many operations may run at the same time, from 1 to [`Limits::MAX`]. This or
    /// [`capacity`](Builder::capacity) must be set.
    pub fn parallelism(mut self, operations: usize) -> Self {
        (self.limits.capacity, self.capacity_field) = (operations, Some("parallelism"));
        self
    }

    /// Sets how many units may be in use at the same time, from 1 to [`Limits::MAX`]. It is the
    /// same limit as [`parallelism`](Builder::parallelism), for requests that cost more than one
    /// unit.
    pub fn capacity(mut self, units: usize) -> Self {
        (self.limits.capacity, self.capacity_field) = (units, Some("capacity"));
        self
    }

    /// Sets how many operations may wait, up to [`Limits::MAX`], whatever they cost. The default is
    /// zero: no operation waits.
    pub fn waiting_room(mut self, operations: usize) -> Self {
        self.limits.waiting_room = operations;
        self
    }

    /// Bounds the waiting room in units as well, from 1 to [`Limits::MAX`]: a call that would make
    /// the waiting calls ask for more units than this together is rejected as
    /// [`Saturated`](crate::Reason::Saturated). By default, only the number of calls is bounded.
    ///
    /// It needs a [waiting room](Builder::waiting_room). A call that costs more than this never
    /// waits.
    ///
    /// ```
    /// # use bulklink::testing::{Executor, FakeClock};
    /// # use bulklink::{Bulkhead, Request};
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Bulkhead::builder_on(executor.clock(), "reports");
    /// let reports = builder.capacity(4).waiting_room(100).waiting_room_units(6).build()?;
    /// let _running = reports.try_slot_with(Request::new().cost(4))?;
    /// let _waiting = executor.spawn(reports.slot_owned_with(Request::new().cost(3)));
    /// let rejected = executor.spawn(reports.slot_owned_with(Request::new().cost(4)));
    /// executor.run_until_idle();
    /// assert_eq!(
    ///     rejected.output().unwrap().unwrap_err().to_string(),
    ///     "bulkhead reports: saturated (4 of 4 in use, 1 of 100 waiting for 3 of 6 units)"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn waiting_room_units(mut self, units: usize) -> Self {
        self.limits.waiting_room_units = Some(units);
        self
    }

    /// Sets the longest time that a call may wait, more than zero. Without it, calls wait until
    /// they are admitted.
    #[doc(alias = "timeout")]
    pub fn wait_limit(mut self, limit: Duration) -> Self {
        self.limits.wait_limit = Some(limit);
        self
    }

    /// Sets whether waits are measured; they are by default.
    ///
    /// Measuring reads the clock when a wait begins, when a slot is handed over, and when other
    /// calls come meanwhile. Without it, the clock is read only if a limit or a deadline needs it,
    /// in resize and close, and for events. A wait with neither limit nor deadline then counts as
    /// zero long.
    pub fn measure_waits(mut self, measured: bool) -> Self {
        self.measure_waits = measured;
        self
    }

    /// Sets how much time the wait of a call with a [deadline](crate::Request::deadline) leaves to
    /// the operation. By default it follows how many such calls end late.
    pub fn reserve(mut self, reserve: Reserve) -> Self {
        self.reserve = reserve;
        self
    }

    /// Checks the configuration. Returns what all bulkheads that are made from it have in common.
    pub(crate) fn check(&self) -> Result<Identity, InvalidArgument> {
        let label = label::check(&self.label)?;
        let unused = self.validate().map_err(|invalid| invalid.of(format_args!("bulkhead {label}")))?;
        Ok(Identity::new(label, unused))
    }

    /// Names the capacity in an error as the caller did: parallelism or capacity.
    fn validate(&self) -> Result<Occupancy, InvalidArgument> {
        let unset = || InvalidArgument::new("parallelism", "nothing", "or capacity must be set");
        let capacity_field = self.capacity_field.ok_or_else(unset)?;
        self.limits.validate().map_err(|invalid| match invalid.field() {
            "capacity" => invalid.for_field(capacity_field),
            _ => invalid,
        })
    }
}

impl<R: Clock + Clone + Send + Sync + 'static> Builder<R> {
    /// Builds the bulkhead.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, if neither parallelism nor capacity was set, or if the
    /// label is blank or holds control or invisible characters (see [Labels](Builder#labels)). The
    /// error names the field and the value.
    pub fn build(self) -> Result<Bulkhead<R>, InvalidArgument> {
        let identity = Arc::new(self.check()?);
        Ok(Bulkhead::new(self.make(&identity), self.runtime))
    }

    /// Makes a bulkhead that is not in use yet. The configuration must have been checked.
    pub(crate) fn make(&self, identity: &Arc<Identity>) -> Arc<Shared> {
        let runtime = Arc::new(self.runtime.clone());
        let shared = Shared::new(self.gate(), Arc::clone(identity), self.capacity_field(), runtime);
        // The usual reserve is made with the first call that has a deadline.
        if self.reserve != Reserve::default() {
            shared.beside_the_word(|state| state.calls = Some(Box::new(Calls::new(self.reserve))));
        }
        shared
    }

    /// Returns the name of the method that set the capacity. The configuration must have been
    /// checked.
    pub(crate) fn capacity_field(&self) -> &'static str {
        self.capacity_field.expect("checked before")
    }

    fn gate(&self) -> Gate<Waker> {
        let mut gate = Gate::with_instance(self.limits, next_instance()).expect("checked before");
        gate.measure_waits(self.measure_waits);
        gate
    }
}

/// Returns an identity for the snapshots of one bulkhead.
pub(crate) fn next_instance() -> u64 {
    static INSTANCES: AtomicUsize = AtomicUsize::new(1);
    INSTANCES.fetch_add(1, Ordering::Relaxed) as u64
}
