//! A part of a whole, compared without rounding.

/// `part` of `whole`, which is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) part: u128,
    pub(super) whole: u128,
}

impl Share {
    /// Creates a share, or `None` if the whole is zero.
    pub(super) fn of(part: u128, whole: u128) -> Option<Self> {
        (whole > 0).then_some(Share { part, whole })
    }

    /// Returns whether the part is at least `percent` hundredths of the whole. It multiplies
    /// instead of dividing, so that exactly 80 % are at least 80 %.
    ///
    /// A product that exceeds 128 bits, as with a limit of `Duration::MAX`, saturates.
    pub(super) fn is_at_least(self, percent: u32) -> bool {
        self.part.saturating_mul(100) >= self.whole.saturating_mul(percent.into())
    }

    /// Returns the share in hundredths, rounded down, so that no percentage is shown that was not
    /// reached.
    pub(super) fn percent(self) -> u128 {
        self.part.saturating_mul(100) / self.whole
    }

    /// Returns the share as a fraction, for human readers and plots; no rule uses it.
    #[expect(clippy::cast_precision_loss)]
    pub(super) fn ratio(self) -> f64 {
        self.part as f64 / self.whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_met_exactly() {
        let share = |part| Share::of(part, 30).expect("a whole");
        assert_eq!([23, 24, 25].map(|part| share(part).is_at_least(80)), [false, true, true]);
        assert_eq!([23, 24, 25].map(|part| share(part).percent()), [76, 80, 83]);
        assert!(share(30).is_at_least(100) && Share::of(1, 1).is_some());
        assert_eq!(Share::of(1, 0), None);
    }

    #[test]
    fn products_beyond_128_bits_do_not_wrap_to_a_wrong_result() {
        let share = |part, whole| Share::of(part, whole).expect("a whole");
        assert!(!share(1 << 121, 1 << 122).is_at_least(75), "a half");
        assert!(share(1 << 127, 1 << 64).is_at_least(75));
    }
}
