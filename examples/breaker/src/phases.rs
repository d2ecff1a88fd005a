//! What each worker has counted in each phase of the dependency.

use super::dependency::{Dependency, Mood, SCRIPT};
use super::worker::{Counts, Worker};

/// The counters of all workers at the end of each phase, and now.
#[derive(Default)]
pub(crate) struct Phases(Vec<Vec<Counts>>);

impl Phases {
    /// Notes the counters.
    pub(crate) fn note(&mut self, dependency: &Dependency, workers: &[Worker]) {
        self.0.resize(dependency.phase() + 1, Vec::new());
        if let Some(now) = self.0.last_mut() {
            *now = workers.iter().map(Worker::counts).collect();
        }
    }

    /// What each worker has counted while the dependency was in this mood.
    fn counts(&self, mood: Mood) -> Vec<Counts> {
        let phases = self.0.windows(2).zip(&SCRIPT[1..]).filter(|(_, known)| **known == mood);
        let changes = |(ends, _): (&[Vec<Counts>], _)| {
            ends[1].iter().zip(&ends[0]).map(|(now, before)| now.since(*before)).collect::<Vec<_>>()
        };
        phases.map(changes).next_back().unwrap_or_default()
    }

    /// Prints how each worker has noticed that the dependency failed, and that it was slow: by its
    /// failures or timeouts, and then by calls that the circuit has rejected. Returns whether all
    /// have.
    pub(crate) fn show(&self) -> bool {
        let show = |mood| {
            let counts = self.counts(mood);
            let all = |count: fn(&Counts) -> u64| {
                let numbers: Vec<_> = counts.iter().map(|counts| count(counts).to_string()).collect();
                numbers.join(", ")
            };
            let (timed_out, rejected) = (all(|counts| counts.timed_out), all(|counts| counts.rejected));
            println!("while it {mood}: timed out by worker {timed_out}; rejected {rejected}");
            let has_noticed = |counts: &Counts| counts.rejected > 0 && (counts.timed_out > 0 || mood != Mood::IsSlow);
            counts.len() == super::WORKERS && counts.iter().all(has_noticed)
        };
        // Both are printed.
        [Mood::Fails, Mood::IsSlow].map(show) == [true; 2]
    }
}
