//! Durations as people write them: `250ms`, `1.5s`, `2m 30s`.
//!
//! Our own, as the crates for this need the standard library, have no fractions, or bring signs,
//! calendars and time zones.

use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

use crate::Reserve;

/// The units from the largest to the smallest, with their nanoseconds. The second `µ` is the Greek
/// letter.
#[cfg(feature = "serde")]
const UNITS: [(&str, u128); 9] = [
    ("d", 86_400 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ns", 1),
];

/// The units that a duration is written in: those of the metric system, so that one number does.
const WRITTEN: [(&str, u128); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// The form of a duration.
#[cfg(feature = "serde")]
pub(super) const FORM: &str = "a duration with its unit, such as \"250ms\", \"1.5s\" or \"2m 30s\"";

/// Parses a duration; `None` if it is none, or is longer than a [`Duration`] can be.
#[cfg(feature = "serde")]
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let (mut nanos, mut smallest) = (0_u128, u128::MAX);
    // At least one part.
    loop {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(number);
        let after = after.trim_start();
        let name = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (name, after) = after.split_at(name);
        let (_, unit) = *UNITS.iter().find(|(unit, _)| *unit == name)?;
        // Each unit once, in order: `30s 2m` and `1s 1s` are rather mistakes.
        if unit >= smallest {
            return None;
        }
        nanos = nanos.checked_add(scaled(number, unit)?)?;
        (smallest, rest) = (unit, after.trim_start());
        if rest.is_empty() {
            let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
            return Some(Duration::new(seconds, u32::try_from(nanos % 1_000_000_000).ok()?));
        }
    }
}

/// Returns a decimal number of units in nanoseconds. `None` if it is no number, or no whole number
/// of nanoseconds.
#[cfg(feature = "serde")]
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').map_or((number, "0"), |parts| parts);
    // Neither `.5` nor `5.`, as in TOML.
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 15 {
        return None;
    }
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let denominator = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let scaled = parts * unit;
    (scaled % denominator == 0).then(|| u128::from(whole) * unit + scaled / denominator)
}

/// Displays a duration exactly, so that it can be parsed again: as one number where the parts below
/// it allow that, `250ms`, `1.5s`.
pub(crate) fn exact(duration: Duration) -> impl fmt::Display {
    Exact(duration)
}

/// Displays a reserve as a configuration has it.
pub(crate) fn reserve_text(reserve: Reserve) -> String {
    match reserve {
        Reserve::Fixed(fixed) => exact(fixed).to_string(),
        Reserve::None => "none".into(),
        _ => "learnt".into(),
    }
}

struct Exact(Duration);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        // The largest unit of which there is at least one.
        let found = WRITTEN.iter().find(|(_, unit)| nanos >= *unit);
        let Some((name, unit)) = found else { return f.write_str("0s") };
        let (whole, mut parts, mut step) = (nanos / unit, nanos % unit, unit / 10);
        write!(f, "{whole}")?;
        let mut separator = ".";
        while parts > 0 {
            write!(f, "{separator}{}", parts / step)?;
            (parts, step, separator) = (parts % step, step / 10, "");
        }
        f.write_str(name)
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn people_write_durations_in_many_ways() {
        for (text, nanos) in [
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("1h", 3_600_000_000_000),
            ("2m 30s", 150_000_000_000),
            ("2m30s", 150_000_000_000),
            (" 2 m 30 s ", 150_000_000_000),
            ("1d 0.5h", 88_200_000_000_000),
            ("1us", 1_000),
            ("1µs", 1_000),
            ("1\u{3bc}s", 1_000),
            ("0.001us", 1),
            ("7ns", 7),
            ("0s", 0),
            ("007.50ms", 7_500_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        let longest = Duration::from_secs(u64::MAX);
        assert_eq!(parse("18446744073709551615s"), Some(longest));
        assert_eq!(parse("18446744073709551615.999999999s"), Some(Duration::MAX));
    }

    #[test]
    fn what_is_no_duration_is_none() {
        for text in [
            "",
            " ",
            "5",
            "1.5",
            "s",
            "-1s",
            "+1s",
            "1 5s",
            "1.s",
            ".5s",
            "1..5s",
            "1.5.5s",
            "1e3s",
            "1min",
            "1S",
            "30s 2m",
            "1s 1s",
            "1us 1µs",
            "1s,",
            "1s 5",
            "0.5ns",
            "18446744073709551616s",
            "99999999999999999999s",
            "213503982334602d",
            "0.0000000000000001d",
            "1\u{0}s",
            "١s",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_exact_duration_can_be_parsed_again(seconds: u64, nanos in 0_u32..1_000_000_000, shift in 0_u32..64) {
            for duration in [Duration::new(seconds >> shift, nanos), Duration::from_nanos(seconds >> shift)] {
                prop_assert_eq!(parse(&exact(duration).to_string()), Some(duration));
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,20}|[0-9. dhmsnuµ]{0,20}") {
            let _ = parse(&text);
        }
    }

    #[test]
    fn an_exact_duration_is_short() {
        for (nanos, text) in [
            (0, "0s"),
            (250_000_000, "250ms"),
            (1_500_000_000, "1.5s"),
            (1_000_000_001, "1.000000001s"),
            (90_000_000_000, "90s"),
            (1_250, "1.25us"),
            (3, "3ns"),
        ] {
            assert_eq!(exact(Duration::from_nanos(nanos)).to_string(), text);
        }
    }
}
