//! One finding of a report: a code, a severity, a text and a recommendation.

use alloc::string::String;
use core::fmt;

/// How much a [`Finding`] or a [`CapacityReport`](crate::CapacityReport) matters, in ascending
/// order of urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// There is no finding.
    Ok,
    /// For information; nothing is wrong at this moment.
    Notice,
    /// It should be looked into.
    Warning,
    /// Calls are being rejected, or are about to be.
    Critical,
}

impl Severity {
    /// Returns the name in lower case, which never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Declares [`FindingCode`], so that no code can lack its name or its recommendation.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal, $advice:literal;)*) => {
        /// The subject of a [`Finding`]. A report has each code at most once, in this order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingCode {
            $($(#[$doc])* $code,)*
        }

        impl FindingCode {
            /// Returns the name in snake case, for machines. It never changes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(FindingCode::$code => $name,)*
                }
            }

            /// Returns what to do about the finding.
            #[must_use]
            pub const fn recommendation(self) -> &'static str {
                match self {
                    $(FindingCode::$code => $advice,)*
                }
            }
        }
    };
}

codes! {
    /// The gate is closed, and operations still run.
    ClosedWithActiveWork = "closed_with_active_work",
        "wait until it has drained before you shut down the protected resource";
    /// The gate is paused.
    AdmissionPaused = "admission_paused",
        "resume as soon as the protected resource can take requests again";
    /// No request can be admitted at this moment, because a restriction leaves less than the
    /// capacity.
    AdmissionRestricted = "admission_restricted",
        "ask the controller why it allows no more: a larger capacity would change nothing";
    /// The adaptive limit panicked or left its bounds, and does not move any more. A gate has no
    /// such limit: the report of a bulkhead finds it.
    AdaptiveLimitFailed = "adaptive_limit_failed",
        "correct the implementation of the limit: until the next start, the last limit stays";
    /// The adaptive limit would raise itself beyond its greatest bound, and calls are rejected. A
    /// gate has no such limit: the report of a bulkhead finds it.
    AdaptiveLimitAtBound = "adaptive_limit_at_bound",
        "the bounds bind, not the protected resource: allow a greater limit, if the resource may have more";
    /// More is in use than the capacity, which was reduced.
    ActiveWorkAboveCapacity = "active_work_above_capacity",
        "let running operations end: no request is admitted until enough of them have";
    /// No request can be admitted at this moment, and not because of a pause; the waiting room has
    /// places left, or there is none.
    ExecutionFull = "execution_full",
        "check whether it lasts, and raise the capacity only if the protected resource can take more";
    /// No request can be admitted, and the waiting room is nearly full.
    WaitingRoomNearCapacity = "waiting_room_near_capacity",
        "find out what slows operations down or sends more of them before calls are rejected";
    /// No request can be admitted, and the waiting room is full.
    WaitingRoomFull = "waiting_room_full",
        "reduce load or shorten operations, and raise the capacity only if the protected resource can take more";
    /// Requests may wait, without a limit on the time.
    UnboundedQueueWait = "unbounded_queue_wait",
        "set a wait limit if callers give up some time, or slots will be spent on answers that no caller waits for";
    /// Far more requests may wait than can run.
    LargeWaitingRoom = "large_waiting_room",
        "make sure that callers can tolerate the wait behind a full waiting room, or make the room smaller";
    /// A large share of requests had to queue.
    FrequentQueueing = "frequent_queueing",
        "compare the number of concurrent calls with how many can run, and with how long each takes";
    /// A large share of requests was rejected because capacity was short.
    ElevatedRejectionRate = "elevated_rejection_rate",
        "check whether they found no room or waited too long, before you change any limit";
    /// A large share of queued requests expired in the queue.
    ElevatedExpirationRate = "elevated_expiration_rate",
        "reduce load or shorten operations: a longer wait limit only hides the overload";
    /// Requests that were admitted from the queue had nearly expired.
    WaitTimeNearLimit = "wait_time_near_limit",
        "find out why slots come back late, before you raise the wait limit";
}

impl FindingCode {
    /// Returns whether the finding is about counts, and not about the present.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        use FindingCode::{
            AdaptiveLimitAtBound, ElevatedExpirationRate, ElevatedRejectionRate, FrequentQueueing, WaitTimeNearLimit,
        };
        let is_rate = matches!(self, FrequentQueueing | ElevatedRejectionRate | ElevatedExpirationRate);
        is_rate || matches!(self, AdaptiveLimitAtBound | WaitTimeNearLimit)
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One finding of a [`CapacityReport`](crate::CapacityReport).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The subject.
    pub code: FindingCode,
    /// How much it matters.
    pub severity: Severity,
    /// The finding in words, with the figures. For human readers; the wording may change.
    pub message: String,
}

impl Finding {
    /// Makes a finding, such as one of what surrounds a gate.
    #[must_use]
    pub const fn new(code: FindingCode, severity: Severity, message: String) -> Self {
        Finding { code, severity, message }
    }

    /// Returns what to do about the finding. For human readers; the wording may change.
    #[must_use]
    pub const fn recommendation(&self) -> &'static str {
        self.code.recommendation()
    }
}

/// Writes the severity, the code and the message.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.code, self.message)
    }
}
