//! `cargo xtask mutants`: puts small faults into the core and into a breaker's circuit, one at a
//! time. The tests must catch each fault, except those that `mutants.toml` lists because they make
//! no difference.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use crate::run::{code, command, run};
use crate::step::Step;
use crate::toolchain::programs;
use crate::workspace;

/// The options of `cargo xtask mutants`.
#[derive(Args)]
pub(crate) struct Options {
    /// How many mutants are built and tested in parallel
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: u32,
    /// Only this package [default: all that have a `mutants.toml`]
    #[arg(long, value_name = "NAME", value_parser = TARGETS.map(|target| target.package))]
    package: Option<String>,
    /// Only the K-th of N parts, counted from 0; the other parts of the list are not compared
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
}

const VERSION: &str = "27.1.0";

/// What is mutated.
#[derive(Clone, Copy)]
struct Target {
    package: &'static str,
    /// Its files that are mutated.
    files: &'static str,
    /// The tests that must catch the mutants.
    tests: &'static [&'static str],
}

/// A breaker and a guard for tasks and threads have races: only the circuit's tests are exact.
const TARGETS: [Target; 2] = [
    Target { package: "bulklink-core", files: "crates/bulklink-core/src/**", tests: &["--tests"] },
    Target {
        package: "bulklink-breaker",
        files: "crates/bulklink-breaker/src/circuit/**",
        tests: &[
            "--test",
            "circuit",
            "--test",
            "circuit_properties",
            "--test",
            "exhaustive_circuit",
            "--test",
            "settings",
        ],
    },
];

/// The least share of viable mutants that must be caught, in tenths of a percent.
const LEAST: usize = 950;

/// Fewer scripts than usual, the same in every run, without shrinking: the first script catches
/// most mutants.
const TESTS: [(&str, &str); 4] =
    [("BULKLINK_DEPTH", "2"), ("PROPTEST_CASES", "24"), ("PROPTEST_RNG_SEED", "1"), ("PROPTEST_MAX_SHRINK_ITERS", "0")];

/// The exit codes of a complete run of cargo-mutants in which some were missed or timed out.
const COMPLETE: [i32; 2] = [2, 3];

/// The list of mutants that survive because they make no difference.
#[derive(Deserialize)]
struct List {
    equivalent: Vec<Entry>,
}

/// Mutations of a file, each as often as it survives in the function that it names.
#[derive(Deserialize)]
struct Entry {
    file: String,
    #[serde(rename = "reason")]
    _reason: String,
    mutations: Vec<String>,
}

impl Target {
    fn list(self) -> String {
        format!("crates/{}/mutants.toml", self.package)
    }

    fn output(self) -> PathBuf {
        workspace::target_path("mutation").join(self.package)
    }
}

/// The steps of `cargo xtask mutants`.
pub(crate) fn steps(options: Options) -> Vec<Step<'static>> {
    let options = Rc::new(options);
    let is_asked = |target: &Target| options.package.as_ref().is_none_or(|package| package == target.package);
    let steps = |target: Target| {
        let (options, all) = (options.clone(), options.shard.is_none());
        let name = |what| format!("{what} the mutants of {}", target.package);
        [
            Step::new(name("test"), move || test(target, &options)),
            Step::new(name("compare"), move || compare(target, all)),
        ]
    };
    TARGETS.into_iter().filter(is_asked).flat_map(steps).collect()
}

fn test(target: Target, options: &Options) -> Result<()> {
    fs::create_dir_all(target.output())?;
    let cargo_mutants = programs::from_registry("cargo-mutants", VERSION)?;
    let mut test = command(cargo_mutants, &["mutants", "--no-config", "--no-shuffle"]);
    test.args(["--package", target.package, "--file", target.files]);
    test.args(["--profile", "mutants", "--minimum-test-timeout", "60", "--output"]).arg(target.output());
    test.args(["--jobs", &options.jobs.to_string()]);
    if let Some(shard) = &options.shard {
        test.args(["--shard", shard, "--sharding", "round-robin"]);
    }
    // Each job builds in a copy of the workspace, which has its own target folder.
    test.arg("--").args(target.tests).envs(TESTS).env_remove("CARGO_TARGET_DIR");
    match run(&mut test) {
        Err(error) if code(&error).is_some_and(|code| COMPLETE.contains(&code)) => Ok(()),
        result => result,
    }
}

/// Compares the mutants that survived with the list, and judges how many were caught.
fn compare(target: Target, all: bool) -> Result<()> {
    let lines = |name: &str| -> Result<Vec<String>> {
        let path = target.output().join("mutants.out").join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let (caught, timed_out) = (lines("caught.txt")?.len(), lines("timeout.txt")?.len());
    let (missed, unviable) = (lines("missed.txt")?, lines("unviable.txt")?.len());
    let survivors = missed.iter().map(|line| without_line(line).with_context(|| format!("not a mutant: {line}")));
    let list = listed(&fs::read_to_string(workspace::root().join(target.list()))?)?;
    let differences = differences(&list, &survivors.collect::<Result<Vec<_>>>()?, all);
    let missed = missed.len();
    // Rounded down. A test that hangs has caught its mutant.
    let score = 1000 * (caught + timed_out) / (caught + timed_out + missed).max(1);
    println!("mutants: {caught} caught, {timed_out} timed out, {missed} survive; {unviable} do not compile");
    println!("caught: {}.{} %, at least {}.{} %", score / 10, score % 10, LEAST / 10, LEAST % 10);
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
    let of_entry = |entry: Entry| entry.mutations.into_iter().map(move |text| format!("{}: {text}", entry.file));
    Ok(toml::from_str::<List>(list)?.equivalent.into_iter().flat_map(of_entry).collect())
}

/// The mutants that survive and are not listed and, if all were tested, the listed mutants that do
/// not survive.
fn differences(listed: &[String], survivors: &[String], all: bool) -> Vec<String> {
    let unlisted =
        without(survivors, listed).into_iter().map(|mutant| format!("survives, but is not listed: {mutant}"));
    let caught = if all { without(listed, survivors) } else { vec![] };
    unlisted.chain(caught.into_iter().map(|mutant| format!("listed, but does not survive: {mutant}"))).collect()
}

/// The first list without the second. A mutant that is twice in the first and once in the second
/// stays.
fn without<'a>(mutants: &'a [String], others: &[String]) -> Vec<&'a String> {
    let mut left: Vec<_> = mutants.iter().collect();
    for other in others {
        if let Some(place) = left.iter().position(|mutant| *mutant == other) {
            left.remove(place);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_and_list_must_be_the_same() {
        let list = "[[equivalent]]\nfile = 'a.rs'\nreason = 'none'\nmutations = ['replace | in f', 'replace | in f']\n\
                    [[equivalent]]\nfile = 'b.rs'\nreason = 'none'\nmutations = ['replace g']\n";
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
        assert_eq!(without_line("nothing"), None);
    }

    #[test]
    fn an_entry_must_have_a_reason_and_the_lists_in_the_repository_can_be_read() {
        assert!(listed("[[equivalent]]\nfile = 'a.rs'\nmutations = []\n").is_err());
        for target in TARGETS {
            let list = fs::read_to_string(workspace::root().join(target.list())).unwrap();
            assert!(listed(&list).is_ok(), "{}", target.list());
        }
    }
}
