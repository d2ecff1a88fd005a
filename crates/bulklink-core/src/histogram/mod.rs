//! Histograms of durations, with fixed memory.

mod buckets;
mod counts;

use alloc::boxed::Box;
use core::fmt;
use core::ops::AddAssign;
use core::time::Duration;

pub(crate) use counts::Tally;
pub use counts::{CountBuckets, SharedCounts};

use crate::instant::nanos;
use buckets::{BUCKETS, bucket_of, upper_edge};

/// How many durations there were of each length, from 1 µs to 1 h.
///
/// Each decade has 35 buckets: from 1 to 2 in steps of 0.1, from 2 to 5 in steps of 0.2, from 5 to
/// 10 in steps of 0.5. So a bucket is at most 10 % wide, and 1, 2 and 5 of every decade are exact
/// edges. One more bucket has all that is up to 1 µs, and another all that is longer than 1 h. A
/// bucket includes its upper edge.
///
/// It takes about 2.7 KB, once. To read one again and again, reuse it.
///
/// ```
/// use bulklink_core::{Answer, Gate, Histogram, Instant, Limits, Request};
/// use core::time::Duration;
///
/// let mut gate: Gate<()> = Gate::new(Limits::new(1).with_waiting_room(1))?;
/// let request = Request::new();
/// for wait in [Duration::from_millis(3), Duration::from_millis(40)] {
///     let now = Instant::EPOCH;
///     let Answer::Granted(first) = gate.enter(&request, Some(now))? else { panic!() };
///     let Answer::Queued(ticket) = gate.enter(&request, Some(now))? else { panic!() };
///     gate.release(first);
///     gate.advance(Some(now + wait));
///     let Answer::Granted(second) = gate.collect(ticket) else { panic!() };
///     gate.release(second);
/// }
///
/// let mut waits = Histogram::new();
/// gate.read_waits(&mut waits);
/// assert_eq!(waits.count(), 2);
/// assert_eq!(waits.count_up_to(Duration::from_millis(5)), 1);
/// assert_eq!(waits.quantile(0.5), Some(Duration::from_millis(3)));
/// # Ok::<(), bulklink_core::InvalidArgument>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
}

impl Histogram {
    /// The number of buckets.
    pub const BUCKETS: usize = BUCKETS;

    /// Creates an empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Histogram { counts: Box::new([0; BUCKETS]) }
    }

    /// Forgets all durations.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Counts a duration, for a histogram that is made by hand.
    pub fn record(&mut self, duration: Duration) {
        let count = &mut self.counts[bucket_of(nanos(duration))];
        *count = count.saturating_add(1);
    }

    /// Replaces all counts.
    pub(crate) fn fill(&mut self, count: impl Fn(usize) -> u64) {
        for (bucket, place) in self.counts.iter_mut().enumerate() {
            *place = count(bucket);
        }
    }

    /// Returns the number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Returns whether there is no duration.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns the number of durations that are at most this long.
    ///
    /// It is exact for the edge of a bucket, such as 1, 2 and 5 of every decade. For another
    /// duration, those are counted that are at most as long as the edge before it.
    #[must_use]
    pub fn count_up_to(&self, edge: Duration) -> u64 {
        let up_to = self.buckets().take_while(|&(upper, _)| upper <= edge);
        up_to.fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Returns the shortest edge of a bucket that at least this part of the durations does not
    /// exceed: 0.5 for the median, 0.99 for the 99th percentile. `None` without any duration.
    ///
    /// It is at most 10 % longer than the exact quantile; for one above 1 h, it is
    /// [`Duration::MAX`]. A part below 0 counts as 0, which is the shortest duration; one above 1
    /// counts as 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rank among more than 2^53 need not be exact")]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to the count; not a number is 0"
    )]
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let count = self.count();
        let exact = part.clamp(0.0, 1.0) * count as f64;
        let below = exact as u64;
        let rank = if (below as f64) < exact { below + 1 } else { below }.clamp(1, count.max(1));
        let mut counted = 0_u64;
        let mut at_rank = self.buckets().filter(|&(_, count)| {
            counted = counted.saturating_add(count);
            counted >= rank
        });
        at_rank.next().map(|(upper, _)| upper)
    }

    /// Returns the upper edge of each bucket, which it includes, and the number of durations in it,
    /// the shortest first. The edge of the last one is [`Duration::MAX`].
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = (Duration, u64)> + '_ {
        self.counts.iter().enumerate().map(|(bucket, &count)| {
            let edge = if bucket == BUCKETS - 1 { Duration::MAX } else { Duration::from_nanos(upper_edge(bucket)) };
            (edge, count)
        })
    }

    /// Returns the durations since an earlier reading of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut since = self.clone();
        for (count, before) in since.counts.iter_mut().zip(earlier.counts.iter()) {
            *count = count.saturating_sub(*before);
        }
        since
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// Adds the durations of another histogram.
impl AddAssign<&Histogram> for Histogram {
    fn add_assign(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count = count.saturating_add(*more);
        }
    }
}

/// Shows the buckets that are not empty.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets().filter(|&(_, count)| count > 0)).finish()
    }
}
