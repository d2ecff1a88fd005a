//! Rows that are none: each is replaced by a closed one in a new, larger generation.

use std::time::Duration;

use bulklink_breaker::store::{Changes, CircuitStore, Force, Forced, Report};
use bulklink_breaker::{Counts, ProbeId, Settings, State};
use bulklink_circuits::outcomes;
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
    runtime.block_on(async {
        let store = RedisStore::new(&server.url()).unwrap().circuits().answer_timeout(Duration::from_secs(20));
        let (name, namespace) = (name("payments"), Namespace::new("prod").unwrap());
        let key = Keys::new(&name).circuit();
        let settings = Settings::of_last(5).failures(2).cool_down(Duration::from_secs(3600));
        let mut changes = store.changes(&namespace).await.unwrap();
        let mut newest = 0;
        for (number, damage) in DAMAGES.iter().enumerate() {
            let Forced::Done(open) = store.force(&name, None, Force::Open).await.unwrap() else { panic!("{damage:?}") };
            assert!(open.generation > newest, "{damage:?}");
            assert_eq!(changes.next().await.unwrap().row, open);
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
            assert_eq!(store.list(&namespace).await, Ok(vec![]), "{damage:?}");
            // By any operation.
            let row = match number % 4 {
                0 => store.load(&name, &settings).await.unwrap(),
                1 => store.admit_probe(&name, &settings, ProbeId(1)).await.unwrap().row,
                2 => {
                    let report = Report::Closed { generation: open.generation, outcomes: outcomes(&settings, "ff") };
                    let reported = store.report(&name, &settings, &report).await.unwrap();
                    assert!(!reported.counted, "{damage:?}");
                    reported.row
                }
                _ => match store.force(&name, Some(open.generation), Force::Open).await.unwrap() {
                    Forced::Stale(row) => row,
                    done @ Forced::Done(_) => panic!("{damage:?}: {done:?}"),
                },
            };
            assert_eq!((row.state, row.counts, row.probes), (State::Closed, Counts::default(), 0), "{damage:?}");
            assert!(row.generation > open.generation, "{damage:?}: {row:?}");
            assert_eq!(changes.next().await.unwrap().row.generation, row.generation, "{damage:?}");
            let report = Report::Closed { generation: row.generation, outcomes: outcomes(&settings, ".ff") };
            let reported = store.report(&name, &settings, &report).await.unwrap();
            assert_eq!((reported.counted, reported.row.state), (true, State::Open), "{damage:?}");
            newest = changes.next().await.unwrap().row.generation;
        }
    });
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
