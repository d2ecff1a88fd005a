//! In place of a controller's part: without controllers, it takes neither memory nor code.

use core::convert::Infallible;
use core::marker::PhantomData;

use super::{Gate, Peaks, Restriction};
use crate::{EventFilter, EventKind};

/// The settings and watches of controllers.
pub(super) type Kept<W> = Option<(Infallible, PhantomData<W>)>;

#[expect(clippy::unused_self, reason = "with the feature it is used")]
impl<W> Gate<W> {
    #[inline]
    pub(super) fn kept(&self) -> Option<&Restriction> {
        self.controlled.as_ref().map(|(none, _)| match *none {})
    }

    #[inline]
    pub(super) fn lent(&self) -> Option<u32> {
        None
    }

    pub(super) fn lift(&mut self) {}

    #[inline]
    pub(super) fn with_watched(&mut self, recorded: EventFilter) -> EventFilter {
        recorded
    }

    pub(super) fn record_controlled(&mut self, _kind: EventKind, _units: usize, _waited_nanos: Option<u64>) {}

    #[inline]
    pub(super) fn count_refused(&mut self, _units: u64) {}

    #[inline]
    pub(super) fn peaks_of_all_time(&self) -> Peaks {
        self.peaks
    }
}
