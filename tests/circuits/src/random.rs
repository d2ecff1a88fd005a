//! Random operations to a store and to the one in memory, which is a `Circuit`, in virtual time.
//! After each, the answer, the notices and all rows must be equal.
//!
//! `BULKLINK_OPERATIONS` sets the number of operations, `BULKLINK_SEED` the first script.

use std::env;
use std::time::Duration;

use bulklink_breaker::{Mark, ProbeId, Settings};
use bulklink_fleet::Name;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force, Operation, Reply, Report};
use fastrand::Rng;
use futures_util::FutureExt;

use crate::memory::Memory;
use crate::subject::{PATIENCE, Subject, block_on, listen, name, namespace, outcomes};

/// The operations of a script. Short ones begin without rows more often.
const STEPS: usize = 200;

const OPERATIONS: usize = 6_000;

/// What an operation did. One by hand has no settings.
async fn run(store: &impl CircuitStore, name: &Name, settings: &Settings, operation: &Operation) -> Reply {
    let settings = Some(settings).filter(|_| !matches!(operation, Operation::Force(..)));
    store.operate(name, settings, operation).await.expect("the server runs")
}

fn all_settings() -> Vec<Settings> {
    let millis = Duration::from_millis;
    let micros = Duration::from_micros;
    let count = Settings::of_last(5).failures(3).cool_down(millis(3)).probe_lease(millis(1));
    let time = Settings::over(millis(10)).failure_rate(40).min_calls(4).cool_down(micros(700));
    vec![
        count.probes(2).close_after(3).reopen_after(2).longest_cool_down(millis(10)),
        count.slow_calls(millis(1), 2).probes(3),
        Settings::consecutive(2).cool_down(micros(900)).probes(2).probe_lease(micros(500)),
        Settings::of_last(7).failure_rate(51).slow_rate(millis(5), 30).cool_down(millis(1)),
        time.probes(2).close_after(2).probe_lease(micros(300)).longest_cool_down(millis(4)),
        time.slow_rate(millis(2), 60),
        Settings::over(millis(25)).slow_calls(millis(1), 3).cool_down(millis(2)),
    ]
}

/// One script: its commands, and its memory.
struct Script {
    random: Rng,
    now: u64,
    all: Vec<Settings>,
    usual: Settings,
    ids: Vec<ProbeId>,
}

impl Script {
    fn new(seed: u64) -> Self {
        let (mut random, all) = (Rng::with_seed(seed), all_settings());
        let usual = all[random.usize(..all.len())];
        Script { random, now: 5_000_000 + seed * 1_000_000_000, all, usual, ids: vec![] }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(..100) < percent
    }

    fn pass_time(&mut self) {
        let back = if self.chance(3) { self.random.choice([900, 5_000, 400_000]).unwrap_or(0) } else { 0 };
        self.now += self.random.choice([0, 1, 50, 300, 500, 700, 900, 1000, 3000, 12_000]).unwrap_or(0);
        self.now -= back;
    }

    fn settings(&mut self) -> Settings {
        if self.chance(3) { self.all[self.random.usize(..self.all.len())] } else { self.usual }
    }

    fn id(&mut self) -> ProbeId {
        if self.chance(60) || self.ids.is_empty() {
            let id = ProbeId(self.random.u64(..));
            self.ids.push(id);
            return id;
        }
        let recent = self.ids.len().saturating_sub(5);
        self.ids[self.random.usize(recent..self.ids.len())]
    }

    fn old_id(&mut self) -> ProbeId {
        let recent = self.ids.len().saturating_sub(5);
        self.ids.get(self.random.usize(recent..=self.ids.len())).copied().unwrap_or(ProbeId(9))
    }

    fn operation(&mut self, settings: &Settings, present: u64) -> Operation {
        let generation = if self.chance(92) { present } else { present.saturating_sub(self.random.u64(..3)) };
        match self.random.u32(..100) {
            0..4 => Operation::Load,
            4..34 => Operation::Admit(self.id()),
            34..66 => {
                let count = self.random.choice([0, 1, 1, 2, 3, 9]).unwrap_or(0);
                let marks: String =
                    (0..count).filter_map(|_| self.random.choice(['.', '.', '.', 'f', 's', 'b'])).collect();
                Operation::Report(Report::Closed { generation, outcomes: outcomes(settings, &marks) })
            }
            66..96 => {
                let mark = Mark { failed: self.chance(30), slow: self.chance(10) };
                let outcome = if self.chance(90) { Some(mark) } else { None };
                Operation::Report(Report::Probe { generation, id: self.old_id(), outcome })
            }
            _ => {
                let expected = if self.chance(50) { Some(generation) } else { None };
                let force = if self.chance(40) { Force::Open } else { Force::Closed };
                Operation::Force(force, expected)
            }
        }
    }
}

fn setting(name: &str, default: usize) -> usize {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Every answer, every row and every change is that of a `Circuit`.
pub fn the_store_does_what_the_circuit_does<S: Subject>(subject: &S) {
    let (operations, first) = (setting("BULKLINK_OPERATIONS", OPERATIONS), setting("BULKLINK_SEED", 0));
    let (model, store) = (Memory::new(), subject.store());
    let (ours, told) = (model.store(), listen(subject));
    let mut changes = block_on(ours.changes(&namespace())).expect("memory has it");
    let mut transitions = 0;
    for seed in first..first + operations / STEPS {
        let mut script = Script::new(seed as u64);
        // Of one row, so that its name shows the script.
        let name = name(&format!("script {seed}"));
        let mut log = vec![format!("{:?}", script.usual)];
        let mut present = 0;
        for _ in 0..STEPS {
            script.pass_time();
            if script.chance(1) {
                // A lost row never has the generation of this very moment.
                script.now += 5_000;
                subject.lose(&name);
                model.lose(&name);
                present = 0;
                log.push("lose".to_owned());
            }
            subject.set_now(script.now);
            model.set_now(script.now);
            let settings = script.settings();
            let operation = script.operation(&settings, present);
            log.push(format!("{} {operation:?} {}", script.now, if settings == script.usual { "" } else { "other" }));
            let theirs = subject.block_on(run(&store, &name, &settings, &operation));
            let expected = block_on(run(&ours, &name, &settings, &operation));
            assert_eq!(theirs, expected, "script {seed}:\n{}", log.join("\n"));
            while let Some(Ok(change)) = changes.next().now_or_never() {
                transitions += 1;
                let seen = told.recv_timeout(PATIENCE);
                assert_eq!(seen.as_ref(), Ok(&change), "script {seed}:\n{}", log.join("\n"));
            }
            let rows = block_on(ours.list(&namespace())).expect("memory has it");
            present = rows.iter().find(|(known, _)| *known == name).map_or(0, |(_, row)| row.generation);
        }
        let rows = subject.block_on(store.list(&namespace())).expect("the server runs");
        let row = rows.into_iter().find(|(known, _)| *known == name);
        let expected = block_on(ours.list(&namespace())).expect("memory has it");
        assert_eq!(row, expected.into_iter().find(|(known, _)| *known == name), "script {seed}:\n{}", log.join("\n"));
    }
    assert!(told.try_recv().is_err(), "something was told twice");
    assert!(transitions > operations / 20, "{transitions} transitions");
}
