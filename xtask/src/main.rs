//! `cargo xtask`: a subcommand for everything that this project builds, checks and measures.

mod api;
mod bench;
mod cfg;
mod contests;
mod deny;
mod embedded;
mod fuzz;
mod links;
mod lint;
mod msrv;
mod mutants;
mod nightly;
mod no_std;
mod package;
mod release;
mod run;
mod size;
mod step;
mod suites;
mod test;
mod tidy;
mod toolchain;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use step::Step;

/// Builds, checks and measures Bulklink. Needs a stable Rust; some commands need more and name it.
///
/// Every command prints its steps and the commands it runs. The first failure ends the run with the
/// exit code of the command that failed.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
    /// Fail if a compiler or a target is missing, instead of skipping the steps that need it
    #[arg(long, global = true)]
    no_skip: bool,
}

#[derive(Subcommand)]
enum Task {
    /// Run the tests that a change needs, many programs of them side by side
    Test {
        /// Install a missing Redis or PostgreSQL through apt-get without asking
        #[arg(long)]
        yes: bool,
    },
    /// Run what takes longer: the exhaustive search and random scripts, both longer than in `test`;
    /// the tests of the benches; the front without features, and without its fast path; loom
    Prove {
        /// Install a missing Redis or PostgreSQL through apt-get without asking
        #[arg(long)]
        yes: bool,
    },
    /// Run every script of inputs up to a depth against the reference models
    Exhaustive {
        /// The inputs of a script of the gate, without prelude and last input
        #[arg(long, value_name = "N", default_value_t = test::PROVEN_DEPTH)]
        depth: u32,
    },
    /// Run long random scripts against the reference models
    Properties {
        /// The number of scripts of each kind
        #[arg(long, value_name = "N", default_value_t = test::PROVEN_CASES)]
        cases: u32,
    },
    /// Run scripts that libFuzzer makes of bytes against the reference model; needs nightly
    Fuzz {
        /// The time to run
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u32,
    },
    /// Put small faults into the core and into a breaker's circuit, one at a time; exits with 1 if
    /// the tests miss a fault that mutants.toml does not list
    Mutants(mutants::Options),
    /// Replay the recorded traces; exits with 1 if the behaviour differs from a trace
    Conformance {
        /// The folder of traces [default: the one in the repository]
        dir: Option<PathBuf>,
    },
    /// Run the loom scenes of front and breaker, with the fast path and without it
    Loom,
    /// Check format, clippy, docs and tidy; a warning fails
    Lint,
    /// Check the rules that neither rustc nor clippy knows; prints `path:line: rule: text`
    Tidy,
    /// Check that core, front and a breaker's circuit build without the standard library, on
    /// bare-metal targets
    NoStd,
    /// Measure the code size of the core on a microcontroller; exits with 1 above 8 KiB
    Size,
    /// Run the examples for microcontrollers in QEMU, and that for WebAssembly in node; exits with
    /// 1 if one fails, hangs, or prints other text than expected
    Embedded {
        /// Replace the expected texts by those that the programs print
        #[arg(long)]
        write: bool,
    },
    /// Check the published crates with the oldest Rust and dependencies that they support
    Msrv,
    /// Build the packages of all crates, and with them, unpacked, what a user builds: programs with
    /// each feature, and the docs as docs.rs does
    Package,
    /// Check licences, duplicate versions, sources and advisories of all dependencies
    Deny,
    /// Check what belongs to a release and is not checked on each commit, and print the commands
    /// that publish it; publishes nothing
    Release {
        /// Required, because there is no other run
        #[arg(long)]
        dry_run: bool,
    },
    /// Compare the public API of all libraries with the recorded listings, check that each of its
    /// types has a name, and find the changes since the last release that break users
    Api {
        /// Replace the recorded listings by those of the sources
        #[arg(long)]
        write: bool,
        /// Install cargo-semver-checks if it is missing, which compiles 400 crates; without it, the
        /// changes since the last release are those of the listings
        #[arg(long)]
        install: bool,
    },
    /// Measure Bulklink and its peers: a table and JSON; installs valgrind if it may
    Bench(bench::Options),
    /// Measure how many requests are answered in time while too many come: a table, a plot and JSON
    Overload(contests::Overload),
    /// Judge the limit of a fleet from outside, beside other schemes: a table and JSON; needs Redis
    /// and PostgreSQL
    Fleet(contests::Fleet),
    /// Measure a circuit breaker beside its peers, and judge the circuit that processes share: two
    /// tables and JSON; needs Redis and PostgreSQL
    Breaker(contests::Contest),
    /// Run everything: lint, test, no-std, embedded, msrv, prove, the isolation example, the bench
    /// gate
    Ci,
}

fn main() -> ExitCode {
    if let Some(code) = cfg::compile().or_else(nightly::document) {
        return code;
    }
    let Cli { task, no_skip } = Cli::parse();
    match step::run_all(steps(task), no_skip) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            run::exit_code(&error)
        }
    }
}

fn steps(task: Task) -> Vec<Step> {
    match task {
        Task::Test { yes } => test::steps(yes),
        Task::Prove { yes } => test::proofs(yes),
        Task::Exhaustive { depth } => vec![test::exhaustive(depth)],
        Task::Properties { cases } => vec![test::properties(cases)],
        Task::Fuzz { seconds } => fuzz::steps(seconds),
        Task::Mutants(options) => mutants::steps(options),
        Task::Conformance { dir } => vec![test::conformance(dir)],
        Task::Loom => vec![test::loom()],
        Task::Lint => lint::steps(),
        Task::Tidy => vec![tidy::step()],
        Task::NoStd => no_std::steps(),
        Task::Size => size::steps(),
        Task::Embedded { write } => embedded::steps(write),
        Task::Msrv => msrv::steps(),
        Task::Package => package::steps(),
        Task::Deny => deny::steps(),
        Task::Release { dry_run } => release::steps(dry_run),
        Task::Api { write, install } => api::steps(write, install),
        Task::Bench(options) => bench::steps(options),
        Task::Overload(options) => contests::overload(options),
        Task::Fleet(options) => contests::fleet(options),
        Task::Breaker(options) => contests::breaker(options),
        Task::Ci => all(),
    }
}

/// The steps of `cargo xtask ci`, ordered so that the cheapest fail first.
fn all() -> Vec<Step> {
    let isolation = || run::run(&mut run::cargo(&["run", "-p", "isolation"]));
    let checks = [lint::steps(), test::steps(false), no_std::steps(), embedded::steps(false), msrv::steps()];
    let checks = checks.into_iter().flatten().chain(test::proofs(false));
    checks.chain([Step::new("isolation", isolation)]).chain(bench::gate()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_that_may_install_servers_can_be_told_not_to_ask() {
        for task in ["test", "prove", "fleet", "breaker"] {
            assert!(Cli::try_parse_from(["xtask", task, "--yes"]).is_ok(), "{task}");
        }
        assert!(Cli::try_parse_from(["xtask", "loom", "--yes"]).is_err(), "it needs none");
    }

    #[test]
    fn an_option_of_the_simulation_of_overload_needs_it() {
        let parses = |options: &[&str]| Cli::try_parse_from([&["xtask", "overload"], options].concat()).is_ok();
        assert!(parses(&[]) && parses(&["--quick"]) && parses(&["--sim", "--quick", "--check"]));
        assert!(parses(&["--sim", "--full", "--set", "V", "--set", "W", "--controller", "Knee", "--trace"]));
        for option in [["--full"], ["--check"], ["--trace"], ["--only=V5"], ["--set=V"]] {
            assert!(!parses(&option), "{option:?}");
        }
        assert!(!parses(&["--sim", "--full", "--quick"]) && !parses(&["--sim", "--write", "a.md"]));
        assert!(parses(&["--adaptive", "--write", "a.md"]) && parses(&["--sweep", "--quick"]));
        assert!(!parses(&["--sim", "--adaptive"]) && !parses(&["--sweep", "--write", "a.md"]));
    }
}
