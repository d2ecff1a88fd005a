//! Users of a server, and the least rights that a service needs.

/// A user with a password and rights.
#[derive(Clone, Debug)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
    /// The rules, as ACL SETUSER of Redis or CREATE ROLE of PostgreSQL takes them.
    pub rules: String,
}

/// The rights that the scripts and the connection of a service on Redis use, and no other.
const COMMANDS: &str = "+evalsha +script|load +hello +ping +client|setname +info +ssubscribe +sunsubscribe \
    +spublish +time +exists +del +hget +hmget +hgetall +hset +hdel +hlen +hkeys +zadd +zcard +zrem +zrange +zrangebyscore";

impl User {
    /// A user of Redis with the least rights of a service that shares the limits of a namespace.
    pub fn service(namespace: &str) -> Self {
        let rules = format!("resetkeys resetchannels ~bl:{{{namespace}:* &bl:{{{namespace}:* -@all {COMMANDS}");
        User { name: "service".to_owned(), password: "a-password-of-tests".to_owned(), rules }
    }
}
