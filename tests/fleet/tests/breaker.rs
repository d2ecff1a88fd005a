//! Short scenes of the circuit that processes share, on real servers, and a store that they find
//! at fault.

#![cfg(unix)]
#![allow(clippy::float_cmp, reason = "what is counted is a whole number")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink_circuits::{Memory, Raced, race};
use bulklink_contest::breaker::{Effort, Ground, Naive, Register, Scene, Site, rows};
use bulklink_contest::report::Row;
use bulklink_servers::require;

fn missed(rows: &[Row]) -> Vec<(&str, f64)> {
    let missed = rows.iter().filter(|row| !row.holds());
    missed.map(|row| (row.what.split(',').next().unwrap(), row.ours.clone().unwrap())).collect()
}

#[test]
fn every_scene_has_its_rows_on_both_servers() {
    let ground = require!(Ground::start(env!("CARGO_BIN_EXE_fleet-contest").into()));
    for (scene, limits) in Scene::ALL.into_iter().zip([6, 4, 2, 2]) {
        let rows = scene.run(&ground, &Effort::SHORT).unwrap();
        assert_eq!(rows.iter().filter(|row| row.limit.is_some()).count(), limits, "{rows:#?}");
        for server in ["PostgreSQL", "Redis"] {
            let named = rows.iter().filter(|row| row.limit.is_some() && row.what.ends_with(server));
            assert_eq!(named.count(), limits / 2, "{rows:#?}");
        }
        // A busy machine may need more time than is promised, but never less.
        let figures: Vec<_> = rows.iter().map(|row| row.ours.clone().unwrap()).collect();
        match scene {
            Scene::Race => assert_eq!(missed(&rows), []),
            Scene::Cost => assert!(figures.chunks(2).all(|pair| pair[0] == 0.0 && pair[1] < 1.5), "{rows:#?}"),
            Scene::Peer => {}
            Scene::Crash => assert!(figures.iter().all(|time| *time > 990.0), "{rows:#?}"),
        }
    }
}

/// A text in memory, which others may write between a read and a write.
#[derive(Clone, Default)]
struct InMemory(Arc<Mutex<String>>);

impl Register for InMemory {
    fn read(&mut self) -> String {
        let text = self.0.lock().unwrap().clone();
        std::thread::sleep(Duration::from_millis(2));
        text
    }

    fn write(&mut self, text: &str) {
        text.clone_into(&mut self.0.lock().unwrap());
    }
}

#[test]
fn a_store_that_reads_and_then_writes_loses_outcomes_and_admits_too_many_probes() {
    let text = InMemory::default();
    let raced = race(&Site::new(move || Naive::new(text.clone())).unwrap(), 5);
    let rows = rows("memory", &raced, 1.0);
    let missed = missed(&rows);
    // A lost write may also take back that the circuit opened, which is odd, or leave a place
    // empty.
    for what in ["probes above the limit", "outcomes lost"] {
        assert!(missed.iter().any(|(row, number)| *row == what && *number > 5.0), "{raced:?}");
    }
    assert_eq!(race(&Memory::new(), 5), Raced { rounds: 5, ..Raced::default() });
}
