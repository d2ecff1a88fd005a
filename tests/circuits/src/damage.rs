//! Rows that are none.

use std::fmt::Debug;
use std::time::Duration;

use bulklink_breaker::{Counts, ProbeId, Settings, State};
use bulklink_fleet::circuits::{Changes, CircuitStore, Force, Forced, Report};
use bulklink_fleet::{Name, Namespace};

use crate::outcomes;

/// A damaged row is replaced by a closed one in a new, larger generation, by any operation.
/// `damage` does one of these damages to the row of that name.
pub async fn a_damaged_row_is_replaced<D: Debug>(
    store: &impl CircuitStore,
    (namespace, name): (&Namespace, &Name),
    damages: &[D],
    damage: impl Fn(&D),
) {
    let settings = Settings::of_last(5).failures(2).cool_down(Duration::from_hours(1));
    let mut changes = store.changes(namespace).await.unwrap();
    let mut newest = 0;
    for (number, which) in damages.iter().enumerate() {
        let Forced::Done(open) = store.force(name, None, Force::Open).await.unwrap() else { panic!("{which:?}") };
        assert!(open.generation > newest, "{which:?}");
        assert_eq!(changes.next().await.unwrap().row, open);
        damage(which);
        assert_eq!(store.list(namespace).await, Ok(vec![]), "{which:?}");
        let row = match number % 4 {
            0 => store.load(name, &settings).await.unwrap(),
            1 => store.admit_probe(name, &settings, ProbeId(1)).await.unwrap().row,
            2 => {
                let report = Report::Closed { generation: open.generation, outcomes: outcomes(&settings, "ff") };
                let reported = store.report(name, &settings, &report).await.unwrap();
                assert!(!reported.counted, "{which:?}");
                reported.row
            }
            _ => match store.force(name, Some(open.generation), Force::Open).await.unwrap() {
                Forced::Stale(row) => row,
                done @ Forced::Done(_) => panic!("{which:?}: {done:?}"),
            },
        };
        assert_eq!((row.state, row.counts, row.probes), (State::Closed, Counts::default(), 0), "{which:?}");
        assert!(row.generation > open.generation, "{which:?}: {row:?}");
        assert_eq!(changes.next().await.unwrap().row.generation, row.generation, "{which:?}");
        let report = Report::Closed { generation: row.generation, outcomes: outcomes(&settings, ".ff") };
        let reported = store.report(name, &settings, &report).await.unwrap();
        assert_eq!((reported.counted, reported.row.state), (true, State::Open), "{which:?}");
        newest = changes.next().await.unwrap().row.generation;
    }
}
