//! The keys and the channels of a name.

use bulklink_fleet::{Name, ProcessId};

/// The keys of a name. All have one hash tag, so a cluster keeps them on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// What all of them begin with: `bl:{namespace:label}:`.
    prefix: String,
}

impl Keys {
    /// The names have no byte that means something in a key, a pattern or a channel.
    pub fn new(name: &Name) -> Self {
        Keys { prefix: format!("bl:{{{name}}}:") }
    }

    /// Rows, the times at which they change, the queue, and settings: the keys of every script, in
    /// this order.
    pub fn all(&self) -> [String; 4] {
        ["R", "T", "W", "S"].map(|key| format!("{}{key}", self.prefix))
    }

    /// The key of the settings, which exists as long as there is any data.
    #[cfg(any(feature = "tokio", feature = "smol"))]
    pub(crate) fn settings(&self) -> String {
        format!("{}S", self.prefix)
    }

    /// The shard channel on which all processes hear that some wait for units.
    pub fn tight_channel(&self) -> String {
        format!("{}t", self.prefix)
    }

    /// The key of the circuit that has the name.
    #[cfg(feature = "breaker")]
    pub fn circuit(&self) -> String {
        format!("{}C", self.prefix)
    }

    /// The shard channel on which a process receives its notices.
    pub fn channel(&self, process: ProcessId) -> String {
        format!("{}n:{process}", self.prefix)
    }
}

/// The channel on which the transitions of a namespace's circuits are published. It is heard on all
/// nodes of a cluster, and no share has a channel of this name, as no label is empty.
#[cfg(all(feature = "breaker", any(feature = "tokio", feature = "smol")))]
pub fn circuits_channel(namespace: &str) -> String {
    format!("bl:{{{namespace}:}}:c")
}

#[cfg(test)]
mod tests {
    use bulklink_fleet::Namespace;

    use super::*;

    #[test]
    fn keys_and_channels_share_one_hash_tag() {
        let name = Name::new(&Namespace::new("prod").unwrap(), "a}{b*").unwrap();
        let keys = Keys::new(&name);
        let [rows, .., settings] = keys.all();
        assert_eq!((&*rows, &*settings), ("bl:{prod:a%7D%7Bb%2A}:R", "bl:{prod:a%7D%7Bb%2A}:S"));
        assert_eq!((keys.settings(), &*keys.tight_channel()), (settings, "bl:{prod:a%7D%7Bb%2A}:t"));
        assert_eq!(keys.channel(ProcessId::from(1)), "bl:{prod:a%7D%7Bb%2A}:n:---------------------0");
    }
}
