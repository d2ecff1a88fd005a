//! Runs the controllers on the plants, prints the tables, and writes them into the document.

mod extra;
mod trace;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use bulklink_overload::contestants::{CONTESTANTS, Contestant};
use bulklink_overload::known::{self, Known};
use bulklink_overload::plant::Plant;
use bulklink_overload::plants::{PUBLISHED, SETS, Set};
use bulklink_overload::results::{Order, Record, Results};
use bulklink_overload::{document, queues, table};
use clap::Parser;

/// The seeds of a run, of a quick and of a full one.
const SEEDS: u64 = 10;
const QUICK_SEEDS: u64 = 3;
const FULL_SEEDS: u64 = 20;

/// Compares rules for a concurrency limit in virtual time.
#[derive(Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
struct Options {
    /// Three seeds and five controllers, beside the best limits of the last whole run; writes no
    /// document
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Twenty seeds, an hour of one plant, no waiting room, and the disciplines of a queue
    #[arg(long)]
    full: bool,
    /// Write nothing, and fail unless the document is what its runs give again; with `--quick`,
    /// unless its digest is that of these runs
    #[arg(long)]
    check: bool,
    /// Run only these sets, and write no document
    #[arg(long, value_name = "SET", value_delimiter = ',')]
    set: Vec<String>,
    /// Run only these plants, by the first word of their names, and write no document
    #[arg(long, value_name = "PLANT", value_delimiter = ',')]
    only: Vec<String>,
    /// Run only these controllers, and write no document
    #[arg(long, value_name = "CONTROLLER", value_delimiter = ',')]
    controller: Vec<String>,
    /// Print the limit over the time of one run for each plant and controller
    #[arg(long)]
    trace: bool,
    /// Print the tables of the disciplines of a queue, and run no controller
    #[arg(long, conflicts_with = "trace")]
    queues: bool,
    /// Print the goodput of each fixed limit, and run no controller
    #[arg(long, conflicts_with = "trace")]
    fixed: bool,
    /// The seed of `--trace`
    #[arg(long, value_name = "N", default_value_t = bulklink_overload::results::FIRST_SEED)]
    seed: u64,
    /// The threads to run on [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The document with the tables
    #[arg(long, value_name = "FILE", default_value = "docs/OVERLOAD.md")]
    document: PathBuf,
    /// The file with the best fixed limits, which a whole run writes and a quick one reads
    #[arg(long, value_name = "FILE", default_value = "tests/overload/best.txt")]
    best: PathBuf,
    /// Write a line of JSON for each run there
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    fn seeds(&self) -> u64 {
        match (self.quick, self.full) {
            (true, _) => QUICK_SEEDS,
            (_, true) => FULL_SEEDS,
            _ => SEEDS,
        }
    }

    fn contestants(&self) -> Result<Vec<Contestant>> {
        let known = CONTESTANTS.map(|contestant| contestant.name);
        let chosen = choose("controller", &self.controller, &known)?;
        let is_run = |contestant: &Contestant| {
            if chosen.is_empty() { !self.quick || contestant.is_quick } else { chosen.contains(contestant.name) }
        };
        Ok(CONTESTANTS.into_iter().filter(is_run).collect())
    }

    fn sets(&self) -> Result<Vec<(Set, Vec<Plant>)>> {
        let known: Vec<_> = SETS.iter().map(|set| set.name).collect();
        let chosen = choose("set", &self.set, &known)?;
        let names: BTreeSet<&str> = match (chosen.is_empty(), self.only.is_empty()) {
            (false, _) => chosen,
            (true, false) => known.into_iter().collect(),
            (true, true) => PUBLISHED.into(),
        };
        let sets: Vec<_> = SETS.into_iter().filter(|set| names.contains(set.name)).collect();
        let plants: Vec<_> = sets.iter().flat_map(|set| (set.plants)()).map(|plant| plant.short_name()).collect();
        let only = choose("plant", &self.only, &plants)?;
        let is_run = |plant: &Plant| only.is_empty() || only.contains(plant.short_name());
        let sets = sets.into_iter().map(|set| (set, (set.plants)().into_iter().filter(is_run).collect::<Vec<_>>()));
        Ok(sets.filter(|(_, plants)| !plants.is_empty()).collect())
    }

    /// Whether all is run that the document has.
    fn is_whole(&self) -> bool {
        self.set.is_empty() && self.only.is_empty() && self.controller.is_empty()
    }
}

/// Returns the names that were asked for, of those that are known.
fn choose<'a>(what: &str, wanted: &[String], known: &[&'a str]) -> Result<BTreeSet<&'a str>> {
    let find = |name: &String| {
        let found = known.iter().find(|known| known.eq_ignore_ascii_case(name)).copied();
        found.with_context(|| format!("no {what} is named `{name}`; there are: {}", known.join(", ")))
    };
    wanted.iter().map(find).collect()
}

fn main() -> Result<()> {
    let mut options = Options::parse();
    if options.check && !options.quick {
        // As it was written.
        options.full |= read(&options.document)?.contains("--sim --full`: ");
    }
    ensure!(options.is_whole() || !options.check, "--check runs all; leave out --set, --only and --controller");
    let threads = options.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let (contestants, sets) = (options.contestants()?, options.sets()?);
    if options.trace {
        trace::print(&sets, &contestants, options.seed);
        return Ok(());
    }
    if options.fixed {
        trace::print_fixed(&sets, threads);
        return Ok(());
    }
    if options.queues {
        print!("{}", queues::tables(threads));
        return Ok(());
    }
    let known = if options.quick { Known::read(&read(&options.best)?)? } else { Known::default() };
    let order = Order { contestants, seeds: options.seeds(), threads, known };
    let measure = |(set, plants): (Set, Vec<Plant>)| {
        eprintln!(
            "{}: {} plants, {} controllers, {} seeds",
            set.name,
            plants.len(),
            order.contestants.len(),
            order.seeds
        );
        Results::measure(set.name, plants, &order)
    };
    let results: Vec<Results> = sets.into_iter().map(measure).collect();
    let lines: Vec<String> = results.iter().flat_map(|set| &set.records).map(Record::line).collect();
    if let Some(path) = &options.json {
        put(path, &(lines.join("\n") + "\n"))?;
    }
    if options.quick || !options.is_whole() {
        println!("{}", table::summary(&results));
        for set in &results {
            println!("{}\n{}", table::definitions(set), table::details(set));
        }
        return if options.check { check_digest(&options.document, &results) } else { Ok(()) };
    }
    write(&options, &results, threads)
}

/// Writes the document, or checks it.
fn write(options: &Options, results: &[Results], threads: usize) -> Result<()> {
    let path = &options.document;
    let old = read(path)?;
    let flag = if options.full { " --full" } else { "" };
    let about = format!(
        "`cargo xtask overload --sim{flag}`: {} seeds. Digest of the quick runs: `{:016x}`.",
        options.seeds(),
        quick_digest(results)
    );
    let mut new = document::refresh(&old, "tables", &format!("{about}\n\n{}", table::summary(results)))?;
    new = document::refresh(&new, "controllers", &table::peers(&results[0].contestants))?;
    let mut plants = String::new();
    for set in results {
        let trust = SETS.iter().find(|known| known.name == set.set).map_or("", |known| known.trust);
        let (definitions, details) = (table::definitions(set), table::details(set));
        let _ = write!(plants, "### Set {}\n\n{trust}\n\n{definitions}\n{details}\n", set.set);
    }
    new = document::refresh(&new, "plants", &plants)?;
    if options.full {
        new = document::refresh(&new, "full", &extra::tables(&results[0].contestants, threads))?;
    }
    let best = known::text(results.iter().flat_map(|set| set.plants.iter().zip(&set.best)));
    if options.check {
        document::same(&read(&options.best)?, &best).with_context(|| format!("in {}", options.best.display()))?;
        return document::same(&old, &new);
    }
    println!("{}", table::summary(results));
    put(&options.best, &best)?;
    put(path, &new)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Fails unless the document has the digest of these runs.
fn check_digest(path: &Path, results: &[Results]) -> Result<()> {
    let document = read(path)?;
    let digest = format!("{:016x}", quick_digest(results));
    ensure!(document.contains(&digest), "{} has not the digest {digest} of these runs", path.display());
    Ok(())
}

/// A number of the runs that belong to a quick one.
fn quick_digest(results: &[Results]) -> u64 {
    let records = results.iter().flat_map(|set| set.quick(QUICK_SEEDS));
    let lines: Vec<String> = records.map(Record::line).collect();
    document::digest(lines.iter().map(String::as_str))
}
