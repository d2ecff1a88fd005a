//! The commands on circuits that processes share.

mod report;

use bulklink_fleet::Name;
use bulklink_fleet::circuits::{CircuitStore, Force, Forced, Row};
use bulklink_postgres::{Check as Found, Part};
use clap::{Subcommand, ValueEnum};

use self::report::{Check, Circuit, Circuits};
use crate::args::{MAX_VERSION, Place};
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::report::Dated;
use crate::server::{self, Server, link};

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Looks whether the server has all that circuits need, and changes nothing
    Check,
    /// Shows one circuit or all of the namespace, and changes nothing
    Show {
        /// The label of a circuit [default: list all]
        name: Option<String>,
    },
    /// Opens or closes a circuit by hand
    Force {
        /// The new state
        state: Target,
        /// The label of the circuit, which is made if there is none
        name: String,
        /// The generation that the circuit must have [default: any]
        #[arg(long, value_name = "GENERATION", value_parser = clap::value_parser!(u64).range(..=MAX_VERSION))]
        expect: Option<u64>,
    },
}

/// The new state of a circuit.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Target {
    /// Open, until it is closed by hand
    Open,
    /// Closed, as if it were new
    Closed,
}

/// Runs a command. Returns the exit code, which is not 0 for the findings of `check`.
pub(crate) async fn run(server: &Server, place: &Place, output: &Output, task: &Task) -> Result<u8, Failure> {
    match server.kind {
        server::Kind::Redis => {
            let store = server.redis()?;
            // An answer shows that Redis has all that circuits need.
            let check = async || match link(&store, server.timeout).await {
                Ok(_) => Found::Complete,
                Err(error) => Found::Undetermined { error },
            };
            let circuits = store.circuits().answer_timeout(server.timeout);
            Box::pin(run_on(&circuits, &store.address(), check, place, output, task)).await
        }
        server::Kind::Postgres => {
            let store = server.postgres()?;
            let check = async || store.check(Part::Breaker).await;
            let circuits = store.circuits().answer_timeout(server.timeout);
            Box::pin(run_on(&circuits, &store.address(), check, place, output, task)).await
        }
    }
}

async fn run_on(
    store: &impl CircuitStore,
    address: &str,
    check: impl AsyncFn() -> Found,
    place: &Place,
    output: &Output,
    task: &Task,
) -> Result<u8, Failure> {
    match task {
        Task::Check => {
            let (report, code) = Check::of(address, &check().await);
            output.print(&Dated::now(report))?;
            return Ok(code);
        }
        // One is found in the list: a load would make it, and a standby would refuse that.
        Task::Show { name } => {
            let name = name.as_ref().map(|label| place.name("circuit", label)).transpose()?;
            let rows = store.list(&place.namespace()?).await.map_err(|error| Failure::store(address, &error))?;
            let mut circuits = rows.iter().map(|(name, row)| (name, Circuit::of(name, row)));
            match name {
                None => {
                    let circuits = circuits.map(|(_, circuit)| circuit).collect();
                    output.print(&Dated::now(Circuits { circuits }))?;
                }
                Some(name) => {
                    let found = circuits.find(|(listed, _)| **listed == name);
                    let (_, circuit) = found.ok_or_else(|| Failure::not_found("circuit", &name))?;
                    output.print(&Dated::now(circuit))?;
                }
            }
        }
        Task::Force { state, name, expect } => {
            let name = place.name("circuit", name)?;
            let row = force(store, address, &name, *expect, *state).await?;
            output.print(&report::Forced::of(&name, &row))?;
        }
    }
    Ok(0)
}

/// Opens or closes a circuit, if it has the expected generation.
async fn force(
    store: &impl CircuitStore,
    address: &str,
    name: &Name,
    expected: Option<u64>,
    state: Target,
) -> Result<Row, Failure> {
    let force = match state {
        Target::Open => Force::Open,
        Target::Closed => Force::Closed,
    };
    let forced = store.force(name, expected, force).await;
    match forced.map_err(|error| Failure::change(address, &error, "circuit"))? {
        Forced::Done(row) => Ok(row),
        Forced::Stale(Row { generation, state, .. }) => {
            let expected = expected.map_or_else(|| "another".to_owned(), |generation| generation.to_string());
            let text = format!(
                "the circuit has generation {generation}, not {expected}: it is {state} now, and was not changed"
            );
            Err(Failure::new(Kind::Conflict, text))
        }
    }
}
