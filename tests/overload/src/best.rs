//! The best fixed limit of a plant, by trying many.

use crate::contestants::fixed;
use crate::plant::Plant;
use crate::pool;
use crate::score::goodput;
use crate::simulation::run;

/// The limits that are tried.
pub const LIMITS: [u32; 31] = [
    1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 44, 48, 56, 64, 72, 80, 96, 112, 128, 160, 200,
    300, 400,
];

/// The seeds of the runs, which are not those of the controllers.
const SEEDS: [u64; 2] = [501, 502];

/// A long plant under one load is tried for this long.
const SPAN: f64 = 150.0;

/// Of the limits whose goodput is at least this share of the best, the smallest is taken.
const AS_GOOD: f64 = 0.995;

/// The best fixed limit of a plant.
#[derive(Clone, Copy, Debug)]
pub struct Best {
    /// The limit.
    pub limit: u32,
    /// The highest goodput of all limits, in calls each second.
    pub goodput: f64,
    /// The 99th percentile of the latency with this limit, in seconds.
    pub latency: f64,
    /// The share of the calls that it rejects.
    pub refused: f64,
}

/// Finds the best fixed limit of each plant.
pub fn best(plants: &[Plant], threads: usize) -> Vec<Best> {
    try_limits(plants, threads).iter().map(|tried| choose(tried)).collect()
}

/// Runs each plant with each of the limits.
pub fn try_limits(plants: &[Plant], threads: usize) -> Vec<Vec<Best>> {
    let shorter = |plant: &Plant| {
        let is_long = plant.end > 500.0 && plant.load.len() == 1;
        Plant { end: if is_long { plant.warm + SPAN } else { plant.end }, ..plant.clone() }
    };
    let shorter: Vec<Plant> = plants.iter().map(shorter).collect();
    let jobs: Vec<_> = shorter.iter().flat_map(|plant| LIMITS.map(|limit| (plant, limit))).collect();
    let tried = pool::map(&jobs, threads, |(plant, limit)| try_limit(plant, *limit));
    tried.chunks(LIMITS.len()).map(<[Best]>::to_vec).collect()
}

fn try_limit(plant: &Plant, limit: u32) -> Best {
    let runs = SEEDS.map(|seed| run(plant, &mut *fixed(limit), seed));
    let mean =
        |figure: &dyn Fn(&crate::simulation::Run) -> f64| runs.iter().map(figure).sum::<f64>() / runs.len() as f64;
    Best {
        limit,
        goodput: mean(&|run| goodput(plant, run)),
        latency: mean(&|run| run.latency(0.99)),
        refused: mean(&|run| run.refused_share()),
    }
}

fn choose(tried: &[Best]) -> Best {
    let goodput = tried.iter().map(|best| best.goodput).fold(0.0, f64::max);
    let first = tried.iter().find(|best| best.goodput >= goodput * AS_GOOD);
    Best { goodput, ..*first.expect("the best is as good as itself") }
}
