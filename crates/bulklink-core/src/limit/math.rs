//! The logarithm and the exponential function, of the basic operations alone: so they are the same,
//! to the last bit, on all platforms.

use core::f64::consts::{LN_2, SQRT_2};

/// The natural logarithm of a finite number above zero; that of the least normal number for all
/// others.
pub(super) fn ln(number: f64) -> f64 {
    let number = if number.is_finite() { number.max(f64::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let (mantissa, exponent) = if mantissa > SQRT_2 { (mantissa / 2.0, exponent + 1) } else { (mantissa, exponent) };
    // Of |ratio| up to 0.172, the term after the last one is below the precision.
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let mut sum = 0.0;
    for divisor in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / divisor;
    }
    f64::from(exponent) * LN_2 + 2.0 * ratio * sum
}

/// `e` to this power, which counts as -700 at least and as 700 at most.
pub(super) fn exp(power: f64) -> f64 {
    let power = if power.is_nan() { 0.0 } else { power.clamp(-700.0, 700.0) };
    let halves = if power < 0.0 { -0.5 } else { 0.5 };
    #[expect(clippy::cast_possible_truncation, reason = "1,010 at most")]
    let doublings = (power / LN_2 + halves) as i64;
    #[expect(clippy::cast_precision_loss, reason = "1,010 at most")]
    let rest = power - doublings as f64 * LN_2;
    // Of |rest| up to 0.347, the term after the last one is below the precision.
    let sum = TERMS.iter().fold(0.0, |sum, term| sum * rest + term);
    #[expect(clippy::cast_sign_loss, reason = "13 at least")]
    let scale = f64::from_bits(((doublings + 1023) as u64) << 52);
    sum * scale
}

/// 1 ÷ 14! up to 1 ÷ 0!.
const TERMS: [f64; 15] = {
    let (mut terms, mut factorial, mut factor, mut place) = ([1.0; 15], 1.0, 1.0, 14);
    while place > 0 {
        factorial *= factor;
        factor += 1.0;
        place -= 1;
        terms[place] = 1.0 / factorial;
    }
    terms
};

#[cfg(test)]
mod tests {
    use core::f64::consts::{E, LN_2, LN_10};

    use super::{exp, ln};

    #[test]
    fn they_are_exact_to_the_last_digits() {
        assert_eq!((ln(1.0), exp(0.0), ln(2.0), ln(0.5)), (0.0, 1.0, LN_2, -LN_2));
        for (number, expected) in [(E, 1.0), (10.0, LN_10), (1e12, 12.0 * LN_10), (1e-12, -12.0 * LN_10)] {
            assert!((ln(number) - expected).abs() <= 4e-16 * expected.abs(), "ln {number}");
        }
        let mut number = 1e-12;
        while number < 1e12 {
            let (twice, back) = (ln(2.0 * number) - ln(number), exp(ln(number)));
            assert!((twice - LN_2).abs() <= 1e-14, "ln {number}");
            assert!((back / number - 1.0).abs() <= 1e-14, "exp(ln {number})");
            let power = ln(number) * 10.0;
            assert!((exp(power) * exp(-power) - 1.0).abs() <= 1e-14, "exp {power}");
            number *= 1.013;
        }
    }

    /// These bits must be the same on each platform.
    #[test]
    fn they_have_these_bits() {
        assert_eq!((ln(10.0).to_bits(), exp(1.0).to_bits()), (0x4002_6bb1_bbb5_5515, 0x4005_bf0a_8b14_576a));
    }

    #[test]
    fn each_argument_has_a_finite_value() {
        for number in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE / 4.0, f64::MAX] {
            assert!(ln(number).is_finite() && exp(number).is_finite(), "{number}");
        }
    }
}
