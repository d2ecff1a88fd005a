//! Durations as messages show them.

use core::fmt;
use core::time::Duration;

/// Displays a duration rounded to three significant digits, with its unit: `51.3 ms`, `2 s`.
///
/// Whole seconds are never rounded away. It is for messages; a log for machines needs the number.
///
/// ```
/// use bulklink_core::Rounded;
/// use core::time::Duration;
///
/// assert_eq!(Rounded(Duration::from_nanos(1_249)).to_string(), "1.25 µs");
/// assert_eq!(Rounded(Duration::from_millis(90_061)).to_string(), "90.1 s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded(pub Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u128); 4] = [("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
        let nanos = self.0.as_nanos();
        let rounded = UNITS.into_iter().find_map(|(name, unit)| {
            // One of a thousand or more, once it is rounded, is shown in the next unit.
            let fits = |&(value, step): &(u128, u128)| value * step < 1_000 * unit || name == "s";
            let steps = [unit / 100, unit / 10, unit].into_iter().filter(|step| *step > 0);
            // The finest step that leaves three digits.
            let mut values = steps.map(|step| ((nanos + step / 2) / step, step));
            values.find(|&(value, step)| value < 1_000 || step == unit).filter(fits).map(|found| (found, name, unit))
        });
        let Some(((value, step), name, unit)) = rounded else { unreachable!("any number of seconds is shown") };
        let parts = unit / step;
        let (whole, fraction) = (value / parts, value % parts);
        match (parts, fraction) {
            (_, 0) => write!(f, "{whole} {name}"),
            (100, _) if fraction % 10 == 0 => write!(f, "{whole}.{} {name}", fraction / 10),
            (100, _) => write!(f, "{whole}.{fraction:02} {name}"),
            _ => write!(f, "{whole}.{fraction} {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_duration_is_rounded_to_three_digits_of_the_largest_unit_that_it_fills() {
        for (nanos, text) in [
            (0, "0 ns"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (1_004, "1 µs"),
            (1_005, "1.01 µs"),
            (1_249, "1.25 µs"),
            (9_994, "9.99 µs"),
            (9_995, "10 µs"),
            (99_949, "99.9 µs"),
            (99_950, "100 µs"),
            (999_499, "999 µs"),
            (999_500, "1 ms"),
            (51_284_113, "51.3 ms"),
            (50_000_000, "50 ms"),
            (2_100_000_000, "2.1 s"),
            (2_000_000_000, "2 s"),
            (999_999_999_999, "1000 s"),
            (3_600_400_000_000, "3600 s"),
        ] {
            assert_eq!(Rounded(Duration::from_nanos(nanos)).to_string(), text);
        }
        assert_eq!(Rounded(Duration::MAX).to_string(), "18446744073709551616 s");
    }
}
