//! One thing that the figures say: a code, a severity, a text and advice.

use alloc::string::String;
use core::fmt;

/// How much a [`Finding`] or a [`CapacityReport`](crate::CapacityReport) matters. The order is that of urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Nothing was found.
    Ok,
    /// Good to know; nothing is wrong at this moment.
    Notice,
    /// Somebody should look at it.
    Warning,
    /// Callers are being turned away, or are about to be.
    Critical,
}

impl Severity {
    /// Its name in lower case, which never changes.
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

/// Declares [`FindingCode`], so that no code can be without its name and its advice.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal, $advice:literal;)*) => {
        /// What a [`Finding`] is about. A report has each code at most once, in this order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingCode {
            $($(#[$doc])* $code,)*
        }

        impl FindingCode {
            /// Its name in snake case, for machines. It never changes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(FindingCode::$code => $name,)*
                }
            }

            /// What to do about it.
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
    /// Closed, and operations still run.
    ClosedWithActiveWork = "closed_with_active_work",
        "wait until it has drained before what it protects is shut down";
    /// More is in use than the capacity, which was reduced.
    ActiveWorkAboveCapacity = "active_work_above_capacity",
        "let running operations end: until enough of them have, nobody is admitted";
    /// Nobody can be admitted at this moment, and there is room to wait or nobody may.
    ExecutionFull = "execution_full",
        "see whether it lasts, and raise the capacity only if what is protected can take more";
    /// Nobody can be admitted, and the waiting room is nearly full.
    WaitingRoomNearCapacity = "waiting_room_near_capacity",
        "find out what slows operations down or sends more of them, before callers are turned away";
    /// Nobody can be admitted, and the waiting room is full.
    WaitingRoomFull = "waiting_room_full",
        "send less or make operations shorter, and raise the capacity only if what is protected can take more";
    /// Operations may wait, and as long as it takes.
    UnboundedQueueWait = "unbounded_queue_wait",
        "set a wait limit if callers give up some time, or slots will be spent on answers that nobody waits for";
    /// Far more operations may wait than can run.
    LargeWaitingRoom = "large_waiting_room",
        "make sure that callers can bear the wait behind a full waiting room, or make it smaller";
    /// A large part of those who came had to queue.
    FrequentQueueing = "frequent_queueing",
        "compare how many calls are made at once with how many can run, and how long each takes";
    /// A large part of those who came were turned away for want of capacity.
    ElevatedRejectionRate = "elevated_rejection_rate",
        "see whether they found no room or waited too long, before any limit is changed";
    /// A large part of those who queued ran out of time there.
    ElevatedExpirationRate = "elevated_expiration_rate",
        "send less or make operations shorter: a longer wait limit alone hides the overload";
    /// Those who were admitted from the queue nearly ran out of time.
    WaitTimeNearLimit = "wait_time_near_limit",
        "find out why slots come back late, before the wait limit is raised";
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that the figures say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about.
    pub code: FindingCode,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, with the figures. For people; the wording may change.
    pub message: String,
}

impl Finding {
    /// What to do about it. For people; the wording may change.
    #[must_use]
    pub const fn recommendation(&self) -> &'static str {
        self.code.recommendation()
    }
}

/// The severity, the code and the message.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.code, self.message)
    }
}
