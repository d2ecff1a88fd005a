//! A registry of named bulkheads.

mod apply;
mod configured;
mod error;
mod members;
mod partitions;
mod removal;
mod turn;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::mem;
use core::panic::{RefUnwindSafe, UnwindSafe};

use bulklink_core::{InvalidArgument, Resized};

use self::members::{Kind, Member, Members};
use self::turn::Turn;
use crate::config::FileStatus;
use crate::gate::latch::{Latch, NoTime};
use crate::gate::lock::Lock;
use crate::label::quoted;
use crate::{Builder, Bulkhead, CapacityReport, Clock, Handle, Limits, Reconfigured, Status};

pub use self::error::{CollectiveError, FailureCause, MemberFailure, RegisterError};

/// A registry of bulkheads and partitions by name, in the order in which they were added, on any
/// runtimes.
///
/// Cheap to clone; clones share everything.
///
/// A registry keeps its bulkheads alive. Calls do not go through the registry: look a bulkhead up
/// once, and use it. Finding one among n costs O(log n). No foreign code runs under the registry's
/// lock.
///
/// [`Partitions`](crate::Partitions) are members as bulkheads are. No label is that of both, and
/// what is for all members, such as [closing](Registry::close_all), is for both.
///
/// A call for all members tries each of them and reports all failures together, in a
/// [`CollectiveError`]. Reading statuses, closing and waiting cannot fail.
///
/// A [configuration](Registry::apply) can add, change and remove members, live.
///
/// Each name is a [label](Builder#labels). A lookup accepts any text: errors display it with the
/// characters escaped that a label must not hold.
///
/// ```
/// use bulklink_tokio::{Bulkhead, Registry, Tokio};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // At the start of the service.
/// let registry = Registry::new();
/// registry.create(Bulkhead::builder("payments").parallelism(10).waiting_room(20))?;
/// registry.create(Bulkhead::builder("reports").parallelism(2))?;
///
/// // In a handler.
/// let reports = registry.bulkhead::<Tokio>("reports")?;
/// let report = reports.execute(async { "42 pages" }).await?;
/// # assert_eq!(report, "42 pages");
///
/// // On a page for operators.
/// for status in registry.statuses() {
///     println!("{}: {} of {}", status.label, status.in_use, status.limits.capacity);
/// }
///
/// // At the end.
/// registry.close_and_wait().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registry {
    members: Arc<Lock<Members>>,
    /// Opens when the registry is closed.
    closed: Latch,
    /// One configuration is applied at a time.
    turn: Arc<Turn>,
    file: Arc<Lock<Option<Arc<FileStatus>>>>,
}

/// No panic can interrupt a change half-way: foreign code never runs inside one.
impl UnwindSafe for Registry {}
impl RefUnwindSafe for Registry {}

impl Registry {
    /// Creates a registry without bulkheads.
    #[must_use]
    pub fn new() -> Self {
        let closed = Latch::new("registry".into(), Arc::new(NoTime));
        let file = Arc::new(Lock::new(None));
        Registry { members: Arc::new(Lock::new(Members::default())), closed, turn: Arc::default(), file }
    }

    /// Returns the state of the file of settings that the registry [follows](crate::config::Apply),
    /// such as by `config::follow` of `bulklink-tokio`: of the last one, if of several. It stays as
    /// it is when the file is not watched any more. `None` if it has followed none.
    #[must_use]
    pub fn file_status(&self) -> Option<Arc<FileStatus>> {
        self.file.with(|file| file.clone())
    }

    pub(crate) fn set_file_status(&self, status: FileStatus) {
        let status = Some(Arc::new(status));
        // The former is dropped outside of the lock.
        drop(self.file.with(|file| mem::replace(file, status)));
    }

    /// Builds a bulkhead and registers it.
    ///
    /// # Errors
    ///
    /// If the registry is closed, if this label (trimmed) is taken by a bulkhead or by partitions,
    /// or if the builder fails. Nothing is registered then.
    pub fn create<R>(&self, builder: Builder<R>) -> Result<Bulkhead<R>, RegisterError>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let bulkhead = builder.build()?;
        self.add(&bulkhead)?;
        Ok(bulkhead)
    }

    /// Registers a bulkhead that was built elsewhere. One bulkhead can be in several registries;
    /// closing it closes it in all of them.
    ///
    /// # Errors
    ///
    /// If the registry is closed, or if the label is taken by a bulkhead, even by the same one, or
    /// by partitions.
    pub fn add<R>(&self, bulkhead: &Bulkhead<R>) -> Result<(), RegisterError>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let member = Member::of_bulkhead(bulkhead.clone());
        self.members.with(|members| members.add(&member))
    }

    /// Returns the bulkhead with this label (trimmed). If there is none, creates it from a clone of
    /// `builder` that is [named](Builder::label) so.
    ///
    /// So one configuration serves many bulkheads, each created when it is first needed. A bulkhead
    /// that exists is returned as it is: its limits may differ, and it may have been closed. One
    /// that is created later has the limits of the builder, also if others were reconfigured
    /// meanwhile. If several threads call this at the same time, they all get the same bulkhead. A
    /// bulkhead for each of very many keys is what [`Partitions`](crate::Partitions) are for: they
    /// drop idle ones.
    ///
    /// # Errors
    ///
    /// If the runtime of the bulkhead is not `R`; if the label is that of partitions, or of a
    /// bulkhead that is being [removed](Registry::remove), until that has drained:
    /// [`RegisterError::Taken`]; or, where it would have to be created, as
    /// [`create`](Registry::create).
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Registry};
    ///
    /// let registry = Registry::new();
    /// let upstream = Bulkhead::builder("upstream").parallelism(10);
    /// let payments = registry.get_or_create("payments", &upstream)?;
    /// let _slot = payments.try_slot()?;
    /// assert_eq!(registry.get_or_create("payments", &upstream)?.status().in_flight, 1);
    /// assert_eq!(registry.get_or_create("reports", &upstream)?.status().in_flight, 0);
    /// assert_eq!(registry.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_or_create<R>(&self, label: &str, builder: &Builder<R>) -> Result<Bulkhead<R>, RegisterError>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let member = if let Some((_, member)) = self.find(label) {
            member
        } else {
            // Made outside the lock: its runtime is foreign. Another thread may be faster; the
            // bulkhead made in vain is dropped outside the lock too.
            let new = Member::of_bulkhead(builder.clone().label(label).build()?);
            let kept = Arc::clone(&new);
            self.members.with(|members| members.find_or_add(kept))?
        };
        if member.is_leaving() || member.kind.bulkhead().is_none() {
            return Err(RegisterError::Taken { label: Arc::clone(member.kind.label()) });
        }
        Ok(member.bulkhead()?)
    }

    /// Returns the handle of the bulkhead with this label (trimmed). A bulkhead that is being
    /// removed is found until it has drained.
    #[must_use]
    pub fn get(&self, label: &str) -> Option<Handle> {
        self.find(label).and_then(|(_, member)| member.kind.bulkhead().cloned())
    }

    /// Returns the bulkhead with this label (trimmed) and its runtime, to make calls.
    ///
    /// Where no type of a variable or a field says the runtime, name it, as in
    /// `registry.bulkhead::<Tokio>("payments")`.
    ///
    /// # Errors
    ///
    /// If there is none, or if its runtime is not `R`; the error names both.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Registry, Tokio};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let registry = Registry::new();
    /// registry.create(Bulkhead::builder("payments").parallelism(10))?;
    /// let payments = registry.bulkhead::<Tokio>("payments")?;
    /// let slot = payments.slot().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn bulkhead<R>(&self, label: &str) -> Result<Bulkhead<R>, InvalidArgument>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let (_, member) = self.find(label).ok_or_else(|| unknown("a bulkhead", label))?;
        member.bulkhead()
    }

    /// Returns the handles of all bulkheads, in the order in which they were registered.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.members().iter().filter_map(|member| member.kind.bulkhead().cloned()).collect()
    }

    /// Returns how many bulkheads and partitions there are, including those that are being removed.
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
        self.handles().iter().map(Handle::status).collect()
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
    /// If there is no bulkhead with a label, or partitions have it, or if a resize is refused, as
    /// [`Handle::resize`] says. All are tried.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Registry};
    ///
    /// let registry = Registry::new();
    /// let payments = registry.create(Bulkhead::builder("payments").parallelism(10))?;
    /// let error = registry.resize_all([("payments", 20), ("report", 5)]).unwrap_err();
    /// assert_eq!(error.to_string(), "1 of 2 failed: bulkhead report: not in the registry");
    /// assert_eq!(payments.status().limits.capacity, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize_all<L: AsRef<str>>(
        &self,
        capacities: impl IntoIterator<Item = (L, usize)>,
    ) -> Result<Vec<Resized>, CollectiveError> {
        self.for_each(capacities, |kind, capacity| {
            let bulkhead = kind.bulkhead().ok_or(FailureCause::Partitions)?;
            bulkhead.resize(capacity).map_err(FailureCause::Resize)
        })
    }

    /// Changes all limits of the bulkheads and partitions with these labels (trimmed), in this
    /// order. Each change is separate: the others stay if one fails. Returns what each changed.
    ///
    /// # Errors
    ///
    /// If there is neither a bulkhead nor partitions with a label, or if a change is refused, as
    /// [`Handle::reconfigure`] and [`Partitions::reconfigure`](crate::Partitions::reconfigure) say.
    /// All are tried.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Limits, Partitions, Registry};
    ///
    /// let registry = Registry::new();
    /// registry.create(Bulkhead::builder("payments").parallelism(10))?;
    /// let tenants = Partitions::<String>::builder("tenants").parallelism(1);
    /// registry.create_partitions(tenants.max_partitions(100))?;
    /// let limits = [("payments", Limits::new(20)), ("tenants", Limits::new(0))];
    /// let error = registry.reconfigure_all(limits).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "1 of 2 failed: partitions tenants: parallelism must be at least 1, got 0"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure_all<L: AsRef<str>>(
        &self,
        limits: impl IntoIterator<Item = (L, Limits)>,
    ) -> Result<Vec<Reconfigured>, CollectiveError> {
        self.for_each(limits, |kind, limits| kind.reconfigure(limits).map_err(FailureCause::Reconfigure))
    }

    /// Tries to change each of these members, and collects all failures.
    fn for_each<L: AsRef<str>, V, T>(
        &self,
        wanted: impl IntoIterator<Item = (L, V)>,
        change: impl Fn(&Kind, V) -> Result<T, FailureCause>,
    ) -> Result<Vec<T>, CollectiveError> {
        CollectiveError::gather(wanted.into_iter().map(|(label, value)| {
            let label = label.as_ref();
            let found = self.find(label).ok_or(FailureCause::Unknown);
            let changed = found.and_then(|(_, member)| change(&member.kind, value));
            changed.map_err(|cause| MemberFailure { label: label.trim().into(), cause })
        }))
    }

    /// Closes the registry, and every bulkhead and all partitions in it. Nothing can be registered
    /// any more; running operations go on.
    ///
    /// Returns whether the registry was open before. Closing it again does nothing.
    pub fn close_all(&self) -> bool {
        let (was_open, members) =
            self.members.with(|members| (!mem::replace(&mut members.is_closed, true), members.list()));
        for member in &members {
            member.kind.close();
        }
        self.closed.open();
        was_open
    }

    /// Returns whether the registry is closed. Closing all of its members one by one does not close
    /// it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.members.with(|members| members.is_closed)
    }

    /// Completes when the registry is closed, and every member is closed and drained: no operation
    /// runs, and every call has left its partition. Does not close anything.
    ///
    /// A future that has been granted a slot, and is neither polled nor dropped, holds that slot; a
    /// future of a partition holds that. While such a future is kept, this does not complete.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    #[doc(alias = "wait_closed")]
    pub async fn closed(&self) {
        self.closed.opened().await;
        for member in self.members() {
            member.kind.closed().await;
        }
    }

    /// Closes the registry and every member immediately, and completes when the last operation has
    /// ended, as [`closed`](Registry::closed) does. A future that has been granted a
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

fn unknown(kind: &str, label: &str) -> InvalidArgument {
    InvalidArgument::new("label", quoted(label), format_args!("must be that of {kind} in the registry"))
}

fn other_kind(wanted: &str, found: &str, label: &str) -> InvalidArgument {
    InvalidArgument::new("label", quoted(label), format_args!("must be that of {wanted}, and is that of {found}"))
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("bulkheads", &self.handles())
            .field("partitions", &self.partition_handles())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}
