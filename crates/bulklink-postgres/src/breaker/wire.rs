//! How operations become values of a statement.

use bulklink_breaker::{Counts, Outcomes, Settings};
use bulklink_fleet::circuits::encoding::marks_text;
use bulklink_fleet::circuits::{Change, Numbers, encoding};

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

/// The marks, and the three counts.
pub(super) fn outcomes(outcomes: &Outcomes) -> (String, Vec<i64>) {
    let Counts { calls, failures, slow } = outcomes.counts();
    // No sum of them may leave the server's range.
    let added = [calls, failures, slow].map(|calls| number(calls.min(1 << 50)));
    (marks_text(outcomes), added.into())
}

/// Reads what a notification says: the name, and the numbers of the row.
pub(super) fn change(message: &str) -> Option<Change> {
    let (name, numbers) = message.split_once(' ')?;
    encoding::change(name, numbers)
}
