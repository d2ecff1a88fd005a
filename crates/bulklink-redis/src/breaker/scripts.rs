//! The scripts of circuits, one for each operation.

use std::borrow::Cow;

use crate::scripts::Source;

/// A script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Load,
    Admit,
    Closed,
    Probe,
    Force,
    /// Reads a row, and changes nothing.
    Read,
}

/// All scripts.
pub(super) struct Scripts([Source; 6]);

macro_rules! text {
    ($flags:literal, $part:literal) => {
        concat!("#!lua flags=", $flags, "\n", include_str!("lua/lib.lua"), include_str!(concat!("lua/", $part, ".lua")))
    };
}

impl Scripts {
    /// The scripts as `changed` returns them.
    pub(super) fn new(changed: impl Fn(&'static str) -> Cow<'static, str>) -> Self {
        // Rows are few and small. While memory is full, a circuit must still open.
        let texts = [
            text!("allow-oom", "load"),
            text!("allow-oom", "admit"),
            text!("allow-oom", "closed"),
            text!("allow-oom", "probe"),
            text!("allow-oom", "force"),
            text!("no-writes", "list"),
        ];
        Scripts(texts.map(|text| Source::new(changed(text))))
    }

    pub(super) fn get(&self, script: Script) -> &Source {
        &self.0[script as usize]
    }
}
