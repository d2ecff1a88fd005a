//! The slots that calls are given: a claim with a grant, under its public names.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use bulklink_core::limit::Outcome;

use crate::acquire::claim::Claim;
use crate::gate::shared::Shared;

/// A slot of an operation that may be cancelled: so its request is one that is
/// [ignored](bulklink_core::Request::ignored) until then.
pub(crate) trait Held {
    /// The operation has completed.
    fn complete(&self);
}

impl Held for Slot<'_> {
    #[inline]
    fn complete(&self) {
        self.0.complete();
    }
}

impl Held for OwnedSlot {
    #[inline]
    fn complete(&self) {
        self.0.complete();
    }
}

/// The right to run one operation, borrowed from its [`Bulkhead`](crate::Bulkhead).
///
/// Dropping it gives the slot back, to the next waiter if there is one. If it is
/// leaked (`mem::forget`), the slot stays taken, and closing never ends; see
/// [`forget`](Slot::forget).
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct Slot<'a>(Claim<&'a Shared>);

impl<'a> Slot<'a> {
    #[inline]
    pub(crate) fn new(claim: Claim<&'a Shared>) -> Self {
        Slot(claim)
    }

    /// Returns the number of units that this slot holds.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.0.cost()
    }

    /// Returns how long the call waited until it was handed this slot; zero if it did not wait. It
    /// is rounded down by less than one part in 60 million.
    ///
    /// If waits are not [measured](crate::Builder::measure_waits), it is zero for a call that had
    /// no limit or deadline.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.0.waited()
    }

    /// Splits `units` off this slot, for an operation of its own: of a slot of five units, two can
    /// be given back while the rest goes on. Returns `None`, and changes nothing, if one of the two
    /// slots would have no unit.
    ///
    /// The new slot has the same wait. It is counted as [split](crate::Snapshot::split), not as
    /// admitted, and as finished at its end. A [deadline](crate::Request::deadline) stays with this
    /// slot.
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Request};
    ///
    /// let reports = Bulkhead::builder("reports").capacity(8).build()?;
    /// let mut slot = reports.with(Request::new().cost(5)).try_slot()?;
    /// let part = slot.split(2).expect("it has more");
    /// assert_eq!((slot.cost(), part.cost()), (3, 2));
    /// drop(part);
    /// assert_eq!(reports.status().in_use, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a slot is given back as soon as it is dropped"]
    pub fn split(&mut self, units: usize) -> Option<Self> {
        self.0.split(units).map(Slot)
    }

    /// Merges another slot of the same bulkhead into this one, which then has the units of both.
    /// The operation of the other slot is counted as [merged](crate::Snapshot::merged), not as
    /// finished.
    ///
    /// # Errors
    ///
    /// If the other slot is of another bulkhead, or of another partition. It is returned, and
    /// nothing has changed.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// let reports = Bulkhead::builder("reports").capacity(8).build()?;
    /// let mut slot = reports.try_slot()?;
    /// slot.merge(reports.try_slot()?).expect("of the same bulkhead");
    /// assert_eq!((slot.cost(), reports.status().in_flight), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(&mut self, other: Self) -> Result<(), Self> {
        self.0.merge(other.0).map_err(Slot)
    }

    /// Writes the slot off: its units stay in use for good, and closing does not wait for it.
    ///
    /// For an operation that will never end, and has not freed the resource that the slot stands
    /// for: a thread that hangs in foreign code, or a connection that is lost. The operation counts
    /// as finished; the [status](crate::Handle::status) has the units
    /// ([`written_off`](crate::Snapshot::written_off)). A larger capacity makes up for them. From
    /// then on, every call takes the lock. A call that costs more than the units that are left
    /// waits until the capacity is raised, and so do the calls behind it: give it a limit. In a
    /// partition, the units are in use until the partition is evicted or discarded, which calls for
    /// it postpone.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let devices = Bulkhead::builder("devices").parallelism(2).build()?;
    /// devices.try_slot()?.forget();
    /// assert_eq!((devices.status().in_flight, devices.status().in_use), (0, 1));
    /// devices.close_and_wait().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn forget(self) {
        self.0.write_off();
    }

    /// Gives the slot back unused: its operation has not begun and never will, as where another
    /// condition refuses it.
    ///
    /// It counts as [abandoned](crate::Totals::abandoned), not as finished. Its hold is not
    /// measured, and does not count in [estimates](crate::Handle::estimated_wait) of waits.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// let reports = Bulkhead::builder("reports").capacity(8).build()?;
    /// reports.try_slot()?.abandon();
    /// let totals = reports.status().totals;
    /// assert_eq!((totals.admitted, totals.abandoned, totals.finished), (1, 1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abandon(self) {
        self.0.abandon();
    }
}

// Below the other methods, as few programs need it.
impl Slot<'_> {
    /// Sets how the operation ended, for the [adaptive limit](crate::Builder::adaptive) of the
    /// bulkhead: as a success, if this is not called. A slot that is dropped while its thread
    /// panics, or whose `execute` is cancelled, is [ignored](Outcome::Ignore), as an error of
    /// `execute_fallible` is; but at its deadline, each of them is an
    /// [overload](Outcome::Overload).
    ///
    /// Takes the lock once. Does nothing in a bulkhead without an adaptive limit.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use bulklink_tokio::limit::{Knee, Outcome};
    ///
    /// let builder = Bulkhead::builder("search").parallelism(200);
    /// let search = builder.adaptive(Knee::between(4, 200)).build()?;
    /// let slot = search.try_slot()?;
    /// let status = 503;
    /// if status == 503 || status == 429 {
    ///     slot.set_outcome(Outcome::Overload);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_outcome(&self, outcome: Outcome) {
        self.0.set_outcome(Some(outcome));
    }
}

impl fmt::Debug for Slot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Slot", f)
    }
}

/// The right to run one operation, without a borrow: it can move to another task or into a layer.
///
/// Dropping it gives the slot back, to the next waiter if there is one; a slot of a
/// [partition](crate::Partitions) then leaves the partition. If it is leaked (`mem::forget`),
/// the slot stays taken and the partition in use, and closing never ends; see
/// [`forget`](OwnedSlot::forget).
#[must_use = "a slot is given back as soon as it is dropped"]
#[doc(alias = "permit")]
pub struct OwnedSlot(Claim<Arc<Shared>>);

impl OwnedSlot {
    #[inline]
    pub(crate) fn new(claim: Claim<Arc<Shared>>) -> Self {
        OwnedSlot(claim)
    }

    pub(crate) fn label(&self) -> Arc<str> {
        self.0.label()
    }

    /// Returns the number of units that this slot holds.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.0.cost()
    }

    /// Returns how long the call waited until it was handed this slot; zero if it did not wait. It
    /// is rounded down by less than one part in 60 million.
    ///
    /// If waits are not [measured](crate::Builder::measure_waits), it is zero for a call that had
    /// no limit or deadline.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.0.waited()
    }

    /// Splits `units` off this slot, as [`Slot::split`] does.
    #[must_use = "a slot is given back as soon as it is dropped"]
    pub fn split(&mut self, units: usize) -> Option<Self> {
        self.0.split(units).map(OwnedSlot)
    }

    /// Merges another slot of the same bulkhead into this one, as [`Slot::merge`] does.
    ///
    /// # Errors
    ///
    /// If the other slot is of another bulkhead, or of another partition. It is returned, and
    /// nothing has changed.
    pub fn merge(&mut self, other: Self) -> Result<(), Self> {
        self.0.merge(other.0).map_err(OwnedSlot)
    }

    /// Writes the slot off, as [`Slot::forget`] does: its units stay in use for good, and closing
    /// does not wait for it.
    pub fn forget(self) {
        self.0.write_off();
    }

    /// Gives the slot back unused, as [`Slot::abandon`] does: its operation has not begun and never
    /// will.
    pub fn abandon(self) {
        self.0.abandon();
    }
}

impl OwnedSlot {
    pub(crate) fn cancel(&self) {
        self.0.cancel();
    }

    #[inline]
    pub(crate) fn is_judged(&self) -> bool {
        self.0.is_judged()
    }

    /// Sets how the operation ended, as [`Slot::set_outcome`] does.
    pub fn set_outcome(&self, outcome: Outcome) {
        self.0.set_outcome(Some(outcome));
    }
}

impl fmt::Debug for OwnedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("OwnedSlot", f)
    }
}
