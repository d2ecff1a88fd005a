//! The scripts that the server runs, each whole or not at all. User data is in the keys and
//! arguments only, never in a text.

use std::sync::OnceLock;

/// One of the scripts.
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

    /// The text that the server loads.
    pub fn text(self) -> &'static str {
        match self {
            Script::Sync => text!("lib", "sync"),
            Script::Resize => text!("lib", "resize"),
            Script::Look => text!("look"),
        }
    }

    /// The SHA-1 of the text, by which EVALSHA calls it.
    pub fn hash(self) -> &'static str {
        static HASHES: OnceLock<[String; 3]> = OnceLock::new();
        let hash = |script: Script| redis::Script::new(script.text()).get_hash().to_owned();
        &HASHES.get_or_init(|| Script::ALL.map(hash))[self as usize]
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
