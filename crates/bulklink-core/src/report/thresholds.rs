//! From where on something is worth a finding.

use super::CapacityReport;
#[cfg(doc)]
use super::FindingCode;

/// Thresholds. A percentage is met by what is exactly as much.
impl CapacityReport {
    /// From this many per cent of its places on, the waiting room is
    /// [nearly full](FindingCode::WaitingRoomNearCapacity).
    pub const NEARLY_FULL_PERCENT: u32 = 80;

    /// A waiting room of fewer operations is never [large](FindingCode::LargeWaitingRoom).
    pub const LARGE_WAITING_ROOM: usize = 100;

    /// A waiting room of fewer operations per unit of capacity is never [large](FindingCode::LargeWaitingRoom).
    pub const LARGE_WAITING_ROOM_PER_UNIT: usize = 20;

    /// Of fewer requests, nothing is said about [queueing](FindingCode::FrequentQueueing).
    pub const MIN_ATTEMPTS: u64 = 20;

    /// From this many per cent on, queueing is [frequent](FindingCode::FrequentQueueing).
    pub const FREQUENT_QUEUEING_PERCENT: u32 = 50;

    /// Of fewer decisions, nothing is said about [rejections](FindingCode::ElevatedRejectionRate).
    pub const MIN_DECISIONS: u64 = 20;

    /// From this many per cent on, rejections are worth a warning.
    pub const REJECTION_WARNING_PERCENT: u32 = 5;

    /// From this many per cent on, rejections are critical.
    pub const REJECTION_CRITICAL_PERCENT: u32 = 20;

    /// Of fewer requests that queued, nothing is said about [expirations](FindingCode::ElevatedExpirationRate).
    pub const MIN_QUEUED: u64 = 10;

    /// From this many per cent on, expirations are worth a warning.
    pub const EXPIRATION_WARNING_PERCENT: u32 = 10;

    /// From this many per cent on, expirations are critical.
    pub const EXPIRATION_CRITICAL_PERCENT: u32 = 30;

    /// Of fewer requests admitted from the queue, nothing is said about [waits](FindingCode::WaitTimeNearLimit).
    pub const MIN_WAITS: u64 = 5;

    /// From this many per cent of the wait limit on, the mean wait is [near](FindingCode::WaitTimeNearLimit) it.
    pub const AVERAGE_WAIT_PERCENT: u32 = 75;

    /// From this many per cent of the wait limit on, the longest wait is [near](FindingCode::WaitTimeNearLimit) it.
    pub const LONGEST_WAIT_PERCENT: u32 = 95;
}
