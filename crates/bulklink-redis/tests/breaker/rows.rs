//! Rows that are none: each is replaced by a closed one in a new, larger generation.

use std::time::Duration;

use bulklink_fleet::circuits::{Changes, CircuitStore, Force};
use bulklink_redis::plumbing::Keys;
use bulklink_redis::{Namespace, RedisStore};
use bulklink_servers::{Server, require};

use crate::world::{name, runtime};

/// Fields with texts that no script writes. An empty name is the whole key.
const DAMAGES: [[&str; 2]; 24] = [
    ["s", "x"],
    ["s", ""],
    ["g", "-1"],
    ["g", "1e3"],
    ["g", "99999999999999999999"],
    ["g", "nan"],
    ["u", ""],
    ["u", "x"],
    ["u", "-1"],
    ["r", "x"],
    ["n", "1"],
    ["n", "1 x"],
    ["w", "x"],
    ["w", "......"],
    ["p", ""],
    ["p", "0.5"],
    ["x", "x"],
    ["y", "99999999999999999999"],
    ["b", "x"],
    ["b", "0000000000000001:00000000000000ff"],
    ["b", "0000000000000001:"],
    ["", "string"],
    ["", "list"],
    ["", "other"],
];

#[test]
fn a_damaged_row_is_replaced() {
    let (server, runtime) = (require!(Server::start()), runtime());
    let store = RedisStore::new(&server.url()).unwrap().circuits().answer_timeout(Duration::from_secs(20));
    let (name, namespace) = (name("payments"), Namespace::new("prod").unwrap());
    let key = Keys::new(&name).circuit();
    let damage = |damage: &[&str; 2]| {
        match damage {
            ["", kind] => {
                server.call(&["DEL", &key]);
                match *kind {
                    "string" => server.call(&["SET", &key, "x"]),
                    "list" => server.call(&["RPUSH", &key, "x"]),
                    _ => server.call(&["HSET", &key, "s", "o"]),
                }
            }
            [field, text] => server.call(&["HSET", &key, field, text]),
        };
    };
    runtime.block_on(bulklink_circuits::a_damaged_row_is_replaced(&store, (&namespace, &name), &DAMAGES, damage));
}

#[test]
fn other_messages_are_ignored() {
    let (server, runtime) = (require!(Server::start()), runtime());
    runtime.block_on(async {
        let store = RedisStore::new(&server.url()).unwrap().circuits();
        let mut changes = store.changes(&Namespace::new("prod").unwrap()).await.unwrap();
        for text in ["", "x", "a 1", "a 9 9 9 9 9 9 9 9 9 9"] {
            server.call(&["PUBLISH", "bl:{prod:}:c", text]);
        }
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(changes.next().await.unwrap().name, name("payments"));
    });
}
