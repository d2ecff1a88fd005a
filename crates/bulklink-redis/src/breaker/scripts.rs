//! The scripts of circuits, one for each operation.

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

/// The texts of all scripts, and their hashes.
pub(super) struct Scripts([Text; 6]);

pub(super) struct Text {
    pub(super) text: String,
    pub(super) hash: String,
}

macro_rules! text {
    ($flags:literal, $part:literal) => {
        concat!("#!lua flags=", $flags, "\n", include_str!("lua/lib.lua"), include_str!(concat!("lua/", $part, ".lua")))
    };
}

impl Scripts {
    /// The scripts as `changed` returns them.
    pub(super) fn new(changed: impl Fn(&str) -> String) -> Self {
        // Rows are few and small. While memory is full, a circuit must still open.
        let texts = [
            text!("allow-oom", "load"),
            text!("allow-oom", "admit"),
            text!("allow-oom", "closed"),
            text!("allow-oom", "probe"),
            text!("allow-oom", "force"),
            text!("no-writes", "list"),
        ];
        Scripts(texts.map(|text| {
            let text = changed(text);
            Text { hash: redis::Script::new(&text).get_hash().to_owned(), text }
        }))
    }

    pub(super) fn get(&self, script: Script) -> &Text {
        &self.0[script as usize]
    }
}
