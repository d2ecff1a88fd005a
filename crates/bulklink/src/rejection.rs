//! The one error of admission.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use bulklink_core::{Figures, Invalid};

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
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    label: Arc<str>,
    figures: Figures,
    cause: Cause,
}

#[derive(Clone, PartialEq, Eq)]
enum Cause {
    Rejected(bulklink_core::Rejection),
    Invalid(Invalid),
}

impl Rejection {
    pub(crate) fn rejected(label: Arc<str>, rejection: bulklink_core::Rejection) -> Self {
        Rejection { label, figures: rejection.figures(), cause: Cause::Rejected(rejection) }
    }

    pub(crate) fn invalid(label: Arc<str>, figures: Figures, invalid: Invalid) -> Self {
        Rejection { label, figures, cause: Cause::Invalid(invalid) }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match &self.cause {
            Cause::Rejected(rejection) => match rejection.reason() {
                bulklink_core::Reason::Saturated => Reason::Saturated,
                bulklink_core::Reason::Expired => Reason::Expired,
                _ => Reason::Closed,
            },
            Cause::Invalid(_) => Reason::InvalidCost,
        }
    }

    /// The name of the bulkhead.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The bulkhead's occupancy at that moment.
    #[must_use]
    pub fn figures(&self) -> Figures {
        self.figures
    }

    /// How long the call had waited; zero if it never queued.
    #[must_use]
    pub fn waited(&self) -> Duration {
        match &self.cause {
            Cause::Rejected(rejection) => rejection.waited(),
            Cause::Invalid(_) => Duration::ZERO,
        }
    }

    /// How long it could have waited, where the reason is [`Expired`](Reason::Expired): the least of the bulkhead's limit, its
    /// own and what its deadline left. Zero if that deadline was past when it came.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        match &self.cause {
            Cause::Rejected(rejection) => rejection.limit(),
            Cause::Invalid(_) => None,
        }
    }

    /// The refused field and value, where the reason is [`InvalidCost`](Reason::InvalidCost).
    #[must_use]
    pub fn as_invalid(&self) -> Option<&Invalid> {
        match &self.cause {
            Cause::Rejected(_) => None,
            Cause::Invalid(invalid) => Some(invalid),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, figures) = (&self.label, self.figures);
        match &self.cause {
            Cause::Invalid(invalid) => return write!(f, "bulkhead {label}: {invalid}"),
            Cause::Rejected(_) => write!(f, "bulkhead {label}: {}", self.reason())?,
        }
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
            .field("label", &self.label)
            .field("reason", &self.reason())
            .field("figures", &self.figures)
            .field("waited", &self.waited())
            .field("limit", &self.limit())
            .field("invalid", &self.as_invalid())
            .finish_non_exhaustive()
    }
}

/// An impossible cost is part of the text, and so no source besides.
impl core::error::Error for Rejection {}
