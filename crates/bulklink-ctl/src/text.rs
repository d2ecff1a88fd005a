//! How reports look to people.

use std::fmt::Write;

use crate::report::{Content, Gap, Holder, List, Reap, Resize, Row, Session, Show, Summary, Waiter};
use crate::table::{Cell, Table, left, right};

/// Colours, where they are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// For what is as usual.
    Plain,
    /// For headings.
    Bold,
    /// For what limits calls, such as a bulkhead without a free unit.
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

impl Text for List {
    fn text(&self, colours: bool) -> String {
        let Some(first) = self.bulkheads.first() else { return "no bulkheads\n".to_owned() };
        let is_one = self.bulkheads.iter().all(|row| row.names.namespace == first.names.namespace);
        let heads = [right("LIMIT"), right("IN USE"), right("WAITING"), right("PROCESSES"), left("NOTE")];
        let mut table = Table::new([left("NAME")].into_iter().chain(heads).collect());
        for row in &self.bulkheads {
            let Row { names, content } = row;
            let name = if is_one { names.label.clone() } else { format!("{}:{}", names.namespace, names.label) };
            let mut cells = vec![Cell::new(name)];
            match content {
                Content::Read(summary) => cells.extend(cells_of(summary)),
                Content::Unreadable { error } => {
                    cells.extend(["-"; 4].map(Cell::new));
                    cells.push(Cell::new(error).in_colour(Colour::Red));
                }
            }
            table.push(cells);
        }
        table.text(colours)
    }

    fn line(&self) -> String {
        let row = |row: &Row| match &row.content {
            Content::Read(summary) => format!("{}: {}", visible(&row.names.label), essence(summary)),
            Content::Unreadable { error } => format!("{}: {error}", visible(&row.names.label)),
        };
        let rows: Vec<_> = self.bulkheads.iter().map(row).collect();
        format!("{} {}", date(self.at_ms), if rows.is_empty() { "no bulkheads".to_owned() } else { rows.join("; ") })
    }
}

fn cells_of(summary: &Summary) -> [Cell; 5] {
    let Summary { limit, in_use, waiting, processes, .. } = summary;
    let note = summary.quarantine_ms.map(|rest| format!("recovering for {}", time(rest))).unwrap_or_default();
    [
        Cell::new(limit),
        Cell::new(in_use).in_colour(load(summary)),
        Cell::new(waiting),
        Cell::new(processes),
        Cell::new(note).in_colour(Colour::Yellow),
    ]
}

/// More than the limit is in use after it was lowered, or after data was lost.
fn load(summary: &Summary) -> Colour {
    match summary.in_use.cmp(&summary.limit) {
        std::cmp::Ordering::Less => Colour::Plain,
        std::cmp::Ordering::Equal => Colour::Yellow,
        std::cmp::Ordering::Greater => Colour::Red,
    }
}

fn essence(summary: &Summary) -> String {
    let Summary { limit, in_use, waiting, processes, .. } = summary;
    let mut text = format!("{in_use} of {limit} in use, {waiting} waiting, {}", count(*processes, "process"));
    if let Some(rest) = summary.quarantine_ms {
        let _ = write!(text, ", recovering for {}", time(rest));
    }
    text
}

impl Text for Show {
    fn text(&self, colours: bool) -> String {
        let mut text = format!(
            "{} in {}\n\n",
            Cell::new(&self.names.label).in_colour(Colour::Bold).text(colours),
            self.names.namespace
        );
        text += &self.facts().text(colours);
        for (table, shown, all) in [
            (self.holders(), self.holders.len(), self.summary.leases),
            (self.waiters(), self.waiters.len(), self.summary.waiting),
            (self.processes(), self.sessions.len(), self.all_sessions),
        ] {
            if shown > 0 {
                text += "\n";
                text += &table.text(colours);
            }
            let more = all.saturating_sub(shown as u64);
            if more > 0 && shown > 0 {
                let _ = writeln!(text, "and {more} more");
            }
        }
        if !self.complete {
            text += "\nIt changed while it was read: some holders or waiters are missing.\n";
        }
        text
    }

    fn line(&self) -> String {
        format!("{} {}: {}", date(self.at_ms), visible(&self.names.label), essence(&self.summary))
    }
}

impl Show {
    fn facts(&self) -> Table {
        let Summary { limit, version, in_use, leases, expired_leases, waiting, processes, quarantine_ms } =
            &self.summary;
        let mut table = Table::without_head(2);
        let mut fact = |name: &str, value: Cell| table.push(vec![Cell::new(name), value]);
        fact("limit", Cell::new(format!("{limit}, version {version}")));
        fact("declared", Cell::new(format!("{}, configuration {}", self.declared_limit, self.config)));
        let expired = if *expired_leases > 0 { format!(", {expired_leases} expired") } else { String::new() };
        let by = count(*leases, "permit");
        fact("in use", Cell::new(format!("{in_use} by {by}{expired}")).in_colour(load(&self.summary)));
        fact("waiting", Cell::new(waiting));
        fact("processes", Cell::new(processes));
        let (lease, claim) = (time(self.lease_ms), time(self.claim_ms));
        let block = count(self.tokens_per_grant, "token");
        fact("terms", Cell::new(format!("lease {lease}, claim {claim}, {block} a grant")));
        fact("epoch", Cell::new(format!("{}, {}", self.epoch, date(self.epoch / 1000))));
        if let Some(rest) = quarantine_ms {
            let recovering = format!("for {}: nothing is granted", time(*rest));
            fact("quarantine", Cell::new(recovering).in_colour(Colour::Yellow));
        }
        table
    }

    fn holders(&self) -> Table {
        let heads = vec![left("HOLDER"), right("COST"), right("AGE"), right("EXPIRES IN"), left("PROCESS")];
        let mut table = Table::new(heads);
        for Holder { id, process, cost, age_ms, expires_in_ms, .. } in &self.holders {
            let cells = [Cell::new(id), Cell::new(cost), age(*age_ms), rest(*expires_in_ms), said(process.as_deref())];
            table.push(cells.into());
        }
        table
    }

    fn waiters(&self) -> Table {
        let heads = vec![left("WAITER"), right("COST"), right("AGE"), right("PLACE"), left("PROCESS")];
        let mut table = Table::new(heads);
        for Waiter { id, process, cost, age_ms, place, .. } in &self.waiters {
            let cells = [Cell::new(id), Cell::new(cost), age(*age_ms), Cell::new(place), said(process.as_deref())];
            table.push(cells.into());
        }
        table
    }

    fn processes(&self) -> Table {
        let heads =
            [left("SESSION"), right("IN USE"), right("WAITING"), right("ENDS IN"), right("LINK"), left("PROCESS")];
        let mut table = Table::new(heads.into());
        for Session { owner, process, generation, ends_in_ms, in_use, waiting } in &self.sessions {
            let known = |number: &Option<u64>| number.map_or(Cell::new("-"), Cell::new);
            table.push(vec![
                Cell::new(owner),
                known(in_use),
                known(waiting),
                rest(*ends_in_ms),
                Cell::new(generation),
                said(process.as_deref()),
            ]);
        }
        table
    }
}

fn said(process: Option<&str>) -> Cell {
    Cell::new(process.unwrap_or("-"))
}

fn age(millis: Option<i64>) -> Cell {
    Cell::new(millis.map_or_else(|| "-".to_owned(), |millis| time(millis.unsigned_abs())))
}

/// The time until a lease or a session is over.
fn rest(millis: i64) -> Cell {
    let text = time(millis.unsigned_abs());
    if millis > 0 { Cell::new(text) } else { Cell::new(format!("{text} ago")).in_colour(Colour::Red) }
}

impl Text for Resize {
    fn text(&self, _: bool) -> String {
        format!("{}\n", self.line())
    }

    fn line(&self) -> String {
        let Resize { names, limit, previous_limit, version, in_use, waiting } = self;
        let label = visible(&names.label);
        format!("{label}: limit {limit}, was {previous_limit}; version {version}; {in_use} in use, {waiting} waiting")
    }
}

impl Text for Reap {
    fn text(&self, _: bool) -> String {
        format!("{}\n", self.line())
    }

    fn line(&self) -> String {
        let Reap { names, freed_units, dropped_waiters, limit, in_use, waiting } = self;
        let (units, waiters) = (count(*freed_units, "unit"), count(*dropped_waiters, "waiter"));
        let label = visible(&names.label);
        format!("{label}: {units} freed, {waiters} dropped; {in_use} of {limit} in use, {waiting} waiting")
    }
}

impl Text for Gap {
    fn text(&self, colours: bool) -> String {
        Cell::new(&self.error).in_colour(Colour::Red).text(colours) + "\n"
    }

    fn line(&self) -> String {
        format!("{} {}", date(self.at_ms), visible(&self.error))
    }
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
