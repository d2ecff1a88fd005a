//! The commands on circuits that processes share.

mod args;
mod report;
mod store;

use bulklink_fleet::{Name, Namespace};
use bulklink_postgres::{Part, set_up_statements};

pub(crate) use self::args::Task;
pub(crate) use self::store::{Server, Store};
use crate::args::Naming;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::report::now_ms;
use report::{Check, Circuit, Circuits, Forced, Setup, Shown};

/// Runs a command. Returns the exit code, which is not 0 for what `check` has found.
pub(crate) async fn run(store: &Store, naming: &Naming, output: &Output, task: &Task) -> Result<u8, Failure> {
    match task {
        Task::Setup { dry_run, roles, parts } => {
            let parts: Vec<Part> = parts.iter().copied().map(Part::from).collect();
            output.print(&set_up(store, &parts, roles, *dry_run).await?)?;
        }
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
            let name = naming.name("circuit", label)?;
            output.print(&Shown { at_ms: now_ms(), circuit: find(store, &naming.namespace()?, &name).await? })?;
        }
        Task::Force { state, name, expected } => {
            let name = naming.name("circuit", name)?;
            let row = store.force(&name, *expected, (*state).into()).await?;
            output.print(&Forced::of(&name, &row))?;
        }
    }
    Ok(0)
}

async fn set_up(store: &Store, parts: &[Part], roles: &[String], dry_run: bool) -> Result<Setup, Failure> {
    let names: Vec<&str> = roles.iter().map(String::as_str).collect();
    let statements = match store {
        Store::Redis { .. } if !roles.is_empty() => {
            return Err(Failure::usage("--role is for PostgreSQL: Redis gives rights by ACL SETUSER"));
        }
        Store::Redis { .. } => String::new(),
        Store::Postgres(_) => set_up_statements(parts, &names),
    };
    if !dry_run {
        store.set_up(parts, &names).await?;
    }
    let parts = parts.iter().map(|part| part.name()).collect();
    Ok(Setup { address: store.address(), dry_run, parts, roles: roles.to_vec(), statements })
}

/// One circuit, from the list: a load would make it, and a standby would refuse that.
async fn find(store: &Store, namespace: &Namespace, name: &Name) -> Result<Circuit, Failure> {
    let rows = store.list(namespace).await?;
    let found = rows.iter().find(|(listed, _)| listed == name);
    let missing =
        || Failure::new(Kind::NotFound, format!("no circuit {:?} in the namespace {namespace}", name.label()));
    found.map(|(name, row)| Circuit::of(name, row)).ok_or_else(missing)
}
