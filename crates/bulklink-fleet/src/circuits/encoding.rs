//! What servers and stores have in common: texts of probes and marks, and rows as numbers. Any
//! other form is an error: nothing that a server sends makes these functions panic.

use std::time::Duration;

use bulklink_breaker::{Counts, Mark, Outcomes, Pass, ProbeId, State};

use super::{Asked, Change, Refused, Row};
use crate::{Name, StoreError};

/// How many numbers a row is: state, generation, rest of the cool-down or -1, whether it is forced,
/// three counts, successes, failures and running probes.
pub const ROW: usize = 10;

/// How long a list says that settings differ: longer than processes take to load a row again.
pub const DIFFER: Duration = Duration::from_secs(60);

/// What a server replies: what it did, and the row.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// 0 if it refused, 1 if it did what was asked, 2 if a probe was let through.
    pub code: i64,
    /// The time after which it may do more.
    pub rest: Option<Duration>,
    /// The circuit.
    pub row: Row,
}

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
pub fn marks_text(outcomes: &Outcomes) -> String {
    outcomes.marks().map(|mark| mark_text(Some(mark))).collect()
}

/// Reads what a server replies: a code, a rest or -1, whether settings differ, and the row.
///
/// # Errors
///
/// [`StoreError::Malformed`] if it is no reply.
pub fn reply(numbers: &[i64]) -> Result<Reply, StoreError> {
    let read = || {
        let [code, rest, differ, row @ ..] = numbers else { return None };
        let row = Row { settings_differ: *differ == 1, ..self::row(row)? };
        Some(Reply { code: *code, rest: time(*rest), row })
    };
    read().ok_or(StoreError::Malformed)
}

impl Reply {
    /// The answer to the probe that asked.
    ///
    /// # Errors
    ///
    /// [`StoreError::Malformed`] if it is none.
    pub fn asked(self, id: ProbeId) -> Result<Asked, StoreError> {
        let Reply { code, rest, row } = self;
        let admission = match code {
            0 => Err(Refused { state: row.state, retry_after: rest }),
            1 if row.state == State::Closed => Ok(Pass { generation: row.generation, probe: None }),
            2 => Ok(Pass { generation: row.generation, probe: Some(id) }),
            _ => return Err(StoreError::Malformed),
        };
        Ok(Asked { admission, row })
    }
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
        assert!(reply(&whole[1..]).is_err() && reply(&[]).is_err());
    }

    #[test]
    fn other_messages_are_no_changes() {
        let known = change("prod:a%20b", "1 7 2000000 0 0 0 0 0 0 0").unwrap();
        assert_eq!((&*known.name.label(), known.row.retry_after), ("a b", Some(Duration::from_secs(2))));
        for (name, numbers) in [("prod:a", ""), ("prod:", "1 7 2 0 0 0 0 0 0 0"), ("prod:a", "1 x 2 0 0 0 0 0 0 0")] {
            assert_eq!(change(name, numbers), None, "{name} {numbers}");
        }
    }
}
