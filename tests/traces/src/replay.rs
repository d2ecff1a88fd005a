//! Replays one trace step by step, and compares everything with the recording.

use std::fmt;

use bulklink_core::Event;
use serde_json::{Map, Value, json};

use crate::subject::{self, Done, Subject};
use crate::trace::{Op, Step, Trace};
use crate::words::{self, Kind};

/// A difference from the recording.
pub struct Difference {
    pub step: usize,
    pub what: &'static str,
    pub expected: Value,
    pub got: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { step, what, expected, got } = self;
        write!(f, "step {step}, {what}\n  expected {expected}\n  got      {got}")
    }
}

/// Replays a trace and returns all differences. A trace that differs is replayed to its end. A
/// trace with limits out of range cannot be started.
pub fn replay<S: Subject>(kind: Kind, trace: &Trace) -> Vec<Difference> {
    let subject = match S::new(&trace.config) {
        Ok(subject) => subject,
        Err(invalid) => {
            let (expected, got) = (json!("limits in range"), json!(invalid.to_string()));
            return vec![Difference { step: 0, what: "limits", expected, got }];
        }
    };
    let mut replay = Replay { kind, subject, status: Map::new(), step: 0, differences: vec![] };
    for (number, step) in trace.steps.iter().enumerate() {
        replay.step = number;
        replay.run(step);
    }
    replay.differences
}

struct Replay<S> {
    kind: Kind,
    subject: S,
    /// The recorded status so far: each step lists only what changed.
    status: Map<String, Value>,
    step: usize,
    differences: Vec<Difference>,
}

impl<S: Subject> Replay<S> {
    fn run(&mut self, step: &Step) {
        self.subject.pass_time(subject::instant(step.at));
        let elapsed = self.subject.events();
        if let Err(why) = self.perform(step) {
            self.compare("step", json!(format!("{:?}", step.op)), json!(why));
        }
        let events = self.subject.events();
        self.compare_events("elapsed events", &step.expect.elapsed_events, elapsed);
        self.compare_events("events", &step.expect.events, events);
        self.compare_outcomes(&step.expect.outcomes);
        self.compare_status(&step.expect.status);
    }

    fn perform(&mut self, step: &Step) -> Done {
        match &step.op {
            Op::Enter(enter) => self.subject.enter(enter, subject::instant(step.at))?,
            Op::Release { id } => self.subject.release(*id)?,
            Op::Cancel { id } => self.subject.cancel(*id)?,
            Op::ReleaseThenCancel { id, cancel } => self.subject.release_then_cancel(*id, *cancel)?,
            Op::Resize { to, result } => {
                let got = self.subject.resize(*to)?;
                self.compare("result of resize", json!(result), json!(got));
            }
            Op::Close => self.subject.close(),
            Op::CleanupIdle { removed } => {
                let got = self.subject.cleanup_idle()?;
                self.compare("removed by cleanup_idle", json!(removed), json!(got));
            }
            Op::Discard { partition, removed } => {
                let got = self.subject.discard(partition)?;
                self.compare("removed by discard", json!(removed), json!(got));
            }
            Op::Advance => {}
        }
        Ok(())
    }

    fn compare_events(&mut self, what: &'static str, expected: &[Value], events: Vec<Event>) {
        let got = words::normalised(self.kind, events);
        self.compare(what, Value::Array(expected.to_vec()), Value::Array(got));
    }

    /// Only the last state that a call reached in this step was recorded.
    fn compare_outcomes(&mut self, expected: &Map<String, Value>) {
        let changed = self.subject.outcomes().into_iter();
        let got = changed.map(|(id, outcome)| (id.to_string(), json!(outcome))).collect();
        self.compare("outcomes", Value::Object(expected.clone()), Value::Object(got));
    }

    fn compare_status(&mut self, changed: &Map<String, Value>) {
        self.status.extend(changed.clone());
        let mut got = self.subject.status(self.kind);
        got.retain(|field, _| self.status.contains_key(field));
        self.compare("status", Value::Object(self.status.clone()), Value::Object(got));
    }

    fn compare(&mut self, what: &'static str, expected: Value, got: Value) {
        if expected != got {
            self.differences.push(Difference { step: self.step, what, expected, got });
        }
    }
}
