//! Grants, in one register each.

use core::num::{NonZeroU32, NonZeroU64};

use crate::coarse::{FRACTION, pack, unpack};
use crate::fork::Fork;
use crate::slab::Place;

/// The right to run one operation, until it is [released](crate::Gate::release). It can be neither
/// copied nor forged.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a forgotten grant keeps its units for good"]
pub struct Grant {
    /// In the lower half, a number that is odd, `cost << 1 | 1`, if the gate issued the grant; two,
    /// if a word did; another even number, `place << 2`, if the grant is recorded in
    /// [`Calls`](crate::Calls). In the upper half, how long the request waited, packed. One number,
    /// because two halves that were just written are slow to read as one; non-zero, so that
    /// `Option<Grant>` takes no more room.
    code: NonZeroU64,
}

impl Grant {
    /// A grant of one unit, which [`Word::acquire`](crate::plumbing::Word::acquire) has taken.
    pub(crate) const BY_WORD: Grant = Grant { code: NonZeroU64::new(2).unwrap() };

    /// Creates a grant of `cost` units, which the gate has taken. Twice the cost fits, by
    /// [`LARGEST`](crate::invalid::LARGEST).
    #[inline]
    pub(crate) fn by_gate(cost: NonZeroU32, waited_nanos: u64) -> Grant {
        Grant::of(cost, pack(waited_nanos, FRACTION))
    }

    #[inline]
    pub(crate) fn of(cost: NonZeroU32, waited: u32) -> Grant {
        Grant::new(NonZeroU32::MIN | cost.get() << 1, waited)
    }

    #[inline]
    fn new(code: NonZeroU32, waited: u32) -> Grant {
        Grant { code: NonZeroU64::from(code) | u64::from(waited) << 32 }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    const fn lower(&self) -> u32 {
        self.code.get() as u32
    }

    pub(crate) const fn waited(&self) -> u32 {
        (self.code.get() >> 32) as u32
    }

    /// Returns how long the request waited in the queue; zero if it was admitted immediately, or if
    /// its wait was not [measured](crate::Gate::measure_waits). It is rounded down by less than one
    /// part in 60 million.
    #[must_use]
    pub const fn waited_nanos(&self) -> u64 {
        unpack(self.waited(), FRACTION)
    }

    #[inline]
    pub(crate) const fn units(&self) -> u32 {
        self.lower() >> 1
    }

    /// Returns the number of units that the grant holds; `None` if it is
    /// [recorded](Grant::is_recorded), so that only [`Calls::cost`](crate::Calls::cost) knows.
    #[must_use]
    pub const fn cost(&self) -> Option<usize> {
        if self.is_recorded() { None } else { Some(self.units() as usize) }
    }

    /// Returns how to make the grant that stands for this one, once that is recorded at a place.
    pub(crate) fn as_recorded(&self) -> impl Fn(Place) -> Grant + use<> {
        let waited = self.waited();
        // Memory runs out before 30 bits of places do.
        move |place| Grant::new(place.number().saturating_mul(const { NonZeroU32::new(4).unwrap() }), waited)
    }

    /// Returns whether [`Calls`](crate::Calls) has a record of the grant:
    /// [`Calls::end`](crate::Calls::end) takes it back.
    #[must_use]
    #[inline]
    pub const fn is_recorded(&self) -> bool {
        self.lower() & 1 == 0 && !self.is_by_word()
    }

    pub(crate) fn place(&self) -> Option<Place> {
        if self.is_recorded() { Place::from_number(self.lower() >> 2) } else { None }
    }

    /// Returns whether a [`Word`](crate::plumbing::Word) issued the grant. If so, a word can
    /// probably take it back without asking the gate.
    #[must_use]
    #[inline]
    pub const fn is_by_word(&self) -> bool {
        self.code.get() == Grant::BY_WORD.code.get()
    }
}

impl Fork for Grant {
    fn fork(&self) -> Self {
        Grant { ..*self }
    }
}
