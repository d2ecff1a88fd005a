//! The counters of a gate's histogram, in the least memory, and those that many gates share.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::panic::RefUnwindSafe;

use super::Histogram;
use super::buckets::{BUCKETS, bucket_of};

/// A counter for each bucket, of 48 bits: together about 2 KB. One more than there are, so that the
/// bucket of a duration is in range without a check.
#[derive(Clone)]
struct Counts {
    low: [u32; BUCKETS + 1],
    high: [u16; BUCKETS + 1],
}

const _: () = assert!(size_of::<Counts>() <= 2_048);

impl Counts {
    const NONE: Counts = Counts { low: [0; BUCKETS + 1], high: [0; BUCKETS + 1] };

    #[inline]
    fn count(&mut self, bucket: usize) {
        let (low, carry) = self.low[bucket].overflowing_add(1);
        self.low[bucket] = low;
        if carry {
            self.carry(bucket);
        }
    }

    /// Once in 2³² counts.
    #[cold]
    #[inline(never)]
    fn carry(&mut self, bucket: usize) {
        self.high[bucket] = self.high[bucket].wrapping_add(1);
    }
}

/// Counts the durations of many gates together. The front implements it, for gates that several
/// threads work with at a time.
pub trait CountBuckets: fmt::Debug + Send + Sync + RefUnwindSafe {
    /// Counts a duration in this bucket, which is less than [`Histogram::BUCKETS`].
    fn count(&self, bucket: usize);
}

/// Counters of many gates. Each gate has one word of them.
pub type SharedCounts = Arc<Box<dyn CountBuckets>>;

/// A histogram that takes memory from the first duration on, or is shared.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    own: Option<Box<Counts>>,
    shared: Option<SharedCounts>,
}

impl Tally {
    pub(crate) const fn new() -> Self {
        Tally { own: None, shared: None }
    }

    pub(crate) fn share(&mut self, counts: SharedCounts) {
        *self = Tally { own: None, shared: Some(counts) };
    }

    #[inline]
    pub(crate) fn count(&mut self, nanos: u64) {
        match &mut self.own {
            Some(counts) => counts.count(bucket_of(nanos)),
            None => self.count_elsewhere(nanos),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_elsewhere(&mut self, nanos: u64) {
        let bucket = bucket_of(nanos);
        match &self.shared {
            Some(counts) => counts.count(bucket),
            None => self.own.insert(Box::new(Counts::NONE)).count(bucket),
        }
    }

    /// Replaces the contents of the histogram by these counts. Nothing, if the counts are
    /// shared.
    pub(crate) fn read(&self, into: &mut Histogram) {
        match &self.own {
            Some(counts) => into.fill(|bucket| u64::from(counts.high[bucket]) << 32 | u64::from(counts.low[bucket])),
            None => into.clear(),
        }
    }
}

/// Leaves the counters out: they are hundreds.
impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally").field("is_begun", &self.own.is_some()).field("shared", &self.shared).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_carries_past_32_bits() {
        let mut tally = Tally::new();
        tally.count(1_500);
        tally.own.as_mut().expect("begun").low.fill(u32::MAX);
        tally.count(1_500);
        let mut read = Histogram::new();
        tally.read(&mut read);
        let counts: alloc::vec::Vec<_> = read.buckets().map(|(_, count)| count).collect();
        let counted = bucket_of(1_500);
        assert_eq!((counts[counted], counts[counted + 1]), (1 << 32, u64::from(u32::MAX)));
    }
}
