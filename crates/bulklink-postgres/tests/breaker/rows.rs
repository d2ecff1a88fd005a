//! Rows that are none: each is replaced by a closed one in a new, larger generation.

use bulklink_circuits::namespace;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force};
use bulklink_servers::require;

use crate::world::{circuits, name, runtime, start};

/// What another program may have written: a line of the text, or another text.
const DAMAGES: [(&str, &str); 31] = [
    ("s", "x"),
    ("s", ""),
    ("s", "c"),
    ("u", ""),
    ("u", "-1"),
    ("g", "-1"),
    ("g", "9223372036854775807"),
    ("g", "x"),
    ("r", "-1"),
    ("r", "4294967296"),
    ("w", "x"),
    ("w", "......................................................."),
    ("w", "1 2"),
    ("p", "-1"),
    ("p", "9223372036854775807"),
    ("n", "1"),
    ("n", "5 0 2 0 1 9007199254740992 0 1 0 1 1 1 1 1"),
    ("n", "0 0 2 0 1 9007199254740992 0 1 0 1 1 1 1 1 1"),
    ("n", "5 0 2 0 1 9007199254740992 0 1 0 9007199254740993 1 1 1 1 1"),
    ("n", "0 5000 2 0 1 9007199254740992 0 1 0 1 1 1 1 1 1"),
    ("x", "-1"),
    ("x", "4294967295"),
    ("y", "x"),
    ("b", "x"),
    ("b", "0000000000000001:00000000000000ff"),
    ("b", "9999999999999999999:1"),
    ("d", "x"),
    ("d", "+1"),
    ("q", "1"),
    ("", ""),
    ("", "s o\ns o"),
];

#[test]
fn a_damaged_row_is_replaced() {
    let (server, runtime) = (require!(start()), runtime());
    let (store, name) = (circuits(&server.url()), name("payments"));
    let damage = |&(letter, value): &(&str, &str)| {
        let text = match letter {
            "" => format!("'{value}'"),
            "q" => format!("data || 'q {value}'"),
            letter => format!("regexp_replace(data, '(^|\\n){letter} [^\\n]*', E'\\\\1{letter} {value}')"),
        };
        server.sql(&format!("UPDATE bulklink.circuit SET data = {text}"));
    };
    runtime.block_on(bulklink_circuits::a_damaged_row_is_replaced(&store, (&namespace(), &name), &DAMAGES, damage));
}

#[test]
fn other_notifications_are_ignored() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = circuits(&server.url());
        let mut changes = store.changes(&namespace()).await.unwrap();
        for text in ["", "x", "test:a 1", "test:a 9 9 9 9 9 9 9 9 9 9", "other:a 1 7 2 0 0 0 0 0 0 0"] {
            server.sql(&format!("SELECT pg_notify('bulklink_circuit', '{text}')"));
        }
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(changes.next().await.unwrap().name, name("payments"));
    });
}
