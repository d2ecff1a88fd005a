//! The one error of admission.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use bulklink_core::{InvalidArgument, Occupancy, Refusal, partitions};

/// Why a call was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No room: all capacity in use, and no place in the waiting room or no wish to wait.
    Saturated,
    /// Its time ran out before a slot came.
    Expired,
    /// The bulkhead is closed.
    Closed,
    /// The request itself is impossible: it costs nothing, or more than the whole capacity. Counted nowhere.
    InvalidCost,
    /// There is no partition for its key, as many are kept as may be, and none of them is idle.
    PartitionLimit,
}

/// A call was not admitted, and its operation has not begun.
///
/// It says why, by which bulkhead, with which figures and after how long. It is not a timeout of the dependency, and no
/// `io::Error`: a retry layer that looks for those leaves it alone.
#[derive(Clone)]
#[non_exhaustive]
pub struct Rejection {
    by: Arc<Identity>,
    cause: Cause,
}

/// What a bulkhead is called, and what else stays with the name. Rejections share it, as they are to be made in no time; and so
/// do bulkheads of one name.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) label: Arc<str>,
    pub(crate) waiting_room: u32,
    /// Of a bulkhead as it is made.
    pub(crate) unused: Occupancy,
    handler_panics: AtomicUsize,
}

impl Identity {
    pub(crate) fn new(label: Arc<str>, unused: Occupancy) -> Self {
        let waiting_room = u32::try_from(unused.waiting_room()).expect("the gate has checked it");
        Identity { label, waiting_room, unused, handler_panics: AtomicUsize::new(0) }
    }

    pub(crate) fn count_handler_panic(&self) {
        self.handler_panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn handler_panics(&self) -> usize {
        self.handler_panics.load(Ordering::Relaxed)
    }
}

#[derive(Clone)]
enum Cause {
    Refused(Refusal),
    Rejected(bulklink_core::Rejection),
    /// Shared, as that is less code wherever a rejection is dropped.
    Invalid(Arc<(InvalidArgument, Occupancy)>),
    /// By all partitions together: there is no bulkhead to ask.
    Partitions(partitions::Rejection),
}

impl Rejection {
    #[inline]
    pub(crate) fn refused(by: Arc<Identity>, refusal: Refusal) -> Self {
        Rejection { by, cause: Cause::Refused(refusal) }
    }

    pub(crate) fn rejected(by: Arc<Identity>, rejection: bulklink_core::Rejection) -> Self {
        Rejection { by, cause: Cause::Rejected(rejection) }
    }

    pub(crate) fn invalid(by: Arc<Identity>, occupancy: Occupancy, invalid: InvalidArgument) -> Self {
        Rejection { by, cause: Cause::Invalid(Arc::new((invalid, occupancy))) }
    }

    pub(crate) fn by_partitions(by: Arc<Identity>, rejection: partitions::Rejection) -> Self {
        Rejection { by, cause: Cause::Partitions(rejection) }
    }

    /// What the gate said; nothing where the request was impossible, or came to none.
    fn by_gate(&self) -> Option<bulklink_core::Rejection> {
        match &self.cause {
            Cause::Refused(refusal) => Some(refusal.rejection(self.by.waiting_room)),
            Cause::Rejected(rejection) => Some(*rejection),
            Cause::Invalid(_) | Cause::Partitions(_) => None,
        }
    }

    /// What all partitions together said, where the call came to none.
    pub(crate) fn of_partitions(&self) -> Option<&partitions::Rejection> {
        match &self.cause {
            Cause::Partitions(rejection) => Some(rejection),
            _ => None,
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match (&self.cause, self.by_gate().map(|rejection| rejection.reason())) {
            (Cause::Invalid(_), _) => Reason::InvalidCost,
            (Cause::Partitions(rejection), _) if rejection.reason() == partitions::Reason::PartitionLimit => {
                Reason::PartitionLimit
            }
            (_, Some(bulklink_core::Reason::Saturated)) => Reason::Saturated,
            (_, Some(bulklink_core::Reason::Expired)) => Reason::Expired,
            _ => Reason::Closed,
        }
    }

    /// The name of the bulkhead.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.by.label
    }

    /// The bulkhead's occupancy at that moment; after closing, without those who are giving their slots back just then. Where [`partitions`](Rejection::partitions) turned the call away, that of a partition as
    /// it is made.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        match &self.cause {
            Cause::Refused(refusal) => refusal.rejection(self.by.waiting_room).occupancy(),
            Cause::Rejected(rejection) => rejection.occupancy(),
            Cause::Invalid(invalid) => invalid.1,
            Cause::Partitions(_) => self.by.unused,
        }
    }

    /// How many partitions there were at that moment, where the call was turned away before it came to one: for the reason
    /// [`PartitionLimit`](Reason::PartitionLimit), and as all of them were [`Closed`](Reason::Closed).
    #[must_use]
    pub fn partitions(&self) -> Option<partitions::Occupancy> {
        self.of_partitions().map(partitions::Rejection::occupancy)
    }

    /// How long the call had waited; zero if it never queued.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.by_gate().map_or(Duration::ZERO, |rejection| rejection.waited())
    }

    /// How long it could have waited, where the reason is [`Expired`](Reason::Expired): the least of the bulkhead's limit, its
    /// own and what its deadline left. Zero if that deadline was past when it came.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.by_gate()?.limit()
    }

    /// The refused field and value, where the reason is [`InvalidCost`](Reason::InvalidCost).
    #[must_use]
    pub fn as_invalid(&self) -> Option<&InvalidArgument> {
        match &self.cause {
            Cause::Invalid(invalid) => Some(&invalid.0),
            _ => None,
        }
    }
}

/// By what it says, not by how it came about.
impl PartialEq for Rejection {
    fn eq(&self, other: &Rejection) -> bool {
        self.label() == other.label()
            && self.by_gate() == other.by_gate()
            && self.occupancy() == other.occupancy()
            && self.as_invalid() == other.as_invalid()
            && (self.reason(), self.partitions()) == (other.reason(), other.partitions())
    }
}

impl Eq for Rejection {}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, occupancy) = (self.label(), self.occupancy());
        if let Some(invalid) = self.as_invalid() {
            return write!(f, "bulkhead {label}: {invalid}");
        }
        if let Some(rejection) = self.of_partitions() {
            return write!(f, "bulkhead {label}: {rejection}");
        }
        write!(f, "bulkhead {label}: {}", self.reason())?;
        match self.limit() {
            Some(Duration::ZERO) => f.write_str(", as it had no time to wait")?,
            Some(limit) => write!(f, " after {:?} of {limit:?}", self.waited())?,
            None => {}
        }
        let (in_use, capacity) = (occupancy.in_use(), occupancy.capacity());
        let (waiting, room) = (occupancy.waiting(), occupancy.waiting_room());
        write!(f, " ({in_use} of {capacity} in use, {waiting} of {room} waiting)")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Saturated => "saturated",
            Reason::Expired => "expired",
            Reason::Closed => "closed",
            Reason::InvalidCost => "invalid cost",
            Reason::PartitionLimit => "partition limit",
        })
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejection")
            .field("label", &self.label())
            .field("reason", &self.reason())
            .field("occupancy", &self.occupancy())
            .field("waited", &self.waited())
            .field("limit", &self.limit())
            .field("invalid", &self.as_invalid())
            .field("partitions", &self.partitions())
            .finish_non_exhaustive()
    }
}

/// An impossible cost is part of the text, and so no source besides.
impl core::error::Error for Rejection {}
