//! The runs of a set with all controllers.

use serde::Serialize;

use crate::best::Best;
use crate::contestants::Contestant;
use crate::known::Known;
use crate::plant::Plant;
use crate::pool;
use crate::score::{Score, score};
use crate::simulation::run;

/// The first seed of the table; those below were used for tuning.
pub const FIRST_SEED: u64 = 101;

/// What to run.
#[derive(Clone, Debug)]
pub struct Order {
    /// The controllers.
    pub contestants: Vec<Contestant>,
    /// The number of seeds, from [`FIRST_SEED`].
    pub seeds: u64,
    /// The number of threads, which changes no result.
    pub threads: usize,
    /// The best fixed limits that need not be found again.
    pub known: Known,
}

/// A line of the record: a run.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    set: &'static str,
    plant: &'static str,
    controller: &'static str,
    seed: u64,
    offered: u64,
    retried: u64,
    good: u64,
    late: u64,
    failed: u64,
    refused_calls: u64,
    unfinished: u64,
    /// Its figures.
    #[serde(flatten)]
    pub score: Score,
}

impl Record {
    /// Returns the line as JSON.
    ///
    /// # Panics
    ///
    /// Never: it has only numbers and names.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("numbers and names")
    }
}

/// The runs of a set.
#[derive(Clone, Debug)]
pub struct Results {
    /// The name of the set.
    pub set: &'static str,
    /// Its plants.
    pub plants: Vec<Plant>,
    /// The best fixed limit of each plant.
    pub best: Vec<Best>,
    /// The controllers.
    pub contestants: Vec<Contestant>,
    /// The runs: by plant, then by controller, then by seed.
    pub records: Vec<Record>,
    seeds: u64,
}

impl Results {
    /// Runs the plants with each controller and seed.
    pub fn measure(set: &'static str, plants: Vec<Plant>, order: &Order) -> Self {
        let best = order.known.complete(&plants, order.threads);
        let contestants = order.contestants.clone();
        let seeds = FIRST_SEED..FIRST_SEED + order.seeds;
        let mut jobs = vec![];
        for place in plants.iter().zip(&best) {
            for contestant in &contestants {
                jobs.extend(seeds.clone().map(|seed| (place, contestant, seed)));
            }
        }
        let records = pool::map(&jobs, order.threads, |((plant, best), contestant, seed)| {
            record(set, plant, best, contestant, *seed)
        });
        Results { set, plants, best, contestants, records, seeds: order.seeds }
    }

    /// Returns the runs of a plant with a controller.
    pub fn of(&self, plant: usize, contestant: usize) -> &[Record] {
        let seeds = self.seeds as usize;
        let first = (plant * self.contestants.len() + contestant) * seeds;
        &self.records[first..first + seeds]
    }

    /// Returns the runs that belong to a quick run of so many seeds.
    pub fn quick(&self, seeds: u64) -> impl Iterator<Item = &Record> {
        let is_quick = |contestant: &usize| self.contestants[*contestant].is_quick;
        let all = (0..self.plants.len()).flat_map(move |plant| {
            (0..self.contestants.len()).filter(is_quick).map(move |contestant| (plant, contestant))
        });
        all.flat_map(move |(plant, contestant)| &self.of(plant, contestant)[..seeds as usize])
    }

    /// Returns the median of a figure over the seeds.
    pub fn median(&self, plant: usize, contestant: usize, figure: Figure) -> f64 {
        let mut values: Vec<f64> = self.of(plant, contestant).iter().map(|record| figure(&record.score)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Returns the lowest goodput of the seeds.
    pub fn worst(&self, plant: usize, contestant: usize) -> f64 {
        self.of(plant, contestant).iter().map(|record| record.score.goodput).fold(f64::INFINITY, f64::min)
    }
}

/// A figure of a run.
pub type Figure = fn(&Score) -> f64;

fn record(set: &'static str, plant: &Plant, best: &Best, contestant: &Contestant, seed: u64) -> Record {
    let run = run(plant, &mut *(contestant.make)(plant, seed), seed);
    Record {
        set,
        plant: plant.name,
        controller: contestant.name,
        seed,
        offered: run.offered,
        retried: run.retried,
        good: run.good,
        late: run.late,
        failed: run.failed,
        refused_calls: run.refused,
        unfinished: run.unfinished,
        score: score(plant, &run, best),
    }
}
