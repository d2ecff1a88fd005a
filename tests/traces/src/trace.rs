//! The format of the recorded traces.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
pub struct Trace {
    pub seed: u64,
    pub config: Config,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    #[serde(alias = "parallelism")]
    pub capacity: usize,
    pub waiting_room: usize,
    pub wait_limit_ms: Option<u64>,
    /// Only for partitions.
    #[serde(default)]
    pub max_partitions: usize,
    pub idle_timeout_us: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Step {
    pub at: u64,
    #[serde(flatten)]
    pub op: Op,
    pub expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    Enter(Enter),
    Release { id: usize },
    Cancel { id: usize },
    ReleaseThenCancel { id: usize, cancel: usize },
    Resize { to: usize, result: String },
    Close,
    CleanupIdle { removed: usize },
    Discard { partition: String, removed: bool },
    Advance,
}

#[derive(Debug, Deserialize)]
pub struct Enter {
    pub id: usize,
    #[serde(default = "one")]
    pub cost: usize,
    #[serde(default)]
    pub partition: String,
    #[serde(flatten)]
    pub mode: Mode,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    Plain,
    Now,
    Within { within_ms: u64 },
    Before { before_ms: i64 },
}

/// The step of the reference. The states of calls and the status list only changes. No events of
/// partitions were recorded.
#[derive(Debug, Deserialize)]
pub struct Expect {
    pub outcomes: Map<String, Value>,
    pub status: Map<String, Value>,
    #[serde(default)]
    pub elapsed_events: Vec<Value>,
    #[serde(default)]
    pub events: Vec<Value>,
}

fn one() -> usize {
    1
}
