//! `bulklink-ctl` shows and changes limits and circuits that processes share on Redis, Valkey or
//! PostgreSQL.
//!
//! ```text
//! $ export BULKLINK_REDIS_URL=redis://cache.internal BULKLINK_NAMESPACE=prod
//! $ bulklink-ctl share list
//! $ bulklink-ctl share resize payments 20
//! $ bulklink-ctl circuit show
//! ```
//!
//! `bulklink-ctl --help` lists the commands, the variables and the exit codes.

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
                           the server, unless --url names it
  BULKLINK_REDIS_PASSWORD, BULKLINK_POSTGRES_PASSWORD
                           the password, unless --password-file has it
  BULKLINK_NAMESPACE       the namespace, unless --namespace has it
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
