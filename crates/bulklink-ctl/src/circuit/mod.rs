//! The commands on circuits that processes share.

mod args;
mod report;
mod store;

pub(crate) use self::args::Task;
use self::report::{Check, Circuit, Circuits, Forced, Shown};
use self::store::Store;
use crate::failure::Failure;
use crate::naming::Naming;
use crate::output::Output;
use crate::report::now_ms;
use crate::server::Server;

/// Runs a command. Returns the exit code, which is not 0 for what `check` has found.
pub(crate) async fn run(server: &Server, naming: &Naming, output: &Output, task: &Task) -> Result<u8, Failure> {
    let store = Store::of(server)?;
    match task {
        Task::Check => {
            let (report, code) = Check::of(store.address(), &store.check().await);
            output.print(&report)?;
            return Ok(code);
        }
        Task::Show { name: None } => {
            let rows = store.list(&naming.namespace()?).await?;
            let circuits = rows.iter().map(|(name, row)| Circuit::of(name, row)).collect();
            output.print(&Circuits { at_ms: now_ms(), circuits })?;
        }
        Task::Show { name: Some(label) } => {
            let circuit = find(&store, naming, label).await?;
            output.print(&Shown { at_ms: now_ms(), circuit })?;
        }
        Task::Force { state, name, expect: expected } => {
            let name = naming.name("circuit", name)?;
            let row = store.force(&name, *expected, (*state).into()).await?;
            output.print(&Forced::of(&name, &row))?;
        }
    }
    Ok(0)
}

/// One circuit, from the list: a load would make it, and a standby would refuse that.
async fn find(store: &Store, naming: &Naming, label: &str) -> Result<Circuit, Failure> {
    let name = naming.name("circuit", label)?;
    let rows = store.list(&naming.namespace()?).await?;
    let found = rows.iter().find(|(listed, _)| *listed == name);
    found.map(|(name, row)| Circuit::of(name, row)).ok_or_else(|| Failure::not_found("circuit", &name))
}
