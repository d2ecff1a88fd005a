//! How operations become arguments of scripts, and replies rows.

use bulklink_breaker::Counts;
use bulklink_fleet::circuits::encoding::{self, mark_text, marks_text, probe_text};
use bulklink_fleet::circuits::{Change, Force, Operation, Reply, Report};
use bulklink_fleet::{Namespace, StoreError};
use redis::Value;

use super::scripts::Script;

/// The script of an operation, and its arguments after those of all scripts.
pub(super) fn script(operation: &Operation) -> (Script, Vec<String>) {
    match operation {
        Operation::Load => (Script::Load, vec![]),
        Operation::Admit(id) => (Script::Admit, vec![probe_text(*id)]),
        Operation::Report(Report::Closed { generation, outcomes }) => {
            let Counts { calls, failures, slow } = outcomes.counts();
            let [generation, calls, failures, slow] = [*generation, calls, failures, slow].map(|n| n.to_string());
            (Script::Closed, vec![generation, marks_text(outcomes.marks()), calls, failures, slow])
        }
        Operation::Report(Report::Probe { generation, id, outcome }) => {
            (Script::Probe, vec![generation.to_string(), probe_text(*id), mark_text(*outcome).to_owned()])
        }
        Operation::Force(force, expected) => {
            let state = if *force == Force::Open { "o" } else { "c" };
            (
                Script::Force,
                vec![state.to_owned(), expected.map(|generation| generation.to_string()).unwrap_or_default()],
            )
        }
    }
}

/// Reads the reply of a script.
pub(super) fn reply(value: &Value) -> Result<Reply, StoreError> {
    let Value::Array(values) = value else { return Err(StoreError::MALFORMED) };
    let number = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
    let numbers: Option<Vec<i64>> = values.iter().map(number).collect();
    encoding::reply(&numbers.ok_or(StoreError::MALFORMED)?)
}

/// Reads a message: the label, and the numbers of the row.
pub(super) fn change(namespace: &Namespace, message: &[u8]) -> Option<Change> {
    let (label, numbers) = std::str::from_utf8(message).ok()?.split_once(' ')?;
    encoding::change(&format!("{namespace}:{label}"), numbers)
}
