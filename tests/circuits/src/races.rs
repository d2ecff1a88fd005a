//! Many connections to one circuit at the same time.
//!
//! `BULKLINK_ROUNDS` sets the number of rounds of the test.

use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bulklink_breaker::{Mark, Pass, ProbeId, Settings, State};
use bulklink_fleet::Name;
use bulklink_fleet::circuits::{CircuitStore, Force, Report, Row};

use crate::subject::{Subject, name, outcomes};

/// The connections of a race.
pub const CONNECTIONS: u32 = 16;

/// The failures that open the circuit of a race: two of each connection.
pub const FAILURES: u32 = 2 * CONNECTIONS;

/// The probes that may run in a race, and that must succeed.
pub const PROBES: u32 = 3;

/// The rounds of the test.
const ROUNDS: u64 = 100;

/// So many oddities end a race: the server is gone.
const HOPELESS: u64 = 100;

const START: u64 = 1_000_000_000;

/// What came of a race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raced {
    /// The rounds that have ended.
    pub rounds: u64,
    /// Probes that were let through beyond the limit.
    pub excess: u64,
    /// Places for probes that no connection got.
    pub vacant: u64,
    /// Outcomes that were reported and did not count.
    pub lost: u64,
    /// Operations that failed, and circuits in a generation or state that none of this explains.
    pub odd: u64,
    /// The first of all these.
    pub first: Option<String>,
}

/// Nothing is lost, and no probe is one too many.
pub fn no_probe_too_many_and_no_outcome_lost<S: Subject>(subject: &S) {
    let rounds = env::var("BULKLINK_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number"));
    assert_eq!(race(subject, rounds), Raced { rounds, ..Raced::default() });
}

/// Each round goes once around: all connections report two failures, of which the last opens the
/// circuit; all ask for a probe, and the three that run must all count for it to close.
///
/// So one outcome that is lost, or one probe too many or too few, is seen in the row. A round that
/// went wrong is counted and put right, and the next one begins as any other.
pub fn race<S: Subject>(subject: &S, rounds: u64) -> Raced {
    let race = Race {
        settings: Settings::of_last(FAILURES)
            .failures(FAILURES)
            .probes(PROBES)
            .close_after(PROBES)
            .cool_down(Duration::from_micros(1))
            .probe_lease(Duration::from_hours(1)),
        name: name("race"),
        barrier: Barrier::new(CONNECTIONS as usize),
        generation: AtomicU64::new(0),
        admitted: AtomicU64::new(0),
        counted: AtomicU64::new(0),
        raced: Mutex::default(),
    };
    subject.set_now(START);
    thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            let (store, race) = (subject.store(), &race);
            scope.spawn(move || Racer { subject, store, race, number }.run(rounds));
        }
    });
    race.raced.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What all connections have in common. A connection that stopped alone would leave the others at
/// the barrier, so faults are only noted.
struct Race {
    settings: Settings,
    name: Name,
    barrier: Barrier,
    /// That of the closed circuit in which the round begins.
    generation: AtomicU64,
    /// How many connections got a probe.
    admitted: AtomicU64,
    /// How many reports counted, by their answers.
    counted: AtomicU64,
    raced: Mutex<Raced>,
}

impl Race {
    fn raced(&self) -> MutexGuard<'_, Raced> {
        self.raced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: impl FnOnce() -> String, count: impl FnOnce(&mut Raced) -> &mut u64, number: u64) {
        if number > 0 {
            let mut raced = self.raced();
            let text = format!("round {}: {}", raced.rounds, what());
            raced.first.get_or_insert(text);
            *count(&mut raced) += number;
        }
    }
}

/// A connection. The one with number zero looks at the circuit between the steps.
struct Racer<'a, S: Subject> {
    subject: &'a S,
    store: S::Store,
    race: &'a Race,
    number: u32,
}

impl<S: Subject> Racer<'_, S> {
    fn run(&self, rounds: u64) {
        let race = self.race;
        // Connects. The first of them makes the row.
        if let Some(row) = self.load() {
            race.generation.store(row.generation, Ordering::SeqCst);
        }
        for round in 0..rounds {
            self.step(|| self.fail_twice());
            self.alone(|| self.must_be_open(round));
            self.step(|| self.probe(round));
            self.alone(|| self.must_be_closed());
            if race.raced().odd > HOPELESS {
                return;
            }
        }
    }

    /// Runs a step of all connections at the same time.
    fn step<T>(&self, step: impl FnOnce() -> T) -> T {
        self.race.barrier.wait();
        let done = step();
        self.race.barrier.wait();
        done
    }

    /// Runs a step of the first connection while the others wait.
    fn alone(&self, step: impl FnOnce()) {
        if self.number == 0 {
            step();
        }
        self.race.barrier.wait();
    }

    fn generation(&self) -> u64 {
        self.race.generation.load(Ordering::SeqCst)
    }

    fn fail_twice(&self) {
        let outcomes = outcomes(&self.race.settings, "ff");
        self.report(Report::Closed { generation: self.generation(), outcomes });
    }

    fn must_be_open(&self, round: u64) {
        let counted = self.race.counted.swap(0, Ordering::SeqCst) * 2;
        let Some(mut row) = self.load() else { return };
        let failures = if row.state == State::Closed { row.counts.failures } else { counted };
        let lost = u64::from(FAILURES).saturating_sub(counted.min(failures));
        self.race.note(|| format!("failures lost: {row:?}"), |raced| &mut raced.lost, lost);
        for _ in 0..CONNECTIONS {
            if row.state != State::Closed {
                break;
            }
            self.fail_twice();
            row = self.load().unwrap_or(row);
        }
        self.race.counted.store(0, Ordering::SeqCst);
        let is_odd = row.state == State::Closed || row.generation != self.generation() + 1;
        self.race.note(|| format!("not just opened: {row:?}"), |raced| &mut raced.odd, is_odd.into());
        self.subject.set_now(START + round + 1);
    }

    fn probe(&self, round: u64) {
        let (race, settings) = (self.race, &self.race.settings);
        let id = ProbeId(round * u64::from(CONNECTIONS) + u64::from(self.number));
        let asked = self.subject.block_on(self.store.admit_probe(&race.name, settings, id));
        race.note(|| format!("{asked:?}"), |raced| &mut raced.odd, asked.is_err().into());
        let pass = asked.ok().and_then(|asked| asked.admission.ok());
        race.admitted.fetch_add(pass.is_some().into(), Ordering::SeqCst);
        // No probe ends before all have asked: the place of one that has ended may be taken.
        race.barrier.wait();
        if let Some(Pass { generation, .. }) = pass {
            self.report(Report::Probe { generation, id, outcome: Some(Mark::default()) });
        }
    }

    fn must_be_closed(&self) {
        let [admitted, counted] = [&self.race.admitted, &self.race.counted].map(|sum| sum.swap(0, Ordering::SeqCst));
        let Some(mut row) = self.load() else { return };
        let most = u64::from(PROBES);
        let what = || format!("{admitted} probes, of which {counted} counted: {row:?}");
        self.race.note(what, |raced| &mut raced.excess, admitted.saturating_sub(most));
        self.race.note(what, |raced| &mut raced.vacant, most.saturating_sub(admitted));
        let told = if row.state == State::Closed { counted } else { u64::from(row.probe_successes) };
        self.race.note(what, |raced| &mut raced.lost, admitted.min(most).saturating_sub(counted.min(told)));
        let is_closed = row.state == State::Closed && row.generation == self.generation() + 3;
        self.race.note(what, |raced| &mut raced.odd, (admitted == most && counted == most && !is_closed).into());
        if !is_closed {
            let forced = self.store.force(&self.race.name, None, Force::Closed);
            let forced = self.subject.block_on(forced).is_ok();
            self.race.note(|| "it cannot be closed".to_owned(), |raced| &mut raced.odd, (!forced).into());
            row = self.load().unwrap_or(row);
        }
        self.race.generation.store(row.generation, Ordering::SeqCst);
        self.race.raced().rounds += 1;
    }

    fn load(&self) -> Option<Row> {
        let row = self.subject.block_on(self.store.load(&self.race.name, &self.race.settings));
        self.race.note(|| format!("{row:?}"), |raced| &mut raced.odd, row.is_err().into());
        row.ok()
    }

    fn report(&self, report: Report) {
        let reported = self.subject.block_on(self.store.report(&self.race.name, &self.race.settings, &report));
        self.race.note(|| format!("{reported:?}"), |raced| &mut raced.odd, reported.is_err().into());
        self.race.counted.fetch_add(reported.is_ok_and(|reported| reported.counted).into(), Ordering::SeqCst);
    }
}
