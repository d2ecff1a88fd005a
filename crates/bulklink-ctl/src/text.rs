//! The look of reports: styles, columns, numbers and times.

use std::fmt::Display;
use std::iter;
use std::ops::Range;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use jiff::fmt::friendly::SpanPrinter;
use jiff::{SignedDuration, Timestamp};
use tabled::builder::Builder;
use tabled::settings::object::Columns;
use tabled::settings::{Alignment, Padding, Style as Borders};

/// The style of headings.
pub(crate) const BOLD: Style = Style::new().bold();

/// The style of limits that are felt, such as a process that waits.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();

/// The style of faults.
pub(crate) const RED: Style = AnsiColor::Red.on_default();

/// A visible text.
pub(crate) fn cell(content: impl Display) -> String {
    visible(&content.to_string())
}

/// A visible text in a style.
pub(crate) fn styled(style: Style, content: impl Display) -> String {
    format!("{style}{}{style:#}", cell(content))
}

/// A visible text, or a dash.
pub(crate) fn known(content: Option<impl Display>) -> String {
    content.map_or_else(|| "-".to_owned(), cell)
}

/// Rows in columns below headings. Columns of numbers are flush right.
pub(crate) fn table(heads: &str, numbers: Range<usize>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let heads = heads.split(", ").map(|head| styled(BOLD, head)).collect();
    columns(iter::once(heads).chain(rows), numbers)
}

/// Facts about a thing, each on a line.
pub(crate) fn facts(label: &str, namespace: &str, facts: Vec<(&str, String)>) -> String {
    let rows = facts.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    format!("{} in {namespace}\n\n{}", styled(BOLD, label), columns(rows, 0..0))
}

fn columns(rows: impl Iterator<Item = Vec<String>>, numbers: Range<usize>) -> String {
    let mut table = rows.collect::<Builder>().build();
    table.with(Borders::empty()).with(Padding::new(0, 2, 0, 0)).modify(Columns::new(numbers), Alignment::right());
    table.to_string().lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A number of things.
pub(crate) fn count(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ if thing.ends_with('s') => format!("{number} {thing}es"),
        _ => format!("{number} {thing}s"),
    }
}

/// A time, without milliseconds from a minute on.
pub(crate) fn time(millis: u64) -> String {
    let step = if millis < 60_000 { 1 } else { 1_000 };
    let time = SignedDuration::try_from(Duration::from_millis(millis / step * step));
    SpanPrinter::new().duration_to_string(&time.unwrap_or(SignedDuration::MAX))
}

/// A time in milliseconds since 1970, to the second.
pub(crate) fn date(millis: i64) -> String {
    Timestamp::from_second(millis / 1_000).unwrap_or(Timestamp::MAX).to_string()
}

/// A text that is safe on a terminal: characters that control it or are invisible are escaped, and
/// so is the backslash, so that two texts never look the same.
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
    fn a_time_has_milliseconds_below_a_minute() {
        for (millis, text) in [
            (0, "0s"),
            (999, "999ms"),
            (59_999, "59s 999ms"),
            (60_999, "1m"),
            (3_599_999, "59m 59s"),
            (90_000_000, "25h"),
            (u64::MAX, "5124095576030h 25m 51s"),
        ] {
            assert_eq!(time(millis), text);
        }
    }

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_999, "2000-02-29T00:00:00Z"),
            (i64::MAX, "9999-12-30T22:00:00.999999999Z"),
        ] {
            assert_eq!(date(millis), text);
        }
    }

    #[test]
    fn numbers_have_a_singular_and_a_plural() {
        let texts = [(0, "unit"), (1, "process"), (2, "process")].map(|(number, thing)| count(number, thing));
        assert_eq!(texts, ["0 units", "1 process", "2 processes"]);
    }
}
