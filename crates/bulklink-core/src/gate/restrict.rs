//! The restriction: how much of the capacity a controller leaves to the gate.

use super::Gate;
use crate::word::byte_of;

/// A bound on the units in use besides the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restriction {
    /// The name of the controller that sets it.
    pub by: &'static str,
    /// The units that may be in use together; with zero, no request is admitted.
    pub units: usize,
    /// The largest cost of a request that is admitted while nothing is in use, if it is more than
    /// `units`.
    pub alone: usize,
}

impl Restriction {
    /// Makes a bound that holds for each request alike.
    #[must_use]
    #[cfg(feature = "restriction")]
    pub const fn new(units: usize, by: &'static str) -> Self {
        Restriction { by, units, alone: units }
    }

    /// Lets a request that costs more, up to this, be admitted while nothing is in use; but not if
    /// no units may be in use.
    #[must_use]
    #[cfg(feature = "restriction")]
    pub const fn with_alone(mut self, cost: usize) -> Self {
        self.alone = cost;
        self
    }
}

impl<W> Gate<W> {
    /// Returns the cost of the head of the queue, if that is admitted because nothing is in use,
    /// and only because of that.
    #[inline]
    pub(super) fn cost_alone(&self) -> Option<u32> {
        self.kept()?;
        let (_, first) = self.queue.first()?;
        let cost = first.cost.get();
        (cost > self.free_units() && self.fits_alone(cost)).then_some(cost)
    }

    /// Returns whether a request of this cost is admitted because nothing is in use.
    #[cold]
    #[inline(never)]
    pub(super) fn fits_alone(&self, cost: u32) -> bool {
        self.kept().is_some_and(|restriction| {
            self.in_use == 0 && self.admissible > 0 && cost <= self.within_capacity(restriction.alone)
        })
    }

    /// Works out the capacity that admission sees, after a setting has changed.
    #[cold]
    #[inline(never)]
    pub(super) fn bind(&mut self) {
        let bound = self.bound();
        self.admissible = self.lent().map_or(bound, |lent| lent.min(bound));
        self.rejecting = byte_of(self.rejecting_flag());
    }

    /// Returns the capacity that admission sees, were no units lent.
    #[inline]
    pub(super) fn bound(&self) -> u32 {
        match self.kept() {
            _ if self.paused => 0,
            Some(restriction) => self.within_capacity(restriction.units),
            None => self.capacity,
        }
    }

    fn within_capacity(&self, units: usize) -> u32 {
        u32::try_from(units).unwrap_or(u32::MAX).min(self.capacity)
    }
}
