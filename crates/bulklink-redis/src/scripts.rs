//! The scripts that the server runs, each whole or not at all. User data is in the keys and
//! arguments only, never in a text.

use std::borrow::Cow;
use std::sync::OnceLock;

/// A script.
pub(crate) struct Source {
    pub(crate) text: Cow<'static, str>,
    /// The SHA-1 of the text, by which EVALSHA calls it.
    pub(crate) hash: String,
}

impl Source {
    pub(crate) fn new(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        Source { hash: redis::Script::new(&text).get_hash().to_owned(), text }
    }
}

/// One of the scripts of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    /// Takes the statement of a process about its share.
    Sync,
    /// Changes the limit, if nothing else did.
    Resize,
    /// Reads the state.
    Look,
}

macro_rules! text {
    ($($part:literal),+) => { concat!($(include_str!(concat!("lua/", $part, ".lua"))),+) };
}

impl Script {
    /// All of them, in the order of their declaration.
    pub const ALL: [Script; 3] = [Script::Sync, Script::Resize, Script::Look];

    pub(crate) fn source(self) -> &'static Source {
        static SOURCES: OnceLock<[Source; 3]> = OnceLock::new();
        let sources = || [text!("lib", "sync"), text!("lib", "resize"), text!("look")].map(Source::new);
        &SOURCES.get_or_init(sources)[self as usize]
    }

    /// The text that the server loads.
    pub fn text(self) -> &'static str {
        &self.source().text
    }

    /// The SHA-1 of the text.
    pub fn hash(self) -> &'static str {
        &self.source().hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_script_has_a_hash_of_its_own() {
        for (place, script) in Script::ALL.into_iter().enumerate() {
            assert_eq!(script as usize, place);
            assert_eq!(script.hash(), redis::Script::new(script.text()).get_hash());
            assert_eq!(Script::ALL.iter().filter(|other| other.hash() == script.hash()).count(), 1);
        }
    }

    #[test]
    fn no_script_is_refused_while_memory_is_full() {
        // Units must go back then, and leases must go on, or all of them would be lost.
        for script in Script::ALL {
            let first = script.text().lines().next().unwrap();
            assert!(first.contains("flags=allow-oom") || first.contains("flags=no-writes"), "{first}");
        }
    }
}
