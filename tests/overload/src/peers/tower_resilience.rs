//! The algorithms of tower-resilience-adaptive 0.14: the crate itself.

use std::{fmt, ops::RangeInclusive, time::Duration};

use tower_resilience_adaptive::{Aimd, ConcurrencyAlgorithm, Gradient2, Vegas};

use super::{Controller, Outcome, Sample, nanos};

/// An algorithm of the crate, fed as by its `AdaptiveService`.
///
/// That gives it the calls in flight at the end of a call, only if it succeeded. An error is a
/// failure, as an overloaded call is here; an ignored call is dropped. All settings but start and
/// bounds are the documented defaults.
pub struct Tower<Algorithm>(Algorithm);

impl Tower<Aimd> {
    /// `Aimd`: one more for each success, half for each failure. A call above the threshold, in
    /// seconds, counts as a failure: in the table, the deadline of the calls (0.1 s by default).
    ///
    /// # Panics
    ///
    /// With empty bounds.
    pub fn aimd(start: u32, bounds: RangeInclusive<u32>, threshold: f64) -> Self {
        let (min, max) = ends(bounds);
        let builder = Aimd::builder().initial_limit(start as usize).min_limit(min).max_limit(max);
        Self(builder.latency_threshold(duration(threshold)).build().expect("bounds"))
    }
}

impl Tower<Vegas> {
    /// `Vegas`: at each success, one more or one less by the calls that queue, which it estimates
    /// from the least hold ever; half for each failure.
    ///
    /// # Panics
    ///
    /// With empty bounds.
    pub fn vegas(start: u32, bounds: RangeInclusive<u32>) -> Self {
        let (min, max) = ends(bounds);
        let builder = Vegas::builder().initial_limit(start as usize).min_limit(min).max_limit(max);
        Self(builder.build().expect("bounds"))
    }
}

impl Tower<Gradient2> {
    /// `Gradient2`: like that of Netflix, with the logarithm of the limit in place of 4, and half
    /// for each failure.
    ///
    /// # Panics
    ///
    /// With empty bounds.
    pub fn gradient2(start: u32, bounds: RangeInclusive<u32>) -> Self {
        let (min, max) = ends(bounds);
        let builder = Gradient2::builder().initial_limit(start as usize);
        Self(builder.min_limit(min).max_limit(max).build().expect("bounds"))
    }
}

impl<Algorithm: ConcurrencyAlgorithm> Controller for Tower<Algorithm> {
    fn sample(&mut self, sample: &Sample) {
        match sample.outcome {
            Outcome::Success => {
                let hold = duration(sample.hold);
                self.0.record_success_with_load(hold, sample.in_flight_end as usize);
            }
            Outcome::Overload => self.0.record_failure(),
            Outcome::Ignore => self.0.record_dropped(),
        }
    }

    fn limit(&self) -> u32 {
        u32::try_from(self.0.limit()).unwrap_or(u32::MAX)
    }
}

impl<Algorithm: ConcurrencyAlgorithm> fmt::Debug for Tower<Algorithm> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tower").field("limit", &self.0.limit()).finish_non_exhaustive()
    }
}

fn ends(bounds: RangeInclusive<u32>) -> (usize, usize) {
    (*bounds.start() as usize, *bounds.end() as usize)
}

fn duration(seconds: f64) -> Duration {
    Duration::from_nanos(nanos(seconds).max(0).unsigned_abs())
}
