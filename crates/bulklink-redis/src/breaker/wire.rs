//! How operations become arguments of scripts, and replies rows.

use bulklink_breaker::{Counts, Outcomes, Settings};
use bulklink_fleet::circuits::encoding::{self, Reply, marks_text};
use bulklink_fleet::circuits::{Change, Numbers};
use bulklink_fleet::{Namespace, StoreError};
use redis::Value;

pub(super) fn settings_text(settings: &Settings) -> String {
    let numbers: Vec<_> = Numbers::of(settings).all().iter().map(u64::to_string).collect();
    numbers.join(" ")
}

/// The marks, and the three counts.
pub(super) fn outcome_texts(outcomes: &Outcomes) -> [String; 4] {
    let Counts { calls, failures, slow } = outcomes.counts();
    [marks_text(outcomes), calls.to_string(), failures.to_string(), slow.to_string()]
}

/// Reads the reply of a script.
pub(super) fn reply(value: &Value) -> Result<Reply, StoreError> {
    let Value::Array(values) = value else { return Err(StoreError::Malformed) };
    let number = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
    let numbers: Option<Vec<i64>> = values.iter().map(number).collect();
    encoding::reply(&numbers.ok_or(StoreError::Malformed)?)
}

/// Reads what is published: the label, and the numbers of the row.
pub(super) fn change(namespace: &Namespace, message: &[u8]) -> Option<Change> {
    let (label, numbers) = str::from_utf8(message).ok()?.split_once(' ')?;
    encoding::change(&format!("{namespace}:{label}"), numbers)
}
