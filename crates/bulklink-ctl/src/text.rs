//! How reports look to people.

/// Colours, where they are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// For what is as usual.
    Plain,
    /// For headings.
    Bold,
    /// For what limits calls, such as processes that wait.
    Yellow,
    /// For what is wrong.
    Red,
}

/// A report as text. It ends with the end of a line.
pub(crate) trait Text {
    /// All of it, with colours or without.
    fn text(&self, colours: bool) -> String;

    /// The essence on one line, without its end.
    fn line(&self) -> String;
}

/// A number of things.
pub(crate) fn count(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ if thing.ends_with('s') => format!("{number} {thing}es"),
        _ => format!("{number} {thing}s"),
    }
}

/// A time in its largest unit and the next one, rounded down.
pub(crate) fn time(millis: u64) -> String {
    let parts = |number: u64, unit: &str, rest: u64, small: &str| match rest {
        0 => format!("{number} {unit}"),
        rest => format!("{number} {unit} {rest} {small}"),
    };
    let (seconds, minutes, hours) = (millis / 1000, millis / 60_000, millis / 3_600_000);
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 if millis % 1_000 < 100 => format!("{seconds} s"),
        1_000..60_000 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60_000..3_600_000 => parts(minutes, "min", seconds % 60, "s"),
        3_600_000..86_400_000 => parts(hours, "h", minutes % 60, "min"),
        _ => parts(hours / 24, "d", hours % 24, "h"),
    }
}

/// A time in milliseconds since 1970, to the second.
pub(crate) fn date(millis: u64) -> String {
    let seconds = millis / 1000;
    let (days, hour, minute, second) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    // Years that begin in March have their leap day at the end; 400 of them have 146,097 days.
    let since = days + 719_468;
    let (era, day) = (since / 146_097, since % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A text as a terminal may show it: what controls it or is invisible is escaped, and so is the
/// backslash, so that two texts never look the same.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::new();
    for char in text.chars() {
        match char {
            '\\' => shown.push_str(r"\\"),
            char if is_hidden(char) => shown.extend(char.escape_unicode()),
            char => shown.push(char),
        }
    }
    shown
}

/// Whether a character controls the terminal or the direction of the text, or cannot be seen.
pub(crate) fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(char, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_one_unit_or_two() {
        for (millis, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (59_999, "59.9 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min 59 s"),
            (3_600_000, "1 h"),
            (86_399_999, "23 h 59 min"),
            (86_400_000, "1 d"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(time(millis), text);
        }
    }

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds * 1000), text);
        }
    }

    #[test]
    fn numbers_have_a_singular_and_a_plural() {
        let texts = [(0, "unit"), (1, "process"), (2, "process")].map(|(number, thing)| count(number, thing));
        assert_eq!(texts, ["0 units", "1 process", "2 processes"]);
    }
}
