//! Durations in few bits, rounded down by little, where 64 bits do not fit.

/// A duration in three bytes, with a flag in the highest bit. It is rounded down by less than 2⁻¹⁷
/// of it. Requests and nodes of the queue have no room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coarse([u8; 3]);

const FLAG: u32 = 1 << 23;
const DEADLINE: u32 = FLAG - 1;
/// The precision of a wait in 32 bits.
pub(crate) const FRACTION: u32 = 26;
/// The precision in three bytes with a flag.
const COARSE_FRACTION: u32 = 17;

impl Coarse {
    /// No duration, and the flag not set.
    pub(crate) const NONE: Coarse = Coarse([0; 3]);

    /// No duration, and a deadline is the reason. No duration has this code.
    pub(crate) const DEADLINE: Coarse = Coarse::of(DEADLINE);

    /// Zero becomes one nanosecond.
    pub(crate) const fn new(nanos: u64, flag: bool) -> Self {
        Coarse::of(pack(if nanos == 0 { 1 } else { nanos }, COARSE_FRACTION)).flagged(flag)
    }

    pub(crate) const fn flagged(self, flag: bool) -> Self {
        Coarse::of(self.bits() & !FLAG | if flag { FLAG } else { 0 })
    }

    pub(crate) const fn is_flagged(self) -> bool {
        self.bits() & FLAG != 0
    }

    pub(crate) const fn nanos(self) -> Option<u64> {
        match self.bits() & !FLAG {
            0 | DEADLINE => None,
            code => Some(unpack(code, COARSE_FRACTION)),
        }
    }

    /// Whether there is a duration, or a deadline without one.
    pub(crate) const fn is_set(self) -> bool {
        self.bits() & !FLAG != 0
    }

    /// The inverse of [`bits`](Coarse::bits), which ignores the highest byte.
    pub(crate) const fn of(bits: u32) -> Self {
        let [a, b, c, _] = bits.to_le_bytes();
        Coarse([a, b, c])
    }

    /// Returns the bits, of which the highest byte is zero.
    pub(crate) const fn bits(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_le_bytes([a, b, c, 0])
    }
}

/// Packs a number as floating-point formats do: the exponent above `fraction` bits, of at most 26.
/// It is rounded down by less than 2 to the power of minus `fraction` of it, and exact below 2 to
/// the power of `fraction` + 1.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "shifted to fewer than 32 bits")]
pub(crate) const fn pack(exact: u64, fraction: u32) -> u32 {
    let shift = (u64::BITS - exact.leading_zeros()).saturating_sub(fraction + 1);
    // The highest bit of the second term is added to the exponent.
    (shift << fraction) + (exact >> shift) as u32
}

/// Returns the number that was packed, as it was rounded.
pub(crate) const fn unpack(code: u32, fraction: u32) -> u64 {
    let shift = (code >> fraction).saturating_sub(1);
    ((code - (shift << fraction)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> impl Iterator<Item = u64> {
        let around = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1, (1 << bit) / 3 * 2]);
        around.chain([55_000_000, u64::MAX - 1, u64::MAX]).filter(|&nanos| nanos > 0)
    }

    #[test]
    fn packed_numbers_are_rounded_down_by_little() {
        for (exact, fraction) in samples().flat_map(|exact| [(exact, FRACTION), (exact, COARSE_FRACTION)]) {
            let rounded = unpack(pack(exact, fraction), fraction);
            assert!(rounded <= exact && exact - rounded <= exact >> fraction, "{exact}: {rounded}");
            assert_eq!(unpack(pack(rounded, fraction), fraction), rounded, "rounding again changes nothing");
        }
        assert_eq!(unpack(pack(0, 26), 26), 0);
        assert!(samples().all(|exact| pack(exact, COARSE_FRACTION) < FLAG));
    }

    #[test]
    fn usual_durations_are_exact_in_32_bits() {
        for millis in (1..=4_000).chain([5_000, 10_000, 15_500, 30_000, 60_000]) {
            assert_eq!(unpack(pack(millis * 1_000_000, 26), 26), millis * 1_000_000);
        }
    }

    #[test]
    fn a_coarse_duration_keeps_its_flag() {
        for nanos in samples() {
            let coarse = Coarse::new(nanos, true);
            assert!(coarse.is_flagged() && !coarse.flagged(false).is_flagged());
            assert_eq!((coarse.bits() >> 24, Coarse::of(coarse.bits() | 0xFF << 24)), (0, coarse));
        }
        assert_eq!((Coarse::NONE.nanos(), Coarse::NONE.flagged(true).nanos()), (None, None));
        assert_eq!((Coarse::DEADLINE.nanos(), Coarse::DEADLINE.flagged(true).nanos()), (None, None));
        assert_eq!(
            (Coarse::NONE.flagged(true).is_set(), Coarse::DEADLINE.is_set(), Coarse::new(0, false).is_set()),
            (false, true, true)
        );
        assert!(pack(u64::MAX, COARSE_FRACTION) < DEADLINE);
        assert_eq!(Coarse::new(0, false).nanos(), Some(1));
    }
}
