//! Rows that are none: each is replaced by a closed one in a new, larger generation.

use bulklink_circuits::namespace;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force};
use bulklink_servers::require;

use crate::world::{name, patient, runtime, start};

/// What another program may have written.
const DAMAGES: [&str; 24] = [
    "state = 'x'",
    "state = 'c', until = 7",
    "until = -1",
    "generation = -1",
    "generation = 9223372036854775807",
    "reopened = -1",
    "reopened = 2147483647",
    "marks = 'x'",
    "marks = repeat('.', 100)",
    "newest = -1",
    "newest = 9223372036854775807",
    "settings = '{1}'",
    "settings = NULLIF(settings, settings) || ARRAY[NULL, 1]::bigint[]",
    "settings = array_fill(9223372036854775807, ARRAY[15])",
    "settings = array_fill(1, ARRAY[15], ARRAY[4])",
    "settings = array_fill(1, ARRAY[3, 5])",
    "parts = '{1, 2}'",
    "parts = array_fill(-1, ARRAY[30])",
    "successes = -1",
    "failures = 2147483647",
    "probes = '{x}'",
    "state = 'h', until = NULL, probes = '{NULL}'",
    "state = 'h', until = NULL, probes = '{9999999999999999999:1}'",
    "state = 'c', until = NULL, probes = '{0000000000000001:00000000000000ff}'",
];

#[test]
fn a_damaged_row_is_replaced() {
    let (server, runtime) = (require!(start()), runtime());
    let (store, name) = (patient(&server.url()).build().unwrap(), name("payments"));
    let damage = |text: &&str| {
        server.sql(&format!("UPDATE bulklink.circuit SET {text}"));
    };
    runtime.block_on(bulklink_circuits::a_damaged_row_is_replaced(&store, (&namespace(), &name), &DAMAGES, damage));
}

#[test]
fn other_notifications_are_ignored() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url()).build().unwrap();
        let mut changes = store.changes(&namespace()).await.unwrap();
        for text in ["", "x", "test:a 1", "test:a 9 9 9 9 9 9 9 9 9 9", "other:a 1 7 2 0 0 0 0 0 0 0"] {
            server.sql(&format!("SELECT pg_notify('bulklink_circuit', '{text}')"));
        }
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(changes.next().await.unwrap().name, name("payments"));
    });
}
