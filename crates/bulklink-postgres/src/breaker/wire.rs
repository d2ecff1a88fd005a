//! How operations become values of a statement, and rows circuits. Any other form is an error:
//! nothing that a server sends makes these functions panic.

use std::time::Duration;

use bulklink_breaker::store::{Change, Name, Numbers, Row, StoreError};
use bulklink_breaker::{Counts, Mark, Outcomes, ProbeId, Settings, State};

/// The numbers of a row.
pub(super) const ROW: usize = 10;

/// What a statement returns: what it did, and the row.
pub(super) struct Reply {
    pub(super) code: i64,
    /// The time after which it may do more.
    pub(super) rest: Option<Duration>,
    pub(super) row: Row,
}

/// The values of an operation, after the name.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) settings: Vec<i64>,
    pub(super) operation: &'static str,
    pub(super) generation: Option<i64>,
    pub(super) probe: String,
    pub(super) marks: String,
    pub(super) added: Vec<i64>,
}

/// A number as the server has it. What is beyond its range is beyond any use.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn settings(settings: &Settings) -> Vec<i64> {
    Numbers::of(settings).all().into_iter().map(number).collect()
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
pub(super) fn outcomes(outcomes: &Outcomes) -> (String, Vec<i64>) {
    let Counts { calls, failures, slow } = outcomes.counts();
    // No sum of them may leave the server's range.
    let added = [calls, failures, slow].map(|calls| number(calls.min(1 << 50)));
    (outcomes.marks().map(|mark| mark_text(Some(mark))).collect(), added.into())
}

/// Reads the numbers that a statement returns.
pub(super) fn reply(numbers: &[i64]) -> Result<Reply, StoreError> {
    let read = || {
        let [code, rest, differ, row @ ..] = numbers else { return None };
        Some(Reply { code: *code, rest: time(*rest), row: Row { settings_differ: *differ == 1, ..self::row(row)? } })
    };
    read().ok_or(StoreError::Malformed)
}

/// Reads what a notification says: the name, and the numbers of the row.
pub(super) fn change(message: &str) -> Option<Change> {
    let (name, numbers) = message.split_once(' ')?;
    let numbers: Vec<i64> = numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    Some(Change { name: name.parse::<Name>().ok()?, row: row(&numbers)? })
}

/// Reads the numbers of a row.
pub(super) fn row(numbers: &[i64]) -> Option<Row> {
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
