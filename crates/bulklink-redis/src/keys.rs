//! What a bulkhead is called on the server: its keys and its channels.

use bulklink_fleet::{Name, OwnerId};

/// The keys of a bulkhead. All have one hash tag, so a cluster keeps them on one node.
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

    /// Leases, waiters, sessions, settings, and what processes say about themselves: the keys of
    /// every script, in this order.
    pub fn all(&self) -> [String; 5] {
        ["L", "Q", "O", "M", "I"].map(|key| format!("{}{key}", self.prefix))
    }

    /// The key of the settings, which exists while the bulkhead does.
    #[cfg(any(feature = "tokio", feature = "smol"))]
    pub(crate) fn settings(&self) -> String {
        format!("{}M", self.prefix)
    }

    /// The key of the circuit that has the name.
    #[cfg(feature = "breaker")]
    pub fn circuit(&self) -> String {
        format!("{}C", self.prefix)
    }

    /// The shard channel on which a process receives its notices.
    pub fn channel(&self, owner: OwnerId) -> String {
        format!("{}n:{owner}", self.prefix)
    }
}

/// The channel on which the transitions of a namespace's circuits are published. It is heard on all
/// nodes of a cluster, and no bulkhead has a channel of this name, as no label is empty.
#[cfg(feature = "breaker")]
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
        let [leases, .., infos] = keys.all();
        assert_eq!((&*leases, &*infos), ("bl:{prod:a%7D%7Bb%2A}:L", "bl:{prod:a%7D%7Bb%2A}:I"));
        assert_eq!(keys.channel(OwnerId::from(1)), "bl:{prod:a%7D%7Bb%2A}:n:---------------------0");
    }
}
