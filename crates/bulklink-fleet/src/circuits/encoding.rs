//! What servers and stores have in common: texts of probes and marks, and rows as numbers. Any
//! other form is an error: nothing that a server sends makes these functions panic.

use std::time::Duration;

use bulklink_breaker::{Counts, Mark, ProbeId, State};

use super::{Change, Effect, Reply, Row};
use crate::{Name, StoreError};

/// How many numbers a row is: state, generation, rest of the cool-down or -1, whether it is forced,
/// three counts, successes, failures and running probes.
const ROW: usize = 10;

/// How long a list shows that settings differ: longer than processes take to load a row again.
pub const DIFFER: Duration = Duration::from_secs(60);

/// The text of a probe: 16 digits.
pub fn probe_text(id: ProbeId) -> String {
    format!("{:016x}", id.0)
}

/// The letter of an outcome, or nothing for one that does not count.
pub const fn mark_text(mark: Option<Mark>) -> &'static str {
    match mark {
        None => "",
        Some(Mark { failed: false, slow: false }) => ".",
        Some(Mark { failed: true, slow: false }) => "f",
        Some(Mark { failed: false, slow: true }) => "s",
        Some(Mark { failed: true, slow: true }) => "b",
    }
}

/// The letters of outcomes, the oldest first.
pub fn marks_text(marks: impl Iterator<Item = Mark>) -> String {
    marks.map(|mark| mark_text(Some(mark))).collect()
}

/// Reads a reply of numbers: the effect, a rest or -1, whether settings differ, and the row.
///
/// # Errors
///
/// [`StoreError::MALFORMED`] if it is no reply.
pub fn reply(numbers: &[i64]) -> Result<Reply, StoreError> {
    let read = || {
        let [code, rest, differ, row @ ..] = numbers else { return None };
        let row = Row { settings_differ: *differ == 1, ..self::row(row)? };
        let effect = match code {
            0 => Effect::Refused(time(*rest)),
            1 => Effect::Done,
            2 => Effect::Probe,
            _ => return None,
        };
        Some(Reply { effect, row })
    };
    read().ok_or(StoreError::MALFORMED)
}

/// The numbers of a row, as [`row`] reads them.
pub fn row_text(row: &Row) -> String {
    let state = match row.state {
        State::Closed => 0,
        State::Open => 1,
        State::HalfOpen => 2,
    };
    let retry = row.retry_after.map_or(-1, |time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
    let Counts { calls, failures, slow } = row.counts;
    let (successes, failed, probes) = (row.probe_successes, row.probe_failures, row.probes);
    let Row { generation, is_forced, .. } = *row;
    let forced = u8::from(is_forced);
    format!("{state} {generation} {retry} {forced} {calls} {failures} {slow} {successes} {failed} {probes}")
}

/// Reads a transition: the name, and the numbers of the row.
pub fn change(name: &str, numbers: &str) -> Option<Change> {
    let numbers: Vec<i64> = numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    Some(Change { name: name.parse::<Name>().ok()?, row: row(&numbers)? })
}

/// Reads the numbers of a row.
pub fn row(numbers: &[i64]) -> Option<Row> {
    let [state, generation, retry, forced, calls, failures, slow, successes, failed, probes]: [i64; ROW] =
        numbers.try_into().ok()?;
    let state = match state {
        0 => State::Closed,
        1 => State::Open,
        2 => State::HalfOpen,
        _ => return None,
    };
    let whole = |number: i64| u64::try_from(number).ok();
    let small = |number: i64| u32::try_from(number).ok();
    Some(Row {
        state,
        generation: whole(generation)?,
        retry_after: time(retry),
        is_forced: forced == 1,
        counts: Counts { calls: whole(calls)?, failures: whole(failures)?, slow: whole(slow)? },
        probe_successes: small(successes)?,
        probe_failures: small(failed)?,
        probes: small(probes)?,
        settings_differ: false,
    })
}

fn time(micros: i64) -> Option<Duration> {
    u64::try_from(micros).ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_forms_are_no_rows() {
        let whole: [i64; 13] = [1, -1, 0, 1, 7, 2_000, 0, 0, 0, 0, 0, 0, 0];
        assert!(reply(&whole).is_ok_and(|reply| reply.row.generation == 7));
        for (place, wrong) in [(3, 3), (3, -1), (4, -7), (7, -1), (12, -1), (12, 1 << 40)] {
            let mut numbers = whole;
            numbers[place] = wrong;
            assert!(reply(&numbers).is_err(), "{place} {wrong}");
        }
        assert!(reply(&whole[1..]).is_err() && reply(&[]).is_err() && reply(&[3, -1, 0, 1, 7]).is_err());
    }

    #[test]
    fn other_messages_are_no_changes() {
        let known = change("prod:a%20b", "1 7 2000000 0 0 0 0 0 0 0").unwrap();
        assert_eq!((&*known.name.label(), known.row.retry_after), ("a b", Some(Duration::from_secs(2))));
        assert_eq!(row_text(&known.row), "1 7 2000000 0 0 0 0 0 0 0");
        for (name, numbers) in [("prod:a", ""), ("prod:", "1 7 2 0 0 0 0 0 0 0"), ("prod:a", "1 x 2 0 0 0 0 0 0 0")] {
            assert_eq!(change(name, numbers), None, "{name} {numbers}");
        }
    }
}
