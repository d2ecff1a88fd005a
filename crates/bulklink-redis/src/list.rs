//! Which names there are.

use std::collections::BTreeSet;
use std::time::Duration;

use bulklink_fleet::{Name, Namespace, StoreError};
use redis::{ConnectionInfo, Pipeline, Value};

use crate::error::of_server;
use crate::link::node::{Node, Purpose, text_of};
use crate::link::route;

/// How many keys a server looks at in one step.
const STEP: usize = 1000;

/// The end of a key that each limit has once.
pub(crate) const SHARES: &str = "}:S";

/// The end of the key of a circuit.
#[cfg(feature = "breaker")]
pub(crate) const CIRCUITS: &str = "}:C";

/// The names with a key of this end, in a namespace, or in all.
pub(crate) async fn names(
    info: &ConnectionInfo,
    timeout: Duration,
    end: &str,
    namespace: Option<&Namespace>,
) -> Result<Vec<Name>, StoreError> {
    // A namespace has no byte that means something in a pattern.
    let pattern = format!("bl:{{{}:*{}", namespace.map_or("*", Namespace::as_str), end);
    let look = |info| Node::connect(info, timeout, Purpose::Look, None);
    let first = look(info.clone()).await?;
    let mut names = BTreeSet::new();
    match primaries(&first, timeout).await? {
        None => scan(&first, timeout, end, &pattern, &mut names).await?,
        Some(primaries) => {
            for (host, port) in primaries {
                let node = look(route::at(info, &host, port)).await?;
                scan(&node, timeout, end, &pattern, &mut names).await?;
            }
        }
    }
    Ok(names.into_iter().collect())
}

/// The hosts and ports of all primaries, or `None` outside a cluster.
async fn primaries(node: &Node, timeout: Duration) -> Result<Option<BTreeSet<(String, u16)>>, StoreError> {
    let ranges = match ask(node, timeout, &["CLUSTER", "SLOTS"]).await? {
        Value::Array(ranges) => ranges,
        // This instance has cluster support disabled.
        Value::ServerError(error) if error.code() == "ERR" => return Ok(None),
        Value::ServerError(error) => return Err(of_server(&error)),
        _ => return Err(StoreError::MALFORMED),
    };
    let primary = |range: &Value| {
        let Value::Array(range) = range else { return None };
        let Value::Array(primary) = range.get(2)? else { return None };
        let (host, Value::Int(port)) = (primary.first()?, primary.get(1)?) else { return None };
        Some((text_of(host).unwrap_or_default().to_owned(), u16::try_from(*port).ok()?))
    };
    let primaries: Option<_> = ranges.iter().map(primary).collect();
    primaries.map(Some).ok_or(StoreError::MALFORMED)
}

async fn scan(
    node: &Node,
    timeout: Duration,
    end: &str,
    pattern: &str,
    names: &mut BTreeSet<Name>,
) -> Result<(), StoreError> {
    let step = STEP.to_string();
    let mut cursor = "0".to_owned();
    loop {
        let reply = match ask(node, timeout, &["SCAN", &cursor, "MATCH", pattern, "COUNT", &step]).await? {
            Value::Array(reply) => reply,
            Value::ServerError(error) => return Err(of_server(&error)),
            _ => return Err(StoreError::MALFORMED),
        };
        let [next, Value::Array(keys)] = &reply[..] else { return Err(StoreError::MALFORMED) };
        // Keys of another form are not ours.
        names.extend(keys.iter().filter_map(text_of).filter_map(|key| name(key, end)));
        text_of(next).ok_or(StoreError::MALFORMED)?.clone_into(&mut cursor);
        if cursor == "0" {
            return Ok(());
        }
    }
}

fn name(key: &str, end: &str) -> Option<Name> {
    key.strip_prefix("bl:{")?.strip_suffix(end)?.parse().ok()
}

async fn ask(node: &Node, timeout: Duration, words: &[&str]) -> Result<Value, StoreError> {
    let mut pipeline = Pipeline::new();
    pipeline.cmd(words[0]).arg(&words[1..]);
    node.send_all(&pipeline, Some(timeout)).await?.pop().ok_or(StoreError::MALFORMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_keys_have_names() {
        assert_eq!(name("bl:{prod:a%20b}:S", SHARES).unwrap().label(), "a b");
        for key in ["bl:{prod:a b}:S", "bl:{prod:%}:S", "bl:{prod}:S", "bl:{prod:a}:R", "bl:{:a}:S", ""] {
            assert_eq!(name(key, SHARES), None, "{key}");
        }
    }
}
