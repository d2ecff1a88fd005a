//! The time for which units were in use.

use crate::Instant;
#[cfg(feature = "histogram")]
use crate::totals::Sum;

/// The units in use and the capacity, each summed over time: three units for two seconds are six
/// unit-seconds. Not in a build without figures, where it takes no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    #[cfg(feature = "histogram")]
    pub(crate) in_use: Sum,
    #[cfg(feature = "histogram")]
    pub(crate) offered: Sum,
    /// For how long they are summed.
    #[cfg(feature = "histogram")]
    nanos: u64,
    /// The latest time up to which they are summed: an earlier reading of a clock adds nothing. The
    /// epoch, which stands for no time, until there is one.
    #[cfg(feature = "histogram")]
    until: Instant,
    /// The units in use, and offered, from then on.
    #[cfg(feature = "histogram")]
    units: (u32, u32),
}

#[cfg(feature = "histogram")]
impl Busy {
    pub(crate) const NONE: Busy =
        Busy { in_use: Sum::of(0), offered: Sum::of(0), nanos: 0, until: Instant::EPOCH, units: (0, 0) };

    /// Sums up to `now`, from which on this much is in use, of this capacity.
    #[inline]
    pub(crate) fn note(&mut self, in_use: u32, capacity: u32, now: Instant) {
        self.pass(now);
        self.units = (in_use, capacity);
    }

    /// Sums up to `now`, from which on this much less is in use.
    #[inline]
    pub(crate) fn give_back(&mut self, units: u32, now: Instant) {
        self.pass(now);
        self.units.0 = self.units.0.saturating_sub(units);
    }

    /// Returns the sums up to `now`.
    pub(crate) fn at(mut self, now: Instant) -> Busy {
        self.pass(now);
        self
    }

    /// Returns the sums since an earlier time.
    pub(crate) fn since(self, earlier: Busy) -> Busy {
        Busy {
            in_use: self.in_use.since(earlier.in_use),
            offered: self.offered.since(earlier.offered),
            nanos: self.nanos.saturating_sub(earlier.nanos),
            until: self.until,
            units: self.units,
        }
    }

    /// Returns the mean number of units in use, of sums since an earlier time.
    pub(crate) fn mean_in_use(&self) -> Option<f64> {
        ratio(self.in_use.nanos(), self.nanos.into())
    }

    /// Returns the part of the capacity that was in use, of sums since an earlier time.
    pub(crate) fn utilization(&self) -> Option<f64> {
        ratio(self.in_use.nanos(), self.offered.nanos())
    }

    #[inline]
    fn pass(&mut self, now: Instant) {
        if now <= self.until {
            return;
        }
        // The first instant that is known begins the sums: how long the units were in use before is
        // not, and the time from the epoch to a clock's present can be centuries.
        if self.until > Instant::EPOCH {
            let (nanos, (in_use, capacity)) = (now.nanos_since(self.until), self.units);
            self.in_use.add(u128::from(in_use) * u128::from(nanos));
            self.offered.add(u128::from(capacity) * u128::from(nanos));
            self.nanos = self.nanos.saturating_add(nanos);
        }
        self.until = now;
    }
}

#[cfg(feature = "histogram")]
#[expect(clippy::cast_precision_loss, reason = "a ratio need not be exact")]
fn ratio(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(not(feature = "histogram"))]
#[expect(clippy::unused_self, reason = "as with the feature")]
impl Busy {
    pub(crate) const NONE: Busy = Busy {};

    pub(crate) fn note(&mut self, _in_use: u32, _capacity: u32, _now: Instant) {}

    pub(crate) fn give_back(&mut self, _units: u32, _now: Instant) {}

    pub(crate) fn at(self, _now: Instant) -> Busy {
        self
    }

    pub(crate) const fn since(self, _earlier: Busy) -> Busy {
        self
    }
}
