//! One run over time.

use bulklink_overload::best::{Best, try_limits};
use bulklink_overload::contestants::Contestant;
use bulklink_overload::describe::describe;
use bulklink_overload::plant::Plant;
use bulklink_overload::plants::Set;
use bulklink_overload::simulation::run;

/// The lines of a trace.
const LINES: u32 = 40;

/// Prints the limit and the goodput over the time of one run for each plant and controller.
pub(crate) fn print(sets: &[(Set, Vec<Plant>)], contestants: &[Contestant], seed: u64) {
    for plant in sets.iter().flat_map(|(_, plants)| plants) {
        println!("{}: {}", plant.name, describe(plant));
        for contestant in contestants {
            trace(plant, contestant, seed);
        }
    }
}

/// Prints the goodput of each fixed limit.
pub(crate) fn print_fixed(sets: &[(Set, Vec<Plant>)], threads: usize) {
    for (_, plants) in sets {
        for (plant, tried) in plants.iter().zip(try_limits(plants, threads)) {
            println!("{}: {}", plant.name, describe(plant));
            for Best { limit, goodput, latency, refused } in tried {
                println!("{limit:4} {goodput:9.1}/s  p99 {latency:.3} s  refused {refused:.3}");
            }
        }
    }
}

fn trace(plant: &Plant, contestant: &Contestant, seed: u64) {
    let run = run(plant, &mut *(contestant.make)(plant, seed), seed);
    println!("\n{}, seed {seed}: the limit, and calls in time", contestant.name);
    let step = (plant.end / f64::from(LINES)).max(1.0);
    let mut from = 0.0;
    while from < plant.end {
        let to = (from + step).min(plant.end);
        let good = run.good_between(from, to);
        println!("{from:8.1} s  {:6.1}  {good:8.1}/s", run.mean_between(from, to));
        from = to;
    }
    println!(
        "{} good, {} late, {} failed, {} refused, {} unfinished; mean limit {:.1}",
        run.good, run.late, run.failed, run.refused, run.unfinished, run.mean_limit
    );
}
