//! What only a full run has: an hour of one plant, no waiting room, and the disciplines of a queue.

use bulklink_overload::contestants::Contestant;
use bulklink_overload::known::Known;
use bulklink_overload::plant::Plant;
use bulklink_overload::plants::SETS;
use bulklink_overload::results::{Order, Results};
use bulklink_overload::{queues, table};

const SEEDS: u64 = 3;

/// The plant that runs for an hour, which has 1.5 times the load that it can serve.
const LONG: &str = "d";
const HOUR: f64 = 3600.0;

/// The sets that run without a waiting room.
const ROOMLESS: [&str; 2] = ["dev", "V"];

/// Returns the sections of a full run.
pub(crate) fn tables(contestants: &[Contestant], threads: usize) -> String {
    let order = Order { contestants: contestants.to_vec(), seeds: SEEDS, threads, known: Known::default() };
    let (hour, roomless) = (table::hour(&hour(&order)), table::means(&without_room(&order)));
    let queues = queues::tables(threads);
    format!(
        "## An hour\n\nPlant d for an hour, the median of {SEEDS} seeds.\n\n{hour}\n\
         ## Without a waiting room\n\nGeometric mean and worst plant, of the medians of {SEEDS} seeds, beside the \
         best limit without a room.\n\n{roomless}\n\
         ## Queues with deadlines\n\n{QUEUES}\n\n{queues}"
    )
}

const QUEUES: &str = "\
A queue before slots of one speed; an admitted call is never cut short. The figures are goodput in
time ÷ min(offered, capacity), at load .5, .8, 1, 2, 5 and 10, and their geometric mean; medians of
5 seeds. *D* is the time from arrival to deadline. *Served late*: the share of the served calls; and
*overtaken*: the share of the calls given up after a younger one had been served, both at load 2 on
the held-out plant (QH) where they are most. The gate has FIFO with a reserve; the other disciplines
are those of this simulation only.";

fn hour(order: &Order) -> Results {
    let plants = (SETS[0].plants)().into_iter().filter(|plant| plant.short_name() == LONG);
    let plants = plants.map(|plant| Plant { end: plant.warm + HOUR, ..plant });
    Results::measure("hour", plants.collect(), order)
}

fn without_room(order: &Order) -> Vec<Results> {
    let sets = SETS.into_iter().filter(|set| ROOMLESS.contains(&set.name));
    let measure = |set: bulklink_overload::plants::Set| {
        let plants = (set.plants)().into_iter().map(|plant| plant.room(0));
        Results::measure(set.name, plants.collect(), order)
    };
    sets.map(measure).collect()
}
