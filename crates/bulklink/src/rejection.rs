//! The error of admission: [`Rejection`] and its [`Reason`].

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use bulklink_core::plumbing::Refusal;
use bulklink_core::{InvalidArgument, Occupancy, Request, Restriction, Rounded, partitions};

use crate::gate::ceilings::Noted;
use crate::identity::Identity;
use crate::observe::trace;
#[cfg(feature = "tracing")]
use crate::observe::trace::Account;
use crate::pool::Bound;

/// The reason for a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// All capacity was in use or the bulkhead was paused, and the waiting room was full or the
    /// call did not want to wait.
    Saturated,
    /// The wait limit or the deadline passed before the call got a slot.
    Expired,
    /// The bulkhead was closed.
    Closed,
    /// The call waited, and gave up its place to a call of another key, because the waiting room
    /// that [all keys share](crate::partitions::Builder::shared_waiting_room) was full and its own
    /// key had the most waiters for its weight.
    Displaced,
    /// The call was handed a slot, and had not collected it
    /// [in time](crate::Builder::collect_limit): its future was not polled, or its executor was
    /// blocked. The slot was taken back.
    Uncollected,
    /// The cost is impossible: zero, or more than the whole capacity. Such rejections are not
    /// counted.
    InvalidCost,
    /// The key has no partition, `max_partitions` exist already, and none of them is idle.
    PartitionLimit,
    /// The key has no partition, and [its limits](crate::partitions::Builder::limits_for) are
    /// invalid. Such rejections are not counted.
    InvalidLimits,
}

/// The error of a call that was not admitted: its operation has not begun.
///
/// It has the reason, the bulkhead's name and occupancy, and how long the call waited. It is not a
/// timeout of the dependency and not an `io::Error`, so a retry layer that matches those does not
/// retry it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Rejection {
    by: Arc<Identity>,
    cause: Cause,
}

/// The decision that rejected the call.
#[derive(Clone)]
enum Cause {
    /// The word, without the lock.
    Refused(Refusal),
    /// The same, while the gate was restricted, with the facts that the word does not have.
    Restricted(Refusal, Noted),
    /// The gate.
    Rejected(bulklink_core::Rejection),
    /// Rare or large parts, in one `Arc`: that is less code wherever a rejection is dropped.
    Other(Arc<Other>),
}

/// A rejection before the gate decided on admission.
#[derive(Clone)]
struct Other {
    reason: Reason,
    occupancy: Occupancy,
    cost: u32,
    why: Why,
}

#[derive(Clone)]
enum Why {
    /// The cost is impossible, or the key has invalid limits.
    Invalid(InvalidArgument),
    /// The call got no partition.
    Partitions(partitions::Rejection),
}

impl Rejection {
    #[inline]
    pub(crate) fn refused(by: Arc<Identity>, refusal: Refusal) -> Self {
        Rejection { by, cause: Cause::Refused(refusal) }
    }

    #[inline]
    pub(crate) fn restricted(by: Arc<Identity>, refusal: Refusal, noted: Noted) -> Self {
        Rejection { by, cause: Cause::Restricted(refusal, noted) }
    }

    /// Under a restriction, `by` is the identity [with it](Identity::under).
    pub(crate) fn rejected(by: Arc<Identity>, rejection: bulklink_core::Rejection) -> Self {
        Rejection { by, cause: Cause::Rejected(rejection) }
    }

    pub(crate) fn set_identity(&mut self, by: Arc<Identity>) {
        self.by = by;
    }

    fn other(occupancy: Occupancy, by: Arc<Identity>, reason: Reason, request: &Request, why: Why) -> Self {
        Rejection { by, cause: Cause::Other(Arc::new(Other { reason, occupancy, cost: request.units(), why })) }
    }

    /// The same rejection, of this request: a key is refused before its request is known.
    pub(crate) fn for_request(mut self, request: &Request) -> Self {
        if let Cause::Other(other) = &mut self.cause {
            Arc::make_mut(other).cost = request.units();
        }
        self
    }

    /// The rejection of a call with an invalid cost.
    pub(crate) fn invalid(
        by: Arc<Identity>,
        occupancy: Occupancy,
        argument: InvalidArgument,
        request: &Request,
    ) -> Self {
        Rejection::other(occupancy, by, Reason::InvalidCost, request, Why::Invalid(argument))
    }

    /// The rejection of a call whose key has invalid limits.
    pub(crate) fn invalid_limits(by: Arc<Identity>, argument: InvalidArgument) -> Self {
        Rejection::other(by.unused, by, Reason::InvalidLimits, &Request::new(), Why::Invalid(argument))
    }

    /// The rejection of a call that got no partition.
    pub(crate) fn by_partitions(by: Arc<Identity>, rejection: partitions::Rejection) -> Self {
        let reason = match rejection.reason() {
            partitions::Reason::PartitionLimit => Reason::PartitionLimit,
            _ => Reason::Closed,
        };
        Rejection::other(by.unused, by, reason, &Request::new(), Why::Partitions(rejection))
    }

    /// Returns the gate's rejection, or `None` if the cost or the limits were invalid or the call
    /// got no partition.
    fn by_gate(&self) -> Option<bulklink_core::Rejection> {
        match &self.cause {
            Cause::Refused(refusal) => Some(refusal.rejection(self.by.waiting_room)),
            Cause::Restricted(refusal, noted) => Some(refusal.rejection_of(self.by.waiting_room, noted.capacity())),
            Cause::Rejected(rejection) => Some(*rejection),
            Cause::Other(_) => None,
        }
    }

    /// Counts a rejection by the partitions, unless they are gone, and logs it.
    pub(crate) fn count(&self) {
        trace::rejected(None, self);
        if let (Some(rejection), Some(owner)) = (self.of_partitions(), self.by.owner()) {
            owner.count(rejection);
        }
    }

    /// Returns how many rejections of the bulkhead are logged.
    #[cfg(feature = "tracing")]
    pub(crate) fn logged(&self) -> &Account {
        &self.by.logged
    }

    /// Returns the rejection of the partitions, if the call got no partition.
    pub(crate) fn of_partitions(&self) -> Option<&partitions::Rejection> {
        let Cause::Other(other) = &self.cause else { return None };
        match &other.why {
            Why::Partitions(rejection) => Some(rejection),
            Why::Invalid(_) => None,
        }
    }

    /// Returns the reason for the rejection.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match (&self.cause, self.by_gate().map(|rejection| rejection.reason())) {
            (Cause::Other(other), _) => other.reason,
            (_, Some(bulklink_core::Reason::Saturated)) => Reason::Saturated,
            (_, Some(bulklink_core::Reason::Expired)) => Reason::Expired,
            (_, Some(bulklink_core::Reason::Uncollected)) => Reason::Uncollected,
            (_, Some(bulklink_core::Reason::Displaced)) => Reason::Displaced,
            _ => Reason::Closed,
        }
    }

    /// Returns the name of the bulkhead.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.by.label
    }

    /// Returns the occupancy of the bulkhead at the moment of the rejection.
    ///
    /// After a close, slots that are being given back at that moment are not included. If the call
    /// got no [partition](Rejection::partitions), this is the occupancy of a new partition with the
    /// limits that all have in common.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        match &self.cause {
            Cause::Other(other) => other.occupancy,
            _ => self.by_gate().map_or(self.by.unused, |rejection| rejection.occupancy()),
        }
    }

    /// Returns the occupancy of the partitions at the moment of the rejection, if the call got no
    /// partition.
    ///
    /// That is so for the reason [`PartitionLimit`](Reason::PartitionLimit), and for
    /// [`Closed`](Reason::Closed) if all partitions were closed.
    #[must_use]
    pub fn partitions(&self) -> Option<partitions::Occupancy> {
        self.of_partitions().map(partitions::Rejection::occupancy)
    }

    /// Returns whether the bulkhead was [paused](crate::Handle::pause) at the moment of the
    /// rejection.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.by_gate().is_some_and(|rejection| rejection.is_paused())
    }

    /// Returns the part of the capacity that a [ceiling](crate::Ceiling) left at the moment of the
    /// rejection, and the name of its controller; `None` if that was the whole capacity.
    ///
    /// A call that has waited has it as it was when the call took its rejection. At the moment at
    /// which another ceiling comes to bind, the units can be of one, and the name of the other.
    ///
    /// The [source](core::error::Error::source) of the rejection is the
    /// [cause](crate::Ceiling::set_cause) that the ceiling had then, if any.
    #[must_use]
    pub fn restriction(&self) -> Option<Restriction> {
        match &self.cause {
            Cause::Restricted(refusal, noted) => {
                let restricted = |units| Restriction::new(units as usize, noted.by().name());
                refusal.restricted_to().map(restricted)
            }
            Cause::Rejected(_) => self.by.restriction.as_deref().map(|(restriction, _)| *restriction),
            Cause::Refused(_) | Cause::Other(_) => None,
        }
    }

    /// Returns the limit that rejected the call, where keys
    /// [share a capacity](crate::partitions::Builder::shared_capacity): because of it, the call got
    /// neither units nor a place in the queue, has lost its place, or waited until its wait
    /// [expired](Reason::Expired). Of a wait, it is the limit that would hold up the call when its
    /// future returns the rejection. `None` for another bulkhead, and for any other reason.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        match self.reason() {
            Reason::Saturated => self.by.bound.or(self.by.pool.as_ref().map(|_| Bound::Key)),
            Reason::Displaced => Some(Bound::Shared),
            // Of one that came too late there is none.
            Reason::Expired if self.by.restriction.is_some() => self.by.pool.as_ref().map(|_| Bound::Key),
            Reason::Expired => self.by.bound,
            _ => None,
        }
    }

    /// Returns the units that the call asked for, at most `u32::MAX`.
    #[must_use]
    pub fn cost(&self) -> usize {
        match &self.cause {
            Cause::Refused(_) | Cause::Restricted(..) => 1,
            Cause::Rejected(rejection) => rejection.cost(),
            Cause::Other(other) => other.cost as usize,
        }
    }

    /// Returns how long the call waited; zero if it was never queued. What it waited beyond its
    /// limit, or until it was handed a slot that was taken back, is rounded down by less than one
    /// part in 60 million.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.by_gate().map_or(Duration::ZERO, |rejection| rejection.waited())
    }

    /// Returns how long the call could have waited, if the reason is [`Expired`](Reason::Expired).
    ///
    /// It is the shortest of the bulkhead's limit, the call's own limit and the time left until its
    /// deadline, less the time [kept](Rejection::kept). It is zero if the deadline had passed
    /// before the call.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.by_gate()?.limit()
    }

    /// Returns how long the call had its slot until that was taken back, if the reason is
    /// [`Uncollected`](Reason::Uncollected).
    #[must_use]
    pub fn uncollected(&self) -> Option<Duration> {
        self.by_gate()?.uncollected()
    }

    /// Returns the time that was kept for the operation, if a call with a
    /// [deadline](crate::Request::deadline) expired in the queue: that long before its deadline,
    /// its wait was over. `None` if another limit ended the wait. It is rounded down by less than
    /// one part in 100,000.
    #[must_use]
    pub fn kept(&self) -> Option<Duration> {
        self.by_gate()?.kept()
    }

    /// Returns whether the call's own deadline ended its wait, and not a limit of the bulkhead: the
    /// deadline had passed before the call, or it is that of the
    /// [whole call](crate::Request::deadline). A server then answers with 504, because its caller
    /// does not wait any longer.
    #[must_use]
    pub fn is_by_deadline(&self) -> bool {
        self.by_gate().is_some_and(|rejection| rejection.is_by_deadline())
    }

    /// Returns the units that calls waited for, if the call was rejected because its own would have
    /// been more than the [bound](crate::Builder::waiting_room_units).
    #[must_use]
    pub fn waiting_units(&self) -> Option<usize> {
        self.by_gate()?.waiting_units()
    }

    /// Returns the [bound](crate::Builder::waiting_room_units) on the units that calls wait for, if
    /// the call was rejected because of it.
    #[must_use]
    pub fn waiting_room_units(&self) -> Option<usize> {
        self.by_gate()?.waiting_room_units()
    }

    /// Returns the invalid field and value, if the reason is [`InvalidCost`](Reason::InvalidCost)
    /// or [`InvalidLimits`](Reason::InvalidLimits).
    #[must_use]
    pub fn as_invalid(&self) -> Option<&InvalidArgument> {
        let Cause::Other(other) = &self.cause else { return None };
        match &other.why {
            Why::Invalid(argument) => Some(argument),
            Why::Partitions(_) => None,
        }
    }
}

/// Compares all that the methods of the two return.
impl PartialEq for Rejection {
    fn eq(&self, other: &Rejection) -> bool {
        self.label() == other.label()
            && self.by_gate() == other.by_gate()
            && (self.occupancy(), self.cost()) == (other.occupancy(), other.cost())
            && self.as_invalid() == other.as_invalid()
            && (self.reason(), self.partitions()) == (other.reason(), other.partitions())
            && (self.restriction(), self.bound()) == (other.restriction(), other.bound())
    }
}

impl Eq for Rejection {}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bulkhead {}: ", self.label())?;
        self.explain(f)
    }
}

impl Rejection {
    /// Writes the part of the text after the name of the bulkhead.
    pub(crate) fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let occupancy = self.occupancy();
        if let Some(invalid) = self.as_invalid() {
            let whose = if self.reason() == Reason::InvalidLimits { "limits of a key: " } else { "" };
            return write!(f, "{whose}{invalid}");
        }
        if let Some(rejection) = self.of_partitions() {
            return fmt::Display::fmt(rejection, f);
        }
        write!(f, "{}", self.reason())?;
        match self.limit() {
            Some(Duration::ZERO) if self.is_by_deadline() => f.write_str(", as its deadline had passed")?,
            Some(Duration::ZERO) => f.write_str(", as its wait limit is zero")?,
            Some(limit) => write!(f, " after {} of {}", Rounded(self.waited()), Rounded(limit))?,
            None => {}
        }
        if let Some(age) = self.uncollected() {
            return write!(f, " for {}, as its future was not polled or its executor was blocked", Rounded(age));
        }
        if let Some(kept) = self.kept() {
            write!(f, ", with {} kept for the call itself", Rounded(kept))?;
        }
        let (in_use, capacity) = (occupancy.in_use(), occupancy.capacity());
        let (waiting, room) = (occupancy.waiting(), occupancy.waiting_room());
        let paused = if self.is_paused() { "paused, " } else { "" };
        match self.restriction() {
            None => write!(f, " ({paused}{in_use} of {capacity} in use, {waiting} of {room} waiting")?,
            Some(Restriction { by, units, .. }) => {
                write!(f, " ({paused}{in_use} of {capacity} in use, {units} allowed by {by}, ")?;
                write!(f, "{waiting} of {room} waiting")?;
            }
        }
        if let (Some(units), Some(bound)) = (self.waiting_units(), self.waiting_room_units()) {
            write!(f, " for {units} of {bound} units")?;
        }
        f.write_str(")")
    }
}

impl Reason {
    /// Returns the name in snake case, for machines: for a metric's label or a log. It never
    /// changes.
    ///
    /// ```
    /// # use bulklink::Reason;
    /// assert_eq!(Reason::InvalidCost.as_str(), "invalid_cost");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Saturated => "saturated",
            Reason::Expired => "expired",
            Reason::Closed => "closed",
            Reason::Displaced => "displaced",
            Reason::Uncollected => "uncollected",
            Reason::InvalidCost => "invalid_cost",
            Reason::PartitionLimit => "partition_limit",
            Reason::InvalidLimits => "invalid_limits",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::InvalidCost => "invalid cost",
            Reason::PartitionLimit => "partition limit",
            Reason::InvalidLimits => "invalid limits",
            other => other.as_str(),
        })
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejection")
            .field("label", &self.label())
            .field("reason", &self.reason())
            .field("cost", &self.cost())
            .field("occupancy", &self.occupancy())
            .field("is_paused", &self.is_paused())
            .field("restriction", &self.restriction())
            .field("bound", &self.bound())
            .field("waited", &self.waited())
            .field("limit", &self.limit())
            .field("uncollected", &self.uncollected())
            .field("kept", &self.kept())
            .field("is_by_deadline", &self.is_by_deadline())
            .field("waiting_units", &self.waiting_units())
            .field("waiting_room_units", &self.waiting_room_units())
            .field("invalid", &self.as_invalid())
            .field("partitions", &self.partitions())
            .finish_non_exhaustive()
    }
}

/// The source is the [cause](crate::Ceiling::set_cause) of the ceiling that binds, if it has one.
/// The message includes that of an [`InvalidArgument`].
impl core::error::Error for Rejection {
    #[inline]
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        let (_, cause) = self.by.restriction.as_deref()?;
        Some(&*cause.as_ref()?.0)
    }
}
