//! The one error of admission.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::AtomicUsize;
use core::time::Duration;

use bulklink_core::{Figures, Invalid, Refusal};

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
    pub(crate) handler_panics: AtomicUsize,
}

impl Identity {
    pub(crate) fn new(label: Arc<str>, unused: Figures) -> Self {
        let waiting_room = u32::try_from(unused.waiting_room()).expect("the gate has checked it");
        Identity { label, waiting_room, handler_panics: AtomicUsize::new(0) }
    }
}

#[derive(Clone)]
enum Cause {
    Refused(Refusal),
    Rejected(bulklink_core::Rejection),
    /// Shared, as that is less code wherever a rejection is dropped.
    Invalid(Arc<(Invalid, Figures)>),
}

impl Rejection {
    #[inline]
    pub(crate) fn refused(by: Arc<Identity>, refusal: Refusal) -> Self {
        Rejection { by, cause: Cause::Refused(refusal) }
    }

    pub(crate) fn rejected(by: Arc<Identity>, rejection: bulklink_core::Rejection) -> Self {
        Rejection { by, cause: Cause::Rejected(rejection) }
    }

    pub(crate) fn invalid(by: Arc<Identity>, figures: Figures, invalid: Invalid) -> Self {
        Rejection { by, cause: Cause::Invalid(Arc::new((invalid, figures))) }
    }

    /// What the gate said; nothing where the request was impossible.
    fn by_gate(&self) -> Option<bulklink_core::Rejection> {
        match &self.cause {
            Cause::Refused(refusal) => Some(refusal.rejection(self.by.waiting_room)),
            Cause::Rejected(rejection) => Some(*rejection),
            Cause::Invalid(_) => None,
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self.by_gate().map(|rejection| rejection.reason()) {
            Some(bulklink_core::Reason::Saturated) => Reason::Saturated,
            Some(bulklink_core::Reason::Expired) => Reason::Expired,
            Some(_) => Reason::Closed,
            None => Reason::InvalidCost,
        }
    }

    /// The name of the bulkhead.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.by.label
    }

    /// The bulkhead's occupancy at that moment.
    #[must_use]
    pub fn figures(&self) -> Figures {
        match &self.cause {
            Cause::Refused(refusal) => refusal.rejection(self.by.waiting_room).figures(),
            Cause::Rejected(rejection) => rejection.figures(),
            Cause::Invalid(invalid) => invalid.1,
        }
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
    pub fn as_invalid(&self) -> Option<&Invalid> {
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
            && self.figures() == other.figures()
            && self.as_invalid() == other.as_invalid()
    }
}

impl Eq for Rejection {}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, figures) = (self.label(), self.figures());
        if let Some(invalid) = self.as_invalid() {
            return write!(f, "bulkhead {label}: {invalid}");
        }
        write!(f, "bulkhead {label}: {}", self.reason())?;
        match self.limit() {
            Some(Duration::ZERO) => f.write_str(", as it had no time to wait")?,
            Some(limit) => write!(f, " after {:?} of {limit:?}", self.waited())?,
            None => {}
        }
        let (in_use, capacity) = (figures.in_use(), figures.capacity());
        let (waiting, room) = (figures.waiting(), figures.waiting_room());
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
        })
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejection")
            .field("label", &self.label())
            .field("reason", &self.reason())
            .field("figures", &self.figures())
            .field("waited", &self.waited())
            .field("limit", &self.limit())
            .field("invalid", &self.as_invalid())
            .finish_non_exhaustive()
    }
}

/// An impossible cost is part of the text, and so no source besides.
impl core::error::Error for Rejection {}
