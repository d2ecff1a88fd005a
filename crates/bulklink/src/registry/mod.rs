//! A registry of named bulkheads.

mod error;
mod members;
mod removal;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::mem;
use core::panic::{RefUnwindSafe, UnwindSafe};

use bulklink_core::{InvalidArgument, Resized};

use self::members::{Member, Members};
use crate::gate::latch::Latch;
use crate::gate::lock::Lock;
use crate::label::quoted;
use crate::{Builder, Bulkhead, CapacityReport, Handle, Runtime, Status};

pub use self::error::{CollectiveError, FailureCause, MemberFailure, RegisterError};

/// A registry of bulkheads by name, in the order in which they were added, on any runtimes.
///
/// Cheap to clone; clones share everything.
///
/// A registry keeps its bulkheads alive. Calls do not go through the registry: look a bulkhead up
/// once, and use it. Finding one among n costs O(log n). No foreign code runs under the registry's
/// lock.
///
/// A call for all members tries each of them and reports all failures together, in a
/// [`CollectiveError`]. Reading statuses, closing and waiting cannot fail.
///
/// Each name is a [label](Builder#labels). A lookup accepts any text: errors display it with the
/// characters escaped that a label must not hold.
///
/// ```
/// # use bulklink::testing::{Executor, FakeClock};
/// # use bulklink::{Bulkhead, Registry};
/// # let mut executor = Executor::new(FakeClock::new());
/// # let clock = executor.clock();
/// let registry = Registry::new();
/// let payments = Bulkhead::builder_on(clock.clone(), "payments").parallelism(10).waiting_room(20);
/// let payments = registry.create(payments)?;
/// let reports = registry.create(Bulkhead::builder_on(clock, "reports").parallelism(2))?;
///
/// let _running = reports.try_slot()?;
/// let statuses = registry.statuses();
/// assert_eq!(statuses.iter().map(|status| status.in_flight).collect::<Vec<_>>(), [0, 1]);
/// # drop(_running);
/// # executor.block_on(async move {
/// registry.close_and_wait().await;
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    members: Arc<Lock<Members>>,
    /// Opens when the registry is closed.
    closed: Latch,
}

/// No panic can interrupt a change half-way: foreign code never runs inside one.
impl UnwindSafe for Registry {}
impl RefUnwindSafe for Registry {}

impl Registry {
    /// Creates a registry without bulkheads.
    #[must_use]
    pub fn new() -> Self {
        Registry { members: Arc::new(Lock::new(Members::default())), closed: Latch::new("registry".into()) }
    }

    /// Builds a bulkhead and registers it.
    ///
    /// # Errors
    ///
    /// If the registry is closed, if it has a bulkhead with this label (trimmed), or if the builder
    /// fails. Nothing is registered then.
    pub fn create<R: Runtime>(&self, builder: Builder<R>) -> Result<Bulkhead<R>, RegisterError> {
        let bulkhead = builder.build()?;
        self.add(&bulkhead)?;
        Ok(bulkhead)
    }

    /// Registers a bulkhead that was built elsewhere. One bulkhead can be in several registries;
    /// closing it closes it in all of them.
    ///
    /// # Errors
    ///
    /// If the registry is closed, or if it has a bulkhead with this label, even if it is the same
    /// one.
    pub fn add<R: Runtime>(&self, bulkhead: &Bulkhead<R>) -> Result<(), RegisterError> {
        let member = Member::new(bulkhead.clone());
        self.members.with(|members| members.add(&member))
    }

    /// Returns the bulkhead with this label (trimmed). If there is none, creates it from a clone of
    /// `builder` that is [named](Builder::label) so.
    ///
    /// So one configuration serves many bulkheads, each created when it is first needed. A bulkhead
    /// that exists is returned as it is: its limits may differ, and it may have been closed. If
    /// several threads call this at the same time, they all get the same bulkhead. A bulkhead for
    /// each of very many keys is what [`Partitions`](crate::Partitions) are for: they drop idle
    /// ones.
    ///
    /// # Errors
    ///
    /// If the runtime of the bulkhead is not `R`; if it is being [removed](Registry::remove), until
    /// it has drained: [`RegisterError::Taken`]; or, where it would have to be created, as
    /// [`create`](Registry::create).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::FakeClock;
    /// # use bulklink::{Bulkhead, Registry};
    /// let registry = Registry::new();
    /// let upstream = Bulkhead::builder_on(FakeClock::new(), "upstream").parallelism(10);
    /// let payments = registry.get_or_create("payments", &upstream)?;
    /// let _slot = payments.try_slot()?;
    /// assert_eq!(registry.get_or_create("payments", &upstream)?.status().in_flight, 1);
    /// assert_eq!(registry.get_or_create("reports", &upstream)?.status().in_flight, 0);
    /// assert_eq!(registry.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_or_create<R: Runtime>(&self, label: &str, builder: &Builder<R>) -> Result<Bulkhead<R>, RegisterError> {
        let member = match self.find(label) {
            Some((_, member)) => member,
            None => {
                // Made outside the lock: its runtime is foreign. Another thread may be faster; what
                // was made in vain is dropped outside the lock too.
                let new = Member::new(builder.clone().label(label).build()?);
                let kept = Arc::clone(&new);
                let added = self.members.with(|members| members.find_or_add(kept));
                added?
            }
        };
        if member.is_leaving() {
            return Err(RegisterError::Taken { label: Arc::clone(member.handle.shared.label()) });
        }
        Ok(member.bulkhead()?)
    }

    /// Returns the handle of the bulkhead with this label (trimmed). A bulkhead that is being
    /// removed is found until it has drained.
    #[must_use]
    pub fn get(&self, label: &str) -> Option<Handle> {
        self.find(label).map(|(_, member)| member.handle.clone())
    }

    /// Returns the bulkhead with this label (trimmed) and its runtime, to make calls.
    ///
    /// # Errors
    ///
    /// If there is none, or if its runtime is not `R`; the error names both.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::FakeClock;
    /// # use bulklink::{Bulkhead, Registry};
    /// let registry = Registry::new();
    /// registry.create(Bulkhead::builder_on(FakeClock::new(), "payments").parallelism(10))?;
    /// let payments = registry.bulkhead::<FakeClock>("payments")?;
    /// let _slot = payments.try_slot()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulkhead<R: Runtime>(&self, label: &str) -> Result<Bulkhead<R>, InvalidArgument> {
        let (_, member) = self.find(label).ok_or_else(|| unknown(label))?;
        member.bulkhead()
    }

    /// Returns all handles, in the order in which their bulkheads were registered.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.members().iter().map(|member| member.handle.clone()).collect()
    }

    /// Returns how many bulkheads there are, including those that are being removed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.with(|members| members.len())
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the status of each bulkhead, in the order in which they were registered. Each is
    /// consistent in itself; they are read one after the other.
    #[must_use]
    pub fn statuses(&self) -> Vec<Status> {
        self.members().iter().map(|member| member.handle.status()).collect()
    }

    /// Returns the capacity report of each bulkhead, in the order in which they were registered.
    #[must_use]
    pub fn capacity_reports(&self) -> Vec<CapacityReport> {
        self.statuses().iter().map(Status::capacity_report).collect()
    }

    /// Resizes the bulkheads with these labels (trimmed), in this order. Each resize is separate:
    /// the others stay if one fails. Returns what each resize did.
    ///
    /// # Errors
    ///
    /// If there is no bulkhead with a label, or if a resize is refused, as [`Handle::resize`] says.
    /// All are tried.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::testing::FakeClock;
    /// # use bulklink::{Bulkhead, Registry};
    /// let registry = Registry::new();
    /// let payments = Bulkhead::builder_on(FakeClock::new(), "payments").parallelism(10).build()?;
    /// registry.add(&payments)?;
    /// let error = registry.resize_all([("payments", 20), ("report", 5)]).unwrap_err();
    /// assert_eq!(error.to_string(), "1 of 2 failed: bulkhead report: not in the registry");
    /// assert_eq!(payments.status().limits.capacity, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize_all<L: AsRef<str>>(
        &self,
        capacities: impl IntoIterator<Item = (L, usize)>,
    ) -> Result<Vec<Resized>, CollectiveError> {
        let resize = |label: &str, capacity| {
            let handle = self.get(label).ok_or(FailureCause::Unknown)?;
            handle.resize(capacity).map_err(FailureCause::Resize)
        };
        CollectiveError::gather(capacities.into_iter().map(|(label, capacity)| {
            let label = label.as_ref();
            resize(label, capacity).map_err(|cause| MemberFailure { label: label.trim().into(), cause })
        }))
    }

    /// Closes the registry and every bulkhead in it. No bulkhead can be registered any more;
    /// running operations go on.
    ///
    /// Returns whether the registry was open before. Closing it again does nothing.
    pub fn close_all(&self) -> bool {
        let (was_open, members) =
            self.members.with(|members| (!mem::replace(&mut members.is_closed, true), members.list()));
        for member in &members {
            member.handle.close();
        }
        self.closed.open();
        was_open
    }

    /// Returns whether the registry is closed. Closing all of its bulkheads one by one does not
    /// close it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.members.with(|members| members.is_closed)
    }

    /// Completes when the registry is closed, and every bulkhead in it is closed and drained. Does
    /// not close anything.
    ///
    /// A future that has been granted a slot, and is neither polled nor dropped, holds that slot.
    /// While such a future is kept, this does not complete.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    #[doc(alias = "wait_closed")]
    pub async fn closed(&self) {
        self.closed.opened().await;
        for member in self.members() {
            member.handle.closed().await;
        }
    }

    /// Closes the registry and every bulkhead in it immediately, and completes when the last
    /// operation has ended, as [`closed`](Registry::closed) does. A future that has been granted a
    /// slot must be polled or dropped for that.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future opens nothing again.
    pub fn close_and_wait(&self) -> impl Future<Output = ()> + Send {
        self.close_all();
        self.closed()
    }

    fn find(&self, label: &str) -> Option<(u64, Arc<Member>)> {
        self.members.with(|members| members.find(label))
    }

    fn members(&self) -> Vec<Arc<Member>> {
        self.members.with(|members| members.list())
    }
}

fn unknown(label: &str) -> InvalidArgument {
    InvalidArgument::new("label", quoted(label), "must be that of a bulkhead in the registry")
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("bulkheads", &self.handles()).field("is_closed", &self.is_closed()).finish()
    }
}
