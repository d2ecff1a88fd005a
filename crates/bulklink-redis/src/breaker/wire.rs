//! How operations become arguments of scripts, and replies rows. Any other form is an error:
//! nothing that a server sends makes these functions panic.

use std::time::Duration;

use bulklink_breaker::store::{Change, Name, Namespace, Numbers, Row, StoreError};
use bulklink_breaker::{Counts, Mark, Outcomes, ProbeId, Settings, State};
use redis::Value;

/// What a script replies: what it did, and the row.
pub(super) struct Reply {
    pub(super) code: u64,
    /// The time after which it may do more.
    pub(super) rest: Option<Duration>,
    pub(super) row: Row,
}

/// The numbers of a row.
const ROW: usize = 10;

pub(super) fn settings_text(settings: &Settings) -> String {
    let numbers: Vec<_> = Numbers::of(settings).all().iter().map(u64::to_string).collect();
    numbers.join(" ")
}

pub(super) fn probe_text(id: ProbeId) -> String {
    format!("{:016x}", id.0)
}

pub(super) const fn mark_text(mark: Option<Mark>) -> &'static str {
    match mark {
        None => "",
        Some(Mark { failed: false, slow: false }) => ".",
        Some(Mark { failed: true, slow: false }) => "f",
        Some(Mark { failed: false, slow: true }) => "s",
        Some(Mark { failed: true, slow: true }) => "b",
    }
}

/// The marks, and the three counts.
pub(super) fn outcome_texts(outcomes: &Outcomes) -> [String; 4] {
    let marks = outcomes.marks().map(|mark| mark_text(Some(mark))).collect();
    let Counts { calls, failures, slow } = outcomes.counts();
    [marks, calls.to_string(), failures.to_string(), slow.to_string()]
}

/// Reads the reply of a script.
pub(super) fn reply(value: &Value) -> Result<Reply, StoreError> {
    read(value).ok_or(StoreError::Malformed)
}

fn read(value: &Value) -> Option<Reply> {
    let Value::Array(values) = value else { return None };
    let number = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
    let numbers: Vec<i64> = values.iter().map(number).collect::<Option<_>>()?;
    let [code, rest, differ, row @ ..] = &numbers[..] else { return None };
    let row = Row { settings_differ: *differ == 1, ..row_of(row)? };
    Some(Reply { code: u64::try_from(*code).ok()?, rest: time(*rest), row })
}

/// Reads what is published: the label, and the numbers of the row.
pub(super) fn change(namespace: &Namespace, message: &[u8]) -> Option<Change> {
    let (label, numbers) = str::from_utf8(message).ok()?.split_once(' ')?;
    let name = format!("{namespace}:{label}").parse::<Name>().ok()?;
    let numbers: Vec<i64> = numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    Some(Change { name, row: row_of(&numbers)? })
}

fn row_of(numbers: &[i64]) -> Option<Row> {
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
        let whole: Vec<_> = [1, -1, 0, 1, 7, 2_000, 0, 0, 0, 0, 0, 0, 0].map(Value::Int).into();
        assert!(reply(&Value::Array(whole.clone())).is_ok_and(|reply| reply.row.generation == 7));
        for (place, wrong) in [(0, -1), (3, 3), (3, -1), (4, -7), (7, -1), (12, -1), (12, 1 << 40)] {
            let mut numbers = whole.clone();
            numbers[place] = Value::Int(wrong);
            assert!(reply(&Value::Array(numbers)).is_err(), "{place} {wrong}");
        }
        let mut text = whole.clone();
        text[4] = Value::Nil;
        for value in [Value::Array(text), Value::Array(whole[1..].into()), Value::Array(vec![]), Value::Nil] {
            assert!(reply(&value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn other_messages_are_no_changes() {
        let namespace = Namespace::new("prod").unwrap();
        let read = |text: &str| change(&namespace, text.as_bytes());
        let known = read("a%20b 1 7 2000000 0 0 0 0 0 0 0").unwrap();
        assert_eq!((&*known.name.label(), known.row.retry_after), ("a b", Some(Duration::from_secs(2))));
        for text in ["", "a", "a ", "a 1", " 1 7 2 0 0 0 0 0 0 0", "a b 1 7 2 0 0 0 0 0 0 0", "a 1 x 2 0 0 0 0 0 0 0"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(change(&namespace, &[0xff, b' ', b'1']), None);
    }
}
