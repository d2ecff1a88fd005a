//! `cargo xtask mutants`: puts small faults into the core and into the machines of circuit and
//! fleet, one at a time, by `.cargo/mutants.toml`. The tests must catch each fault, except those
//! that `mutants.toml` of its package lists because they make no difference.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use crate::run::{code, command, run};
use crate::step::Step;
use crate::toolchain::programs;
use crate::workspace;

/// The options of `cargo xtask mutants`.
#[derive(Args, Clone)]
pub(crate) struct Options {
    /// How many mutants are built and tested in parallel
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: u32,
    /// Only this package [default: all that have a `mutants.toml`]
    #[arg(long, value_name = "NAME", value_parser = TARGETS.map(|target| target.0))]
    package: Option<String>,
    /// Only the K-th of N parts, counted from 0; the other parts of the list are not compared. With
    /// `today` as K, N days try each part once
    #[arg(long, value_name = "K/N", value_parser = |asked: &str| shard(asked, SystemTime::now()))]
    shard: Option<String>,
}

const VERSION: &str = "27.1.0";

/// A package, the tests that must catch its mutants, and how many random scripts each runs. A
/// breaker and a guard for tasks and threads have races: only the circuit's tests are exact, and so
/// are those of a fleet's machines.
#[derive(Clone, Copy)]
struct Target(&'static str, &'static [&'static str], &'static str);

const TARGETS: [Target; 3] = [
    Target("bulklink-core", &["--tests"], "24"),
    Target(
        "bulklink-breaker",
        &["--test=circuit", "--test=circuit_properties", "--test=exhaustive_circuit", "--test=settings"],
        "24",
    ),
    Target(
        "bulklink-fleet",
        &["--lib", "--test=allocator", "--test=share", "--test=shares", "--test=replicas", "--test=circuits"],
        "300",
    ),
];

/// The least share of viable mutants that must be caught, of 1,000.
const LEAST: usize = 950;

/// Fewer scripts than usual, the same in every run, without shrinking: the first script catches
/// most mutants.
const TESTS: [(&str, &str); 3] =
    [("BULKLINK_DEPTH", "2"), ("PROPTEST_RNG_SEED", "1"), ("PROPTEST_MAX_SHRINK_ITERS", "0")];

/// The exit codes of a complete run of cargo-mutants in which some were missed or timed out.
const COMPLETE: [i32; 2] = [2, 3];

/// Mutants of a file that survive because they make no difference, each as often as it survives in
/// the function that it names.
#[derive(Deserialize)]
struct Equivalent {
    file: String,
    #[serde(rename = "reason")]
    _reason: String,
    mutations: Vec<String>,
}

impl Target {
    fn list(self) -> String {
        format!("crates/{}/mutants.toml", self.0)
    }

    fn output(self) -> PathBuf {
        workspace::target_path("mutation").join(self.0)
    }
}

/// Replaces `today` by the number of the day, modulo the number of parts.
fn shard(asked: &str, now: SystemTime) -> Result<String> {
    let Some(parts) = asked.strip_prefix("today/") else { return Ok(asked.to_owned()) };
    let day = now.duration_since(UNIX_EPOCH)?.as_secs() / (24 * 60 * 60);
    let part = day.checked_rem(parts.parse()?).context("there is no part of none")?;
    Ok(format!("{part}/{parts}"))
}

/// The steps of `cargo xtask mutants`.
pub(crate) fn steps(options: Options) -> Vec<Step> {
    let is_asked = |target: &Target| options.package.as_ref().is_none_or(|package| package == target.0);
    let step = |target: Target| {
        let options = options.clone();
        Step::new(format!("mutants of {}", target.0), move || test(target, &options))
    };
    TARGETS.into_iter().filter(is_asked).map(step).collect()
}

fn test(target: Target, options: &Options) -> Result<()> {
    fs::create_dir_all(target.output())?;
    let list = listed(&fs::read_to_string(workspace::root().join(target.list()))?)?;
    let cargo_mutants = programs::from_registry("cargo-mutants", VERSION)?;
    let mut test = command(cargo_mutants, &["mutants", "--no-shuffle", "--package", target.0, "--output"]);
    test.arg(target.output()).args(["--jobs", &options.jobs.to_string()]);
    test.args(options.shard.iter().flat_map(|shard| ["--shard", shard, "--sharding", "round-robin"]));
    // Each job builds in a copy of the workspace, which has its own target folder.
    test.arg("--").args(target.1).envs(TESTS).env("PROPTEST_CASES", target.2).env_remove("CARGO_TARGET_DIR");
    match run(&mut test) {
        Err(error) if code(&error).is_none_or(|code| !COMPLETE.contains(&code)) => Err(error),
        _ => compare(target, &list, options.shard.is_none()),
    }
}

/// Compares the mutants that survived with the list, and judges how many were caught.
fn compare(target: Target, list: &[String], all: bool) -> Result<()> {
    let lines = |name: &str| -> Result<Vec<String>> {
        let path = target.output().join("mutants.out").join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    // A test that hangs has caught its mutant.
    let (caught, missed) = (lines("caught.txt")?.len() + lines("timeout.txt")?.len(), lines("missed.txt")?);
    let survivors = missed.iter().map(|line| without_line(line).with_context(|| format!("not a mutant: {line}")));
    let differences = differences(list, &survivors.collect::<Result<Vec<_>>>()?, all);
    // Rounded down.
    let score = 1000 * caught / (caught + missed.len()).max(1);
    println!("mutants: {caught} caught, {} survive: {score} of 1,000 caught, at least {LEAST}", missed.len());
    ensure!(differences.is_empty(), "{} differs from the result:\n{}", target.list(), differences.join("\n"));
    ensure!(!all || score >= LEAST, "too few mutants are caught");
    Ok(())
}

/// Turns `file:line:column: mutation` into `file: mutation`. Lines move; the text names the
/// function.
fn without_line(mutant: &str) -> Option<String> {
    let (place, mutation) = mutant.split_once(": ")?;
    Some(format!("{}: {mutation}", place.split(':').next()?))
}

fn listed(list: &str) -> Result<Vec<String>> {
    let mut list: BTreeMap<String, Vec<Equivalent>> = toml::from_str(list)?;
    let list = list.remove("equivalent").context("no list `equivalent`")?;
    let of_file = |Equivalent { file, mutations, .. }| mutations.into_iter().map(move |text| format!("{file}: {text}"));
    Ok(list.into_iter().flat_map(of_file).collect())
}

/// The mutants that survive more often than they are listed and, if all were tested, those that are
/// listed more often than they survive.
fn differences(listed: &[String], survivors: &[String], all: bool) -> Vec<String> {
    let count = |list: &[String], mutant| list.iter().filter(|other| *other == mutant).count();
    let mutants: BTreeSet<_> = listed.iter().chain(survivors).collect();
    let difference = |mutant| match count(survivors, mutant).cmp(&count(listed, mutant)) {
        Ordering::Greater => Some(format!("survives, but is not listed: {mutant}")),
        Ordering::Less if all => Some(format!("listed, but does not survive: {mutant}")),
        _ => None,
    };
    mutants.into_iter().filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_parts_take_turns_by_the_day() {
        let shard = |asked| shard(asked, UNIX_EPOCH + Duration::from_hours(24 * 35 + 23)).ok();
        let parts = ["5/16", "today/16", "today/1", "today/0", "today/x"].map(shard);
        assert_eq!(parts.each_ref().map(Option::as_deref), [Some("5/16"), Some("3/16"), Some("0/1"), None, None]);
    }

    #[test]
    fn survivors_and_list_must_be_the_same() {
        let list = "[[equivalent]]\nfile = 'a.rs'\nreason = 'none'\nmutations = ['replace | in f', 'replace | in f']\n\
                    [[equivalent]]\nfile = 'b.rs'\nreason = 'none'\nmutations = ['replace g']\n";
        assert!(listed(&list.replacen("reason", "why", 1)).is_err(), "an entry must have a reason");
        let list = listed(list).unwrap();
        let (f, g) = ("a.rs:1:1: replace | in f", "b.rs:2:2: replace g");
        for (survivors, all, found) in [
            (&[g, "a.rs:3:4: replace | in f", f][..], true, &[][..]),
            (&[f, f, f], false, &["survives, but is not listed: a.rs: replace | in f"]),
            (&[f, f], true, &["listed, but does not survive: b.rs: replace g"]),
            (&[f, f], false, &[]),
        ] {
            let survivors: Vec<_> = survivors.iter().map(|line| without_line(line).unwrap()).collect();
            assert_eq!(differences(&list, &survivors, all), found);
        }
    }
}
