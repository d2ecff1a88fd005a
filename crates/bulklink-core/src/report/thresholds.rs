//! The thresholds from which on there is a finding.

use super::CapacityReport;

/// Thresholds. A percentage is reached by exactly that share.
impl CapacityReport {
    /// The percentage of places taken from which on the waiting room is [nearly
    /// full](crate::FindingCode::WaitingRoomNearCapacity).
    pub const NEARLY_FULL_PERCENT: u32 = 80;

    /// The number of places below which a waiting room is never
    /// [large](crate::FindingCode::LargeWaitingRoom).
    pub const LARGE_WAITING_ROOM: usize = 100;

    /// The number of places per unit of capacity below which a waiting room is never
    /// [large](crate::FindingCode::LargeWaitingRoom).
    pub const LARGE_WAITING_ROOM_PER_UNIT: usize = 20;

    /// The number of requests below which nothing is reported about
    /// [queueing](crate::FindingCode::FrequentQueueing).
    pub const MIN_ATTEMPTS: u64 = 20;

    /// The percentage of requests from which on queueing is
    /// [frequent](crate::FindingCode::FrequentQueueing).
    pub const FREQUENT_QUEUEING_PERCENT: u32 = 50;

    /// The number of decisions below which nothing is reported about
    /// [rejections](crate::FindingCode::ElevatedRejectionRate).
    pub const MIN_DECISIONS: u64 = 20;

    /// The percentage of decisions from which on rejections are a warning.
    pub const REJECTION_WARNING_PERCENT: u32 = 5;

    /// The percentage of decisions from which on rejections are critical.
    pub const REJECTION_CRITICAL_PERCENT: u32 = 20;

    /// The number of queued requests below which nothing is reported about
    /// [expirations](crate::FindingCode::ElevatedExpirationRate).
    pub const MIN_QUEUED: u64 = 10;

    /// The percentage of queued requests from which on expirations are a warning.
    pub const EXPIRATION_WARNING_PERCENT: u32 = 10;

    /// The percentage of queued requests from which on expirations are critical.
    pub const EXPIRATION_CRITICAL_PERCENT: u32 = 30;

    /// The number of requests admitted from the queue below which nothing is reported about
    /// [waits](crate::FindingCode::WaitTimeNearLimit).
    pub const MIN_WAITS: u64 = 5;

    /// The percentage of the wait limit from which on the mean wait is
    /// [near](crate::FindingCode::WaitTimeNearLimit) it.
    pub const AVERAGE_WAIT_PERCENT: u32 = 75;

    /// The percentage of the wait limit from which on the longest wait is
    /// [near](crate::FindingCode::WaitTimeNearLimit) it.
    pub const LONGEST_WAIT_PERCENT: u32 = 95;
}
