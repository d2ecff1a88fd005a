//! Many connections to one circuit at the same time.
//!
//! `BULKLINK_ROUNDS` sets the number of rounds.

use std::env;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use bulklink_breaker::store::{CircuitStore, Report, Row};
use bulklink_breaker::{Mark, ProbeId, Settings, State};

use crate::subject::{Subject, name, outcomes};

const CONNECTIONS: u32 = 16;

const PROBES: u32 = 3;

const ROUNDS: u64 = 100;

/// Each round goes once around: all connections report two failures, of which the last opens the
/// circuit; all ask for a probe, and the three that run must all count for it to close.
///
/// So one outcome that is lost, or one probe too many or too few, is seen in the state.
pub fn no_probe_too_many_and_no_outcome_lost<S: Subject>(subject: &S) {
    let rounds = env::var("BULKLINK_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number"));
    let settings = Settings::of_last(2 * CONNECTIONS).failures(2 * CONNECTIONS).probes(PROBES).close_after(PROBES);
    let settings = settings.cool_down(Duration::from_micros(1)).probe_lease(Duration::from_hours(1));
    let (barrier, admitted) = (Barrier::new(CONNECTIONS as usize), AtomicU32::new(0));
    let name = name("race");
    let start = 1_000_000_000;
    subject.set_now(start);
    thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            let (subject, barrier, admitted, name, settings) = (subject.clone(), &barrier, &admitted, &name, &settings);
            scope.spawn(move || {
                let store = subject.store();
                let load = || subject.block_on(store.load(name, settings)).expect("the server runs");
                let mut generation = load().generation;
                for round in 0..rounds {
                    barrier.wait();
                    let report = Report::Closed { generation, outcomes: outcomes(settings, "ff") };
                    let reported = subject.block_on(store.report(name, settings, &report)).expect("the server runs");
                    assert!(reported.counted, "round {round}: {:?}", reported.row);
                    barrier.wait();
                    if number == 0 {
                        let row: Row = load();
                        assert_ne!(row.state, State::Closed, "round {round}: an outcome is lost: {row:?}");
                        assert_eq!(row.generation, generation + 1, "round {round}: {row:?}");
                        admitted.store(0, Ordering::SeqCst);
                        subject.set_now(start + round + 1);
                    }
                    barrier.wait();
                    let id = ProbeId(round * u64::from(CONNECTIONS) + u64::from(number));
                    let asked = subject.block_on(store.admit_probe(name, settings, id)).expect("the server runs");
                    let pass = asked.admission.ok();
                    admitted.fetch_add(u32::from(pass.is_some()), Ordering::SeqCst);
                    barrier.wait();
                    assert_eq!(admitted.load(Ordering::SeqCst), PROBES, "round {round}");
                    if let Some(pass) = pass {
                        assert_eq!(pass.generation, generation + 2, "round {round}");
                        let outcome = Some(Mark::default());
                        let report = Report::Probe { generation: pass.generation, id, outcome };
                        let reported = subject.block_on(store.report(name, settings, &report));
                        assert!(reported.expect("the server runs").counted, "round {round}");
                    }
                    barrier.wait();
                    generation += 3;
                    if number == 0 {
                        let row: Row = load();
                        let seen = (row.state, row.generation);
                        assert_eq!(seen, (State::Closed, generation), "round {round}: an outcome is lost");
                    }
                }
            });
        }
    });
}
