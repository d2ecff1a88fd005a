//! How a command becomes the call of a script.

use std::time::Duration;

use bulklink_fleet::{CallId, Command, Era, RunId, StoreError, Terms};

use crate::scripts::Script;

/// A call of a script, with the arguments after its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The script.
    pub script: Script,
    /// `ARGV` of the script.
    pub arguments: Vec<String>,
}

/// Encodes a command.
///
/// # Errors
///
/// Refuses a command that this version does not know.
pub fn call(command: &Command) -> Result<Call, StoreError> {
    let (script, arguments) = match command {
        Command::Open { owner, generation, limit, config, terms, known, highest, run, young, info } => {
            let [ttl, claim, block] = declared(terms);
            let known = known.map(|epoch| epoch.to_string()).unwrap_or_default();
            let highest = highest.unwrap_or_default().to_string();
            let mut arguments = vec![owner.to_string(), generation.to_string(), limit.to_string(), config.to_string()];
            arguments.extend([ttl, claim.clone(), block, known, highest, run_text(*run), flag(*young), claim]);
            arguments.push(info.to_string());
            (Script::Open, arguments)
        }
        Command::Acquire { id, wait, queue, era, terms, give_back } => {
            let ([ttl, claim, block], [epoch, run]) = (declared(terms), era_texts(*era));
            let mode = if *wait { "w" } else { "n" };
            let mut arguments = vec![id.to_string(), id.cost.to_string(), mode.to_owned(), queue.to_string()];
            arguments.extend([epoch, run, ttl, claim, block]);
            arguments.extend(texts(give_back));
            (Script::Acquire, arguments)
        }
        Command::Release { ids } => (Script::Release, texts(ids)),
        Command::Beat { owner, generation, era, terms, info, leases, waiters, gone } => {
            let ([ttl, claim, _], [epoch, run]) = (declared(terms), era_texts(*era));
            let mut arguments = vec![owner.to_string(), generation.to_string(), epoch, run, ttl, claim];
            arguments.extend([info.to_string(), leases.len().to_string(), waiters.len().to_string()]);
            arguments.extend(texts(leases));
            arguments.extend(waiters.iter().flat_map(|(id, ticket)| [id.to_string(), ticket.to_string()]));
            arguments.extend(texts(gone));
            (Script::Beat, arguments)
        }
        Command::Reap { full, offset } => (Script::Reap, vec![flag(*full), offset.to_string()]),
        Command::SetLimit { limit, expected } => (Script::SetLimit, vec![limit.to_string(), expected.to_string()]),
        Command::Close { owner, ids } => {
            (Script::Close, [owner.to_string()].into_iter().chain(ids.iter().map(CallId::to_string)).collect())
        }
        // The server counts a negative rank from the end: an empty page is from 1 to 0.
        Command::Status { count: 0, .. } => (Script::Status, vec!["1".to_owned(), "0".to_owned()]),
        Command::Status { offset, count } => {
            let last = offset.saturating_add(*count).saturating_sub(1);
            (Script::Status, [*offset, last].map(rank).into())
        }
        _ => return Err(StoreError::Refused { code: "UNSUPPORTED".into() }),
    };
    Ok(Call { script, arguments })
}

/// The text of an era's or an opening's run; `-` is none.
pub(crate) fn run_text(run: Option<RunId>) -> String {
    run.map_or_else(|| "-".to_owned(), |run| format!("{:016x}", u64::from(run)))
}

fn era_texts(era: Era) -> [String; 2] {
    [era.epoch.to_string(), run_text(era.run)]
}

fn declared(terms: &Terms) -> [String; 3] {
    let micros = |duration: Duration| duration.as_micros().to_string();
    [micros(terms.ttl), micros(terms.claim), terms.block.to_string()]
}

fn texts(ids: &[CallId]) -> Vec<String> {
    ids.iter().map(CallId::to_string).collect()
}

fn flag(is_set: bool) -> String {
    u8::from(is_set).to_string()
}

/// The server refuses ranks beyond its integers.
fn rank(rank: u64) -> String {
    i64::try_from(rank).unwrap_or(i64::MAX).to_string()
}
