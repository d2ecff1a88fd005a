//! The figures of a run, beside the best fixed limit.

use serde::Serialize;

use crate::best::Best;
use crate::plant::Plant;
use crate::simulation::Run;

/// The share of the capacity that counts as recovered.
const RECOVERED: f64 = 0.9;

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// Goodput in time, divided by that of the best fixed limit.
    pub goodput: f64,
    /// The mean limit.
    pub limit: f64,
    /// The mean distance from the best limit in the second half, in octaves.
    pub error: f64,
    /// The 99th percentile of the latency, divided by that of the best fixed limit; `None` if no
    /// call was good.
    pub latency: Option<f64>,
    /// The share of the calls that was rejected.
    pub refused: f64,
    /// The seconds from the change to three seconds at 90 % of the new capacity; `None` if that
    /// did not come, or if nothing changes.
    pub recovery: Option<f64>,
    /// The mean limit of the last tenth, divided by that of the first.
    pub drift: f64,
}

/// Returns the calls each second that succeed before their deadline.
pub fn goodput(plant: &Plant, run: &Run) -> f64 {
    run.good as f64 / plant.span()
}

/// Computes the figures of a run.
pub fn score(plant: &Plant, run: &Run, best: &Best) -> Score {
    let latency = run.latency(0.99) / best.latency;
    let tenth = plant.span() * 0.1;
    let first = run.mean_between(plant.warm, plant.warm + tenth);
    let last = run.mean_between(plant.end - tenth, plant.end);
    Score {
        goodput: goodput(plant, run) / best.goodput,
        limit: run.mean_limit,
        error: error(plant, run, best),
        latency: (!latency.is_nan()).then_some(latency),
        refused: run.refused_share(),
        recovery: plant.change.and_then(|change| recovery(plant, run, change)),
        drift: last / first,
    }
}

fn error(plant: &Plant, run: &Run, best: &Best) -> f64 {
    let late = run.limits.iter().filter(|(time, _)| *time > plant.end / 2.0);
    let octaves = |limit: u32| libm::log2(f64::from(limit) / f64::from(best.limit)).abs();
    let (sum, count) = late.fold((0.0, 0.0), |(sum, count), (_, limit)| (sum + octaves(*limit), count + 1.0));
    sum / count
}

/// The seconds from a change until three seconds in a row have 90 % of what is possible after it,
/// before the next change.
fn recovery(plant: &Plant, run: &Run, change: f64) -> Option<f64> {
    let later = plant.backend.phases.iter().map(|phase| phase.from).find(|from| *from > change + 1.0);
    let next = later.unwrap_or(plant.end).min(plant.end) as usize;
    let wanted = plant.capacity(change + 0.01) * RECOVERED;
    let mean =
        |second: usize| run.by_second[second..second + 3].iter().map(|calls| f64::from(*calls)).sum::<f64>() / 3.0;
    let recovered = (change as usize..next.saturating_sub(2)).find(|second| mean(*second) >= wanted);
    recovered.map(|second| second as f64 - change)
}
