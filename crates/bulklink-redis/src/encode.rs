//! How a command becomes the call of a script.

use std::time::Duration;

use bulklink_fleet::share::{Declaration, Statement, Terms};
use bulklink_fleet::{RunId, Version};

use crate::scripts::Script;

/// A call of a script, with the arguments after its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The script.
    pub script: Script,
    /// `ARGV` of the script.
    pub arguments: Vec<String>,
}

/// Encodes the statement of a process about its share.
pub fn sync(statement: &Statement) -> Call {
    let Statement { process, seq, declaration, epoch, run, is_young, longest, token, keep, need, least, spare, weight } =
        statement.bounded();
    let Declaration { config, limit, terms } = declaration;
    let Terms { lease, claim, calm, recovers } = terms;
    let number = |number: u64| number.to_string();
    let mut arguments = vec![process.to_string(), number(seq), number(config), number(limit.into())];
    arguments.extend([lease, claim, calm].map(micros));
    arguments.extend([flag(recovers), epoch.unwrap_or_default().to_string(), run_text(run), flag(is_young)]);
    arguments.extend([micros(longest), token.to_string()]);
    arguments.extend([keep, need, least, spare, weight].map(|units| number(units.into())));
    Call { script: Script::Sync, arguments }
}

/// Encodes a change of the limit.
pub fn resize(limit: u32, expected: Version) -> Call {
    Call { script: Script::Resize, arguments: vec![limit.to_string(), expected.to_string()] }
}

/// Encodes a look at the state.
pub fn look() -> Call {
    Call { script: Script::Look, arguments: vec![] }
}

fn micros(duration: Duration) -> String {
    duration.as_micros().to_string()
}

/// The text of a run; `-` is none.
fn run_text(run: Option<RunId>) -> String {
    run.map_or_else(|| "-".to_owned(), |run| format!("{:016x}", u64::from(run)))
}

fn flag(is_set: bool) -> String {
    u8::from(is_set).to_string()
}
