//! Replays recorded traces of the Python reference against the gates alone, against the async
//! front, and against the front on tokio with paused time.
//!
//! The runtimes of the other adapters have no virtual time, and traces are exact to the
//! millisecond, so they cannot be replayed there. `tests/runtimes` tests what holds on every
//! runtime.
//!
//! `cargo test` replays the project's copy. `bulklink-traces [DIR]` replays every `*.jsonl` of a
//! folder, by default of the same, and ends with `conformance: T traces, S steps, D differences`.
//! It exits with 1 if there was a difference. A step that is impossible, because there is no such
//! call, is a difference too, and the steps after it are still compared.

mod calls;
mod front;
mod gate;
mod partitioned;
mod replay;
mod subject;
#[cfg(test)]
mod tests;
mod trace;
mod words;
mod world;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use front::FrontSubject;
use gate::GateSubject;
use partitioned::{PartitionedGates, PartitionsFront};
use serde_json::Value;
use trace::Trace;
use words::Kind;
use world::{FakeWorld, PausedTokio};

fn main() -> ExitCode {
    let folder = env::args_os().nth(1).map_or_else(own_copy, PathBuf::from);
    match replay_all(&folder) {
        Ok(Tally { differences: 0, .. }) => return ExitCode::SUCCESS,
        Ok(_) => {}
        Err(error) => eprintln!("conformance: {error}"),
    }
    ExitCode::FAILURE
}

fn replay_all(folder: &Path) -> Result<Tally, Box<dyn Error>> {
    let mut tally = Tally::default();
    for file in trace_files(folder)? {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        for (number, line) in text.lines().enumerate() {
            tally.replay(&format!("{}:{}", file.display(), number + 1), line);
        }
    }
    println!("conformance: {} traces, {} steps, {} differences", tally.traces, tally.steps, tally.differences);
    Ok(tally)
}

fn own_copy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded")
}

fn trace_files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: no *.jsonl here", folder.display()).into());
    }
    Ok(files)
}

#[derive(Default)]
struct Tally {
    traces: usize,
    steps: usize,
    differences: usize,
}

impl Tally {
    fn replay(&mut self, place: &str, line: &str) {
        self.traces += 1;
        match parse(line) {
            Ok((kind, trace)) => {
                self.steps += trace.steps.len();
                if kind == Kind::Partitioned {
                    self.replay_against::<PartitionedGates>("account and gates", place, kind, &trace);
                    self.replay_against::<PartitionsFront<FakeWorld>>("front", place, kind, &trace);
                    self.replay_against::<PartitionsFront<PausedTokio>>("tokio", place, kind, &trace);
                } else {
                    self.replay_against::<GateSubject>("gate", place, kind, &trace);
                    self.replay_against::<FrontSubject<FakeWorld>>("front", place, kind, &trace);
                    self.replay_against::<FrontSubject<PausedTokio>>("tokio", place, kind, &trace);
                }
            }
            Err(error) => self.differ(place, &error),
        }
    }

    fn replay_against<S: subject::Subject>(&mut self, subject: &str, place: &str, kind: Kind, trace: &Trace) {
        for difference in replay::replay::<S>(kind, trace) {
            self.differ(place, &format!("seed {}, {subject}, {difference}", trace.seed));
        }
    }

    fn differ(&mut self, place: &str, text: &str) {
        self.differences += 1;
        println!("{place}: {text}");
    }
}

/// The kind is parsed first, because a trace of an unknown kind may have other fields.
fn parse(line: &str) -> Result<(Kind, Trace), String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let kind = match value["kind"].as_str() {
        Some("plain") => Kind::Plain,
        Some("weighted") => Kind::Weighted,
        Some("partitioned") => Kind::Partitioned,
        other => return Err(format!("expected a trace of kind plain, weighted or partitioned\n  got {other:?}")),
    };
    let trace = serde_json::from_value(value).map_err(|error| error.to_string())?;
    Ok((kind, trace))
}
