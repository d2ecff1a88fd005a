//! The scripts that the server runs, each whole or not at all.
//!
//! What is fast comes first: Lua creates the functions of the library when it reaches them, and a
//! call that the first part answers must not pay for that. User data is in the keys and arguments
//! only, never in a text.

use std::sync::OnceLock;

/// One of the scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    /// Creates a bulkhead or joins it, and notices that data was lost.
    Open,
    /// Admits a call, queues it or rejects it.
    Acquire,
    /// Gives back leases and removes waiters.
    Release,
    /// Renews all that a process has.
    Beat,
    /// Drops what has expired.
    Reap,
    /// Changes the limit, if nothing else did.
    SetLimit,
    /// Ends a session.
    Close,
    /// Reads the state.
    Status,
}

macro_rules! text {
    ($($part:literal),+) => { concat!($(include_str!(concat!("lua/", $part, ".lua"))),+) };
}

impl Script {
    /// All of them, in the order of their declaration.
    pub const ALL: [Script; 8] = [
        Script::Open,
        Script::Acquire,
        Script::Release,
        Script::Beat,
        Script::Reap,
        Script::SetLimit,
        Script::Close,
        Script::Status,
    ];

    /// The text that the server loads.
    pub fn text(self) -> &'static str {
        match self {
            Script::Open => text!("head", "lib", "open"),
            Script::Acquire => text!("acquire.fast", "lib", "acquire.slow"),
            Script::Release => text!("release.fast", "lib", "release.slow"),
            Script::Beat => text!("head", "lib", "beat"),
            Script::Reap => text!("head", "lib", "reap"),
            Script::SetLimit => text!("head", "lib", "set_limit"),
            Script::Close => text!("head", "lib", "close"),
            Script::Status => text!("status"),
        }
    }

    /// The SHA-1 of the text, by which EVALSHA calls it.
    pub fn hash(self) -> &'static str {
        static HASHES: OnceLock<[String; 8]> = OnceLock::new();
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
    fn only_acquiring_is_refused_while_memory_is_full() {
        // What renews and gives back must work then, or every lease would be lost.
        let refused = |script: &Script| !script.text().lines().next().unwrap().contains("flags=");
        let refused: Vec<_> = Script::ALL.into_iter().filter(refused).collect();
        assert_eq!(refused, [Script::Acquire]);
    }
}
