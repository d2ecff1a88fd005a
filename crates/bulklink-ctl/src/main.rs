//! `bulklink-ctl` shows and changes limits and circuits that processes share on Redis, Valkey or
//! PostgreSQL. No process needs it.
//!
//! ```text
//! export BULKLINK_REDIS_URL=redis://cache.internal BULKLINK_NAMESPACE=prod
//! bulklink-ctl share list
//! bulklink-ctl share show payments
//! bulklink-ctl share resize payments 20
//! bulklink-ctl share watch payments --every 500ms
//! ```
//!
//! | command | effect |
//! | --- | --- |
//! | `share list` | lists the shared limits of the namespace, or of all with `--all-namespaces` |
//! | `share show NAME` | shows the limit, its declaration, and the units and the need of each process |
//! | `share watch [NAME]` | shows one or all of them again every second, or `--every TIME`, until Ctrl-C |
//! | `share resize NAME LIMIT` | changes the limit, unless its version has changed since it was read; `--expect VERSION` names the version |
//! | `circuit check` | looks whether the server has all that circuits need; Redis has when it answers |
//! | `circuit show [NAME]` | shows one circuit or all of the namespace; a standby is enough |
//! | `circuit force open\|closed NAME` | opens a circuit until it is closed by hand, or closes it; `--expect GENERATION` changes no other generation |
//! | `setup` | creates the tables in PostgreSQL where they are missing; `--grant ROLE` gives a role the least rights, `--part fleet` is for shares alone and `--part breaker` for circuits, and `--dry-run` only prints the statements |
//!
//! It has no share and receives no units: it looks and resizes. The live limit lasts until a
//! process declares another one with a higher number of its configuration. The units of a process
//! that has ended are free after one lease.
//!
//! `circuit force` makes a circuit that does not exist, so that one can be opened before a process
//! uses it: a wrong name is not noticed.
//!
//! # Server and credentials
//!
//! The server is that of `--url`, or of one of the variables `BULKLINK_REDIS_URL` and
//! `BULKLINK_POSTGRES_URL`: `redis://`, `rediss://`, `valkey://`, `valkeys://` or `unix://`, or
//! `postgresql://` or `postgres://`.
//! The URL names the user: `redis://operator@cache.internal`. The password is in the first line of
//! the file that `--password-file` names, or in `BULKLINK_REDIS_PASSWORD` or
//! `BULKLINK_POSTGRES_PASSWORD`. `--ca` demands TLS from PostgreSQL, and so does `sslmode=require`
//! in the URL. No output contains a password or the URL.
//!
//! # Rights on Redis
//!
//! A user needs the keys `~bl:{prod:*`. To list, to show and to watch shares, it needs the commands
//!
//! ```text
//! -@all +evalsha +script|load +hello +ping +client|setname +info +scan +cluster|slots
//!   +time +hgetall
//! ```
//!
//! without `+scan +cluster|slots` if it names one share. The rights of a service, which the page of
//! `bulklink-redis` lists, are enough to show and to resize one. For circuits, a user needs the
//! channels `&bl:{prod:*` and the commands
//!
//! ```text
//! -@all +evalsha +script|load +hello +ping +client|setname +info +scan +cluster|slots
//!   +time +hmget +hset +del +publish
//! ```
//!
//! # Rights on PostgreSQL
//!
//! `setup` is run by an administrator, and all else by a role with the rights of `--grant`. Tables
//! of another version are refused with the code `VERSION`, and stay as they are. Shares are read
//! from the primary only.
//!
//! # JSON
//!
//! With `--json`, each report is an object on one line. Its keys are stable: later versions may add
//! more. Numbers are numbers; those of a time have their unit in the key. An error is no JSON, but
//! a line on the standard error. `at_ms` is the clock of this machine, since 1970.
//!
//! | key | content |
//! | --- | --- |
//! | `namespace`, `label`, `name` | the share or circuit; `name` is both, escaped as on the server |
//! | `limit`, `version` | the live limit in units, and its version, which `resize` counts up |
//! | `granted`, `processes` | the units that processes have, and how many have or need some |
//! | `level` | the units that a process can keep, for each unit of its weight; `null` unless processes wait, or did within `calm_ms` |
//! | `quarantine_ms` | how long nothing is granted because data was lost; `null` if that is not so |
//!
//! - `share list`: `{"at_ms", "shares": […]}` with these keys, or with `error` instead of all but
//!   the first three if one cannot be read.
//! - `share show`: these keys and `at_ms`; of the declaration `declared_limit`, `config`,
//!   `lease_ms`, `claim_ms`, `calm_ms`, `recovers` and `declarer`; `epoch`, `run` (in hexadecimal,
//!   or `null`), `last_token`; and `rows`, one for each process: `process`, `granted`, `need`,
//!   `weight`, `ticket` (`null` unless it waits), `silent_ms`, `lease_left_ms`, and `served`:
//!   whether it can be granted units.
//! - `share resize`: the first three keys and `limit`, `previous_limit`, `version`.
//! - `share watch`: the object of `list` or `show`, each time; `{"at_ms", "error"}` while that
//!   fails.
//! - `circuit show`: `{"at_ms", "circuits": […]}`, or with a name one circuit and `at_ms`; `circuit
//!   force`: the circuit. A circuit has the first three keys and `state` (`closed`, `open` or
//!   `half-open`), `generation`, `forced`, `retry_after_ms` (`null` unless it is open for a time),
//!   `calls`, `failures` and `slow` of its window, and `probes` that run, `probe_successes` and
//!   `probe_failures`. `circuit show` also has `settings_differ`: whether processes have used
//!   different settings for the circuit in the last minute.
//! - `circuit check`: `at_ms`, `address`, `result` (`complete`, `unusable`, `undetermined` or
//!   `incomplete`), `missing`, `reason`.
//! - `setup`: `address`, `dry_run`, `parts`, `roles`, `statements`.
//!
//! The exit codes are a part of the interface too: `--help` lists them.

#![forbid(unsafe_code)]

mod args;
mod circuit;
mod failure;
mod output;
mod report;
mod server;
mod setup;
mod share;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use args::Place;
use clap::{Parser, Subcommand};
use failure::{Failure, Kind};
use output::Output;
use tokio::runtime::Builder;

/// The end of `--help`.
const AFTER: &str = "\
Environment:
  BULKLINK_REDIS_URL, BULKLINK_POSTGRES_URL
                           the server, unless --url says it
  BULKLINK_REDIS_PASSWORD, BULKLINK_POSTGRES_PASSWORD
                           the password, unless --password-file says it
  BULKLINK_NAMESPACE       the namespace, unless --namespace says it
  NO_COLOR                 no colours, if it is not empty

Exit codes:
  0  done
  1  no answer: the server is out of reach, or none that this program understands
  2  the command line or the environment is wrong
  3  there is no such share or circuit
  4  the limit has another version than expected, or the circuit another generation
  5  the server refused, such as for want of rights; or a share in a list cannot be read

Exit codes of circuit check:
  0  complete
  1  unusable
  2  undetermined, or the command line or the environment is wrong
  3  incomplete";

/// Shows and changes the limits and circuits that processes share on Redis, Valkey or PostgreSQL.
#[derive(Parser)]
#[command(name = "bulklink-ctl", version, after_help = AFTER)]
struct Cli {
    #[command(subcommand)]
    task: Task,
    #[command(flatten)]
    place: Place,
}

/// The commands.
#[derive(Subcommand)]
enum Task {
    /// Lists, shows, watches and resizes the limits that processes share
    #[command(subcommand)]
    Share(share::Task),
    /// Checks, shows and forces the circuits that processes share
    #[command(subcommand)]
    Circuit(circuit::Task),
    /// Creates the tables in PostgreSQL, and gives roles the least rights
    Setup(setup::Options),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return end(&Failure::usage(args::one_line(&error))),
        Err(help) => {
            // A closed pipe is no error.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    // Fails only if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return end(&Failure::new(Kind::Unreachable, error.to_string())),
    };
    let result = runtime.block_on(run(&cli));
    // A name that is still being resolved must not delay the end.
    runtime.shutdown_background();
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => end(&failure),
    }
}

fn end(failure: &Failure) -> ExitCode {
    if failure.kind() != Kind::PipeClosed {
        // Not by `eprintln`, which panics where there is no standard error.
        let _ = writeln!(io::stderr(), "bulklink-ctl: {failure}");
    }
    ExitCode::from(failure.code())
}

/// Returns the exit code.
async fn run(cli: &Cli) -> Result<u8, Failure> {
    let (place, server, output) = (&cli.place, cli.place.server()?, Output::new(cli.place.json));
    match &cli.task {
        Task::Share(task) => share::run(&server, place, output, task).await.map(|()| 0),
        Task::Circuit(task) => circuit::run(&server, place, &output, task).await,
        Task::Setup(options) => setup::run(&server, &output, options).await.map(|()| 0),
    }
}
