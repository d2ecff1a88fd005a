//! The configuration of a bulkhead.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::time::Duration;

use bulklink_core::{Calls, Gate, InvalidArgument, Limits, Occupancy, Reserve};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;

use crate::gate::shared::Shared;
use crate::identity::Identity;
use crate::limit::{self, Limit, Mode};
use crate::partitions::ShownKey;
use crate::reconfigure::unused_wait_limit;
use crate::{Bulkhead, Clock, label};

/// Configures and builds a bulkhead; made by [`Bulkhead::builder`].
///
/// ```
/// use bulklink_tokio::Bulkhead;
/// use std::time::Duration;
///
/// let payments = Bulkhead::builder("payments")
///     .parallelism(10)
///     .waiting_room(50)
///     .wait_limit(Duration::from_secs(2))
///     .build()?;
/// assert_eq!(payments.limits().capacity, 10);
/// # Ok::<(), bulklink_tokio::InvalidArgument>(())
/// ```
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
    pub(crate) label: String,
    pub(crate) limits: Limits,
    /// The capacity that each of the two methods has set. Only one of them may have.
    pub(crate) parallelism: Option<usize>,
    pub(crate) capacity: Option<usize>,
    /// Whether only a shared capacity bounds it.
    pub(crate) is_bounded_by_shared: bool,
    options: Options,
    adaptive: Option<limit::Config>,
    /// Of the adaptive limit, if there is one, whichever is set first.
    limit_mode: Mode,
    sample_one_in: u32,
}

/// The part of a configuration that never changes while the bulkhead exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) measure_waits: bool,
    pub(crate) measure_holds: bool,
    pub(crate) collect_limit: Option<Duration>,
    pub(crate) reserve: Reserve,
}

impl Default for Options {
    fn default() -> Self {
        Options { measure_waits: true, measure_holds: false, collect_limit: None, reserve: Reserve::default() }
    }
}

/// The method that set the capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CapacityIs {
    Parallelism,
    Capacity,
}

impl CapacityIs {
    /// Returns its name.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            CapacityIs::Parallelism => "parallelism",
            CapacityIs::Capacity => "capacity",
        }
    }
}

impl<R> Builder<R> {
    pub(crate) fn new(runtime: R, label: &str) -> Self {
        let limits = Limits::new(0);
        let options = Options::default();
        Builder {
            runtime,
            label: label.to_string(),
            limits,
            parallelism: None,
            capacity: None,
            is_bounded_by_shared: false,
            options,
            adaptive: None,
            limit_mode: Mode::Active,
            sample_one_in: 1,
        }
    }

    /// Returns the builder of a configuration's section. `is_capacity` is whether it calls the
    /// capacity so, or parallelism.
    pub(crate) fn configured(runtime: R, label: &str, limits: &Limits, is_capacity: bool, options: Options) -> Self {
        let number = |is_it: bool| is_it.then_some(limits.capacity);
        let (parallelism, capacity) = (number(!is_capacity), number(is_capacity));
        Builder { limits: *limits, parallelism, capacity, options, ..Builder::new(runtime, label) }
    }

    /// Sets another name, so that one configuration can be cloned for several bulkheads; see
    /// [Labels](Builder#labels).
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// let upstream = Bulkhead::builder("upstream").parallelism(10);
    /// let payments = upstream.clone().label("payments").build()?;
    /// let reports = upstream.label("reports").parallelism(2).build()?;
    /// assert_eq!((payments.label(), payments.limits().capacity), ("payments", 10));
    /// # assert_eq!((reports.label(), reports.limits().capacity), ("reports", 2));
    /// # Ok::<(), bulklink_tokio::InvalidArgument>(())
    /// ```
    pub fn label(mut self, label: &str) -> Self {
        self.label = label.to_string();
        self
    }

    /// Sets how many operations may run at the same time, from 1 to [`Limits::MAX`]. This or
    /// [`capacity`](Builder::capacity) must be set, and not both.
    pub fn parallelism(mut self, operations: usize) -> Self {
        (self.limits.capacity, self.parallelism) = (operations, Some(operations));
        self
    }

    /// Sets how many units may be in use at the same time, from 1 to [`Limits::MAX`]. It is the
    /// same limit as [`parallelism`](Builder::parallelism), for requests that cost more than one
    /// unit.
    pub fn capacity(mut self, units: usize) -> Self {
        (self.limits.capacity, self.capacity) = (units, Some(units));
        self
    }

    /// Sets all limits in one step, as from a configuration; their capacity as
    /// [`capacity`](Builder::capacity) does.
    pub fn limits(self, limits: Limits) -> Self {
        Builder { limits, parallelism: None, ..self.capacity(limits.capacity) }
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
    /// use bulklink_tokio::{Bulkhead, Request};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = Bulkhead::builder("reports").capacity(4);
    /// let reports = builder.waiting_room(100).waiting_room_units(6).build()?;
    /// let _running = reports.with(Request::new().cost(4)).slot().await?;
    /// let _waiting = tokio::spawn(reports.with(Request::new().cost(3)).slot());
    /// # tokio::task::yield_now().await;
    /// let rejection = reports.with(Request::new().cost(4)).slot().await.unwrap_err();
    /// assert_eq!(
    ///     rejection.to_string(),
    ///     "bulkhead reports: saturated (4 of 4 in use, 1 of 100 waiting for 3 of 6 units)"
    /// );
    /// # Ok(())
    /// # }
    /// ```
    pub fn waiting_room_units(mut self, units: usize) -> Self {
        self.limits.waiting_room_units = Some(units);
        self
    }

    /// Sets the longest time that a call may wait, more than zero. Without it, calls wait until
    /// they are admitted. It needs a [waiting room](Builder::waiting_room).
    #[doc(alias = "timeout")]
    pub fn wait_limit(mut self, limit: Duration) -> Self {
        self.limits.wait_limit = Some(limit);
        self
    }

    /// Sets whether waits are measured; they are by default.
    ///
    /// Measuring reads the clock when a wait begins, when a slot is handed over, and when other
    /// calls come meanwhile. Without it, the clock is read only if a limit or a deadline needs it,
    /// in changes of limits, close and status, and for events. A wait with neither limit nor
    /// deadline then counts as zero long.
    pub fn measure_waits(mut self, measured: bool) -> Self {
        self.options.measure_waits = measured;
        self
    }

    /// Sets whether the time is measured for which operations hold their slots, from the admission,
    /// or the hand-over to a waiting call, to the release. It is not by default.
    ///
    /// A [status](crate::Handle::status) then has the number of these holds and their sum, and an
    /// [`Interval`](crate::Interval) their mean. With `std`,
    /// [figures](crate::Handle#method.figures) for exporters have their lengths, and an interval
    /// has the mean use of the capacity. It costs two readings of the clock a call, and every call
    /// takes the lock. Without it, [`Interval::estimated_hold`](crate::Interval::estimated_hold)
    /// estimates the mean. It needs measured waits.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = Bulkhead::builder("payments").parallelism(10);
    /// let payments = builder.measure_holds(true).build()?;
    /// let before = payments.status();
    /// payments.execute(tokio::time::sleep(Duration::from_millis(20))).await?;
    /// let interval = payments.status().since(&before)?;
    /// assert!(interval.mean_hold() >= Some(Duration::from_millis(20)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn measure_holds(mut self, measured: bool) -> Self {
        self.options.measure_holds = measured;
        self
    }

    /// Has a machine find the limit: it moves a ceiling below the capacity, by the calls that end.
    /// See [`limit`](crate::limit) for the machines and their choice.
    ///
    /// The capacity is not changed, and stays the greatest limit. Rejections, figures and reports
    /// name the ceiling `adaptive`, and the [status](crate::Status::adaptive) has its figures and
    /// the reason of its latest step. [`Handle::set_limit_mode`](crate::Handle::set_limit_mode)
    /// freezes it, or has it only show which limit it would set. A call that costs more than the
    /// limit runs alone.
    ///
    /// It [measures holds](Builder::measure_holds), with the cost of that; each sample takes the
    /// lock once more, and 10 to 20 nanoseconds for the machine. A bulkhead without it pays
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`build`](Builder::build) fails if the bounds are empty, begin at zero, or go beyond the
    /// capacity, or if the first limit is not between them; the error has both.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use bulklink_tokio::limit::Knee;
    ///
    /// let builder = Bulkhead::builder("search").parallelism(100);
    /// let error = builder.clone().adaptive(Knee::between(4, 200)).build().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "bulkhead search: adaptive must not go beyond the parallelism of 100, got 4 to 200"
    /// );
    /// let search = builder.adaptive(Knee::between(4, 100)).build()?;
    /// assert_eq!(search.status().restriction.unwrap().units, 20);
    /// # Ok::<(), bulklink_tokio::InvalidArgument>(())
    /// ```
    pub fn adaptive(mut self, limit: impl Limit + Clone + Send + Sync + 'static) -> Self {
        self.adaptive = Some(limit::Config::new(limit));
        self.measure_holds(true)
    }

    /// Sets what the [adaptive](Builder::adaptive) limit does at first: by default, it
    /// [moves](Mode::Active) its ceiling. Does nothing without one.
    pub fn limit_mode(mut self, mode: Mode) -> Self {
        self.limit_mode = mode;
        self
    }

    /// Has the [adaptive](Builder::adaptive) limit judge one in so many calls that end, at least
    /// one, where there are very many: it stands for the others. By default, each call is judged.
    /// Does nothing without an adaptive limit.
    ///
    /// # Errors
    ///
    /// [`build`](Builder::build) fails if it is zero.
    pub fn sample_one_in(mut self, calls: u32) -> Self {
        self.sample_one_in = calls;
        self
    }

    /// Sets how long a slot that was handed to a waiting call may be not collected, more than zero.
    /// By default, it may be so forever.
    ///
    /// A future that waited and is handed a slot holds it, even while nothing polls the future: in
    /// a `select!` that has gone on to another branch, or on an executor that is blocked. A call
    /// that waits for that slot, and [`close_and_wait`](crate::Handle::close_and_wait), then hang.
    /// With this limit, the slot is taken back when it has not been collected for so long, and goes
    /// to the next call. The future, once it is polled, returns a rejection as
    /// [`Uncollected`](crate::Reason::Uncollected). So choose a time that no task of the program
    /// should go unpolled for. A slot that was collected is never taken back: an operation that has
    /// begun keeps it, polled or not.
    ///
    /// A slot is taken back at that time by the driver of a runtime on which a call has waited
    /// ([`Timer::home`]), while that runtime runs; or else by the next call, release, or close that
    /// finds the time over. While any call waits or has not collected its slot, all calls take the
    /// lock and read the clock, and a driver runs once in that time. It needs measured waits. A
    /// change of limits does not change it. If runtimes with different clocks share the bulkhead,
    /// as under paused time, a slot may be taken back early or late by the difference.
    ///
    /// With and without it, a [status](crate::Handle::status) has the number of slots that are not
    /// collected ([`uncollected`](crate::Snapshot::uncollected)), and the
    /// [age of the oldest](crate::Snapshot::oldest_uncollected). For an alert, compare
    /// [`taken_back`](crate::Interval::taken_back) of two statuses; or [add an event handler
    /// for](crate::Handle::add_event_handler) [`Uncollected`](crate::EventKind::Uncollected)
    /// alone, which adds nothing to other calls.
    ///
    /// [`Timer::home`]: crate::Timer::home
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Reason};
    /// use futures_util::FutureExt;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = Bulkhead::builder("db").parallelism(1).waiting_room(2);
    /// let db = builder.collect_limit(Duration::from_secs(1)).build()?;
    /// let running = db.slot().await?;
    /// let mut forgotten = Box::pin(db.slot());
    /// assert!((&mut forgotten).now_or_never().is_none(), "it waits");
    /// drop(running);
    /// // The slot now belongs to `forgotten`, which nothing polls.
    /// let next = db.slot().await?;
    /// assert_eq!(forgotten.await.unwrap_err().reason(), Reason::Uncollected);
    /// # Ok(())
    /// # }
    /// ```
    pub fn collect_limit(mut self, limit: Duration) -> Self {
        self.options.collect_limit = Some(limit);
        self
    }

    /// Sets how much time the wait of a call with a [deadline](crate::Request::deadline) leaves to
    /// the operation. By default it [learns](Reserve::Learnt) that from the calls that end.
    pub fn reserve(mut self, reserve: Reserve) -> Self {
        self.options.reserve = reserve;
        self
    }

    /// Checks the configuration. Returns what all bulkheads that are made from it have in common.
    /// `kind` names them in errors: a bulkhead or partitions.
    pub(crate) fn check(&self, kind: &str) -> Result<Identity, InvalidArgument> {
        let label = label::check(&self.label)?;
        let unused = self.validate().map_err(|invalid| invalid.of(format_args!("{kind} {label}")))?;
        Ok(Identity::new(label, unused, self.options))
    }

    /// Names the capacity in an error as the caller did: parallelism or capacity.
    fn validate(&self) -> Result<Occupancy, InvalidArgument> {
        match (self.parallelism, self.capacity) {
            (None, None) => return Err(InvalidArgument::new("parallelism", "nothing", "or capacity must be set")),
            (Some(parallelism), Some(capacity)) => {
                return Err(InvalidArgument::new(
                    "capacity",
                    capacity,
                    format_args!("must not be set beside a parallelism of {parallelism}"),
                ));
            }
            _ => {}
        }
        let Options { measure_waits, measure_holds, collect_limit, .. } = self.options;
        if collect_limit == Some(Duration::ZERO) {
            return Err(InvalidArgument::new("collect_limit", "0 s", "must be longer than zero"));
        }
        let needs_waits = measure_holds || collect_limit.is_some();
        if needs_waits && !measure_waits {
            let option = if measure_holds { "measure_holds" } else { "collect_limit" };
            return Err(InvalidArgument::new("measure_waits", "false", format_args!("must be true for {option}")));
        }
        let unused = self.limits.validate().map_err(|invalid| match invalid.field() {
            "capacity" => invalid.for_field(self.capacity_field()),
            _ => invalid,
        })?;
        if let Some(adaptive) = &self.adaptive {
            if !measure_holds {
                return Err(InvalidArgument::new("measure_holds", "false", "must be true for adaptive"));
            }
            adaptive.check(&self.limits, self.capacity_field())?;
            if self.sample_one_in == 0 {
                return Err(InvalidArgument::new("sample_one_in", 0, "must be at least 1"));
            }
        }
        unused_wait_limit(&self.limits).map_or(Ok(unused), Err)
    }
}

impl<R> Builder<R> {
    /// Returns the name of the method that set the capacity.
    pub(crate) fn capacity_field(&self) -> &'static str {
        self.capacity_is().field()
    }

    fn capacity_is(&self) -> CapacityIs {
        if self.capacity.is_some() { CapacityIs::Capacity } else { CapacityIs::Parallelism }
    }
}

impl<R: Clock + Clone + Send + Sync + 'static> Builder<R> {
    /// Builds the bulkhead.
    ///
    /// # Errors
    ///
    /// If a number is out of its range; if neither parallelism nor capacity was set, or both were;
    /// if there is a wait limit, or a bound on the units that wait, and no waiting room; or if the
    /// label is blank or holds control or invisible characters (see [Labels](Builder#labels)). The
    /// error names the bulkhead, the field and the value.
    pub fn build(self) -> Result<Bulkhead<R>, InvalidArgument> {
        let builder = self.with_own_log();
        let identity = Arc::new(builder.check("bulkhead")?);
        Ok(Bulkhead::new(builder.make(&identity, None, |_, _| ()), builder.runtime))
    }

    /// The same builder, whose bulkheads share no account of a log with those of others.
    pub(crate) fn with_own_log(mut self) -> Self {
        self.adaptive = self.adaptive.map(limit::Config::with_own_log);
        self
    }

    /// Makes a bulkhead that is not in use yet. The configuration must have been checked. `prepare`
    /// changes the gate and the account of single calls before anything else does.
    pub(crate) fn make(
        &self,
        identity: &Arc<Identity>,
        key: Option<Arc<ShownKey>>,
        prepare: impl FnOnce(&mut Gate<Waker>, Option<&mut Calls>),
    ) -> Arc<Shared> {
        let runtime = Arc::new(self.runtime.clone());
        let (mut gate, mut calls) = (self.gate(), self.calls());
        prepare(&mut gate, calls.as_deref_mut());
        let shared = Shared::new(gate, Arc::clone(identity), self.capacity_is(), runtime, calls, key);
        if let Some(adaptive) = &self.adaptive {
            shared.adapt(adaptive, self.limit_mode, self.sample_one_in);
        }
        shared
    }

    pub(crate) fn measures_holds(&self) -> bool {
        self.options.measure_holds
    }

    /// Returns the account of single calls, if the bulkhead is built with it.
    fn calls(&self) -> Option<Box<Calls>> {
        let Options { reserve, measure_holds, collect_limit, .. } = self.options;
        if reserve == Reserve::default() && !measure_holds && collect_limit.is_none() {
            return None;
        }
        let calls = Calls::new(reserve).measure_holds(measure_holds);
        Some(Box::new(match collect_limit {
            Some(limit) => calls.collect_limit(limit),
            None => calls,
        }))
    }

    fn gate(&self) -> Gate<Waker> {
        let mut gate = Gate::with_instance(self.limits, next_instance()).expect("checked before");
        gate.measure_waits(self.options.measure_waits);
        gate
    }
}

/// Returns an identity for the snapshots of one bulkhead.
pub(crate) fn next_instance() -> u64 {
    static INSTANCES: AtomicUsize = AtomicUsize::new(1);
    INSTANCES.fetch_add(1, Ordering::Relaxed) as u64
}
