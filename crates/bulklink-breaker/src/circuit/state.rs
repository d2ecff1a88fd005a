//! The state of a circuit.

use core::fmt;

/// Whether a circuit lets calls through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// All calls.
    Closed,
    /// None, until the cool-down has passed.
    Open,
    /// A few, which are probes: the cool-down has passed.
    HalfOpen,
}

impl State {
    /// Returns the name in snake case, for machines. It never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half_open",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == State::HalfOpen { "half-open" } else { self.as_str() })
    }
}
