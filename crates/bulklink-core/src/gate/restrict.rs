//! The restriction: how much of the capacity a controller leaves to the gate.

use super::Gate;
#[cfg(feature = "restriction")]
use crate::Instant;

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
    pub const fn new(units: usize, by: &'static str) -> Self {
        Restriction { by, units, alone: units }
    }

    /// Lets a request that costs more, up to this, be admitted while nothing is in use; but not if
    /// no units may be in use.
    #[must_use]
    pub const fn with_alone(mut self, cost: usize) -> Self {
        self.alone = cost;
        self
    }
}

impl<W> Gate<W> {
    /// Sets a restriction at `now`, or lifts it: from then on, no request is admitted by which more
    /// would be in use than it allows, whatever the capacity is. Returns the number of waiters that
    /// the change admits.
    ///
    /// Running operations go on, also beyond it. Costs are compared with the capacity as before. So
    /// a request that costs more than the restriction waits, and those after it too, unless it may
    /// run [alone](Restriction::alone). Changes nothing after closing.
    #[cfg(feature = "restriction")]
    #[cold]
    pub fn restrict(&mut self, restriction: Option<Restriction>, now: Instant) -> usize {
        if self.closed {
            return 0;
        }
        self.advance_to(now);
        if restriction.is_some() || self.controlled.is_some() {
            self.controlled_mut().restriction = restriction;
        }
        self.bind();
        let waited = self.queue.len();
        self.advance_to(now);
        (waited - self.queue.len()) as usize
    }

    /// Returns the restriction, if it is below the capacity.
    #[cfg(feature = "restriction")]
    #[must_use]
    pub fn restriction(&self) -> Option<Restriction> {
        self.kept().copied().filter(|restriction| restriction.units < self.capacity as usize)
    }

    /// Returns the units that requests can get, as [`Snapshot::free`](crate::Snapshot::free) does.
    #[cfg(feature = "restriction")]
    #[must_use]
    pub fn free(&self) -> usize {
        self.free_units() as usize
    }

    #[cfg(feature = "restriction")]
    #[inline]
    fn kept(&self) -> Option<&Restriction> {
        self.controlled.as_ref()?.restriction.as_ref()
    }

    #[cfg(not(feature = "restriction"))]
    #[inline]
    fn kept(&self) -> Option<&Restriction> {
        self.controlled.as_ref().map(|(none, _)| match *none {})
    }

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

    /// Works out what admission sees, after a setting has changed.
    #[cold]
    #[inline(never)]
    pub(super) fn bind(&mut self) {
        self.admissible = match self.kept() {
            _ if self.paused => 0,
            Some(restriction) => self.within_capacity(restriction.units),
            None => self.capacity,
        };
        self.rejecting = self.rejecting_flag();
    }

    fn within_capacity(&self, units: usize) -> u32 {
        u32::try_from(units).unwrap_or(u32::MAX).min(self.capacity)
    }
}
