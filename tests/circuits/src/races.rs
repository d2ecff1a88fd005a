//! Many connections to one circuit at the same time.
//!
//! `BULKLINK_ROUNDS` sets the number of rounds.

use std::env;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use bulklink_breaker::store::{CircuitStore, Name, Report, Row};
use bulklink_breaker::{Mark, Pass, ProbeId, Settings, State};

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
    let race = Race { settings, ..Race::default() };
    subject.set_now(START);
    thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            let (subject, race) = (subject.clone(), &race);
            scope.spawn(move || race.run(&subject, number, rounds));
        }
    });
    let wrong = race.wrong.into_inner().expect("no thread panics with it");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const START: u64 = 1_000_000_000;

/// What all connections have in common. A connection that stopped alone would leave the others at
/// the barrier, so what is wrong is only noted until the round is over.
struct Race {
    settings: Settings,
    name: Name,
    barrier: Barrier,
    admitted: AtomicU32,
    wrong: Mutex<Vec<String>>,
}

impl Default for Race {
    fn default() -> Self {
        let barrier = Barrier::new(CONNECTIONS as usize);
        let (settings, name) = (Settings::default(), name("race"));
        Race { settings, name, barrier, admitted: AtomicU32::new(0), wrong: Mutex::default() }
    }
}

impl Race {
    fn check(&self, round: u64, is_right: bool, what: impl Debug) {
        if !is_right {
            self.wrong.lock().expect("no thread panics with it").push(format!("round {round}: {what:?}"));
        }
    }

    fn run<S: Subject>(&self, subject: &S, number: u32, rounds: u64) {
        let (store, settings) = (subject.store(), &self.settings);
        let load = || subject.block_on(store.load(&self.name, settings));
        let report = |report| subject.block_on(store.report(&self.name, settings, &report));
        let Ok(Row { mut generation, .. }) = load() else { panic!("the server runs") };
        for round in 0..rounds {
            self.barrier.wait();
            let reported = report(Report::Closed { generation, outcomes: outcomes(settings, "ff") });
            self.check(round, reported.as_ref().is_ok_and(|reported| reported.counted), &reported);
            self.barrier.wait();
            if number == 0 {
                let row = load();
                let is_open = |row: &Row| row.state != State::Closed && row.generation == generation + 1;
                self.check(round, row.as_ref().is_ok_and(is_open), ("an outcome is lost", &row));
                self.admitted.store(0, Ordering::SeqCst);
                subject.set_now(START + round + 1);
            }
            self.barrier.wait();
            let id = ProbeId(round * u64::from(CONNECTIONS) + u64::from(number));
            let asked = subject.block_on(store.admit_probe(&self.name, settings, id));
            self.check(round, asked.is_ok(), &asked);
            let pass = asked.ok().and_then(|asked| asked.admission.ok());
            self.admitted.fetch_add(u32::from(pass.is_some()), Ordering::SeqCst);
            self.barrier.wait();
            let admitted = self.admitted.load(Ordering::SeqCst);
            self.check(round, admitted == PROBES, ("probes", admitted));
            if let Some(Pass { generation, .. }) = pass {
                let reported = report(Report::Probe { generation, id, outcome: Some(Mark::default()) });
                self.check(round, reported.as_ref().is_ok_and(|reported| reported.counted), &reported);
            }
            self.barrier.wait();
            generation += 3;
            if number == 0 {
                let row = load();
                let is_closed = |row: &Row| row.state == State::Closed && row.generation == generation;
                self.check(round, row.as_ref().is_ok_and(is_closed), ("an outcome is lost", &row));
            }
            self.barrier.wait();
            if !self.wrong.lock().expect("no thread panics with it").is_empty() {
                return;
            }
        }
    }
}
