//! Disciplines of a queue with deadlines. The gate has one of them; so this queue is its own.

pub mod discipline;
mod holds;
pub mod plant;
pub mod simulation;

use std::fmt::Write;

use self::discipline::{DISCIPLINES, Discipline};
use self::plant::{DEV, HELD_OUT, Plant};
use self::simulation::{Figures, run};
use crate::pool;
use crate::results::FIRST_SEED;

/// The loads, as multiples of what the slots can serve.
const LOADS: [f64; 6] = [0.5, 0.8, 1.0, 2.0, 5.0, 10.0];

/// The load at which late and overtaken calls are counted.
const OVERLOAD: usize = 3;

const SEEDS: u64 = 5;

/// Returns the tables of the disciplines: over all plants, and for each of them.
pub fn tables(threads: usize) -> String {
    let plants: Vec<Plant> = DEV.into_iter().chain(HELD_OUT).collect();
    let mut jobs = vec![];
    for discipline in DISCIPLINES {
        jobs.extend(plants.iter().flat_map(|plant| LOADS.map(|load| (discipline, plant, load))));
    }
    let medians = pool::map(&jobs, threads, |(discipline, plant, load)| median(plant, *discipline, *load));
    let rows: Vec<_> = DISCIPLINES.iter().zip(medians.chunks(plants.len() * LOADS.len())).collect();
    summary(&rows) + "\n" + &details(&plants, &rows)
}

/// The run with the median goodput.
fn median(plant: &Plant, discipline: Discipline, load: f64) -> Figures {
    let mut runs: Vec<Figures> =
        (FIRST_SEED..FIRST_SEED + SEEDS).map(|seed| run(plant, discipline, load, seed)).collect();
    runs.sort_by(|one, other| one.good.total_cmp(&other.good));
    runs[runs.len() / 2]
}

fn summary(rows: &[(&Discipline, &[Figures])]) -> String {
    let mut table = String::from(
        "| discipline | dev | held-out .5 … 10× | held-out mean (lowest) | served late, most | overtaken, most |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for (discipline, figures) in rows {
        let (dev, held_out) = figures.split_at(DEV.len() * LOADS.len());
        let at = |load: usize| geometric_mean(held_out.iter().skip(load).step_by(LOADS.len()));
        let by_load: Vec<_> = (0..LOADS.len()).map(|load| format!("{:.2}", at(load))).collect();
        let lowest = held_out.iter().map(|figures| figures.good).fold(f64::INFINITY, f64::min);
        let most =
            |of: fn(&Figures) -> f64| held_out.iter().skip(OVERLOAD).step_by(LOADS.len()).map(of).fold(0.0, f64::max);
        let _ = writeln!(
            table,
            "| {} | {:.3} | {} | {:.3} ({lowest:.2}) | {:.2} | {:.2} |",
            discipline.name,
            geometric_mean(dev.iter()),
            by_load.join(" "),
            geometric_mean(held_out.iter()),
            most(|figures| figures.late),
            most(|figures| figures.overtaken),
        );
    }
    table
}

fn details(plants: &[Plant], rows: &[(&Discipline, &[Figures])]) -> String {
    let names: Vec<_> = plants.iter().map(|plant| plant.name).collect();
    let mut table = format!("| discipline | {} |\n| ---{} |\n", names.join(" | "), " | ---".repeat(names.len()));
    for (discipline, figures) in rows {
        let cells = figures
            .chunks(LOADS.len())
            .map(|plant| plant.iter().map(|figures| format!("{:.2}", figures.good)).collect::<Vec<_>>().join(" "));
        let _ = writeln!(table, "| {} | {} |", discipline.name, cells.collect::<Vec<_>>().join(" | "));
    }
    table
}

fn geometric_mean<'a>(figures: impl Iterator<Item = &'a Figures>) -> f64 {
    let (sum, count) =
        figures.fold((0.0, 0.0), |(sum, count), figures| (sum + libm::log(figures.good.max(1e-3)), count + 1.0));
    libm::exp(sum / count)
}
