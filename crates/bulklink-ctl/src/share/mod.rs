//! The commands on limits that processes share.

mod client;
mod report;

use std::time::Duration;

use bulklink_fleet::{LeaseStore, Namespace};
use clap::Subcommand;
use tokio::time::MissedTickBehavior;

use self::client::Client;
use self::report::Gap;
use crate::args::{MAX_VERSION, Place, duration};
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::report::{Dated, View};
use crate::server::{self, Server};

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Lists the shared limits of the namespace
    List {
        /// List all namespaces
        #[arg(long)]
        all_namespaces: bool,
    },
    /// Shows one shared limit, and the units and the need of each process
    Show {
        /// The label
        name: String,
    },
    /// Shows one shared limit or all of them again and again, until Ctrl-C
    Watch {
        /// The label [default: list all]
        #[arg(conflicts_with = "all_namespaces")]
        name: Option<String>,
        /// List all namespaces
        #[arg(long)]
        all_namespaces: bool,
        /// The time from one view to the next, such as 500ms, 2s or 1m
        #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
        every: Duration,
    },
    /// Changes a shared limit, unless another change comes first
    Resize {
        /// The label
        name: String,
        /// The new limit, in units
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// The version that the limit must have [default: the present one]
        #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u64).range(..=MAX_VERSION))]
        expect: Option<u64>,
    },
}

/// Runs a command.
pub(crate) async fn run(server: &Server, place: &Place, output: Output, task: &Task) -> Result<(), Failure> {
    match server.kind {
        server::Kind::Redis => {
            let store = server.redis()?;
            let address = store.address();
            Box::pin(run_on(Client::new(store, address, server.timeout), place, output, task)).await
        }
        server::Kind::Postgres => {
            let store = server.postgres()?;
            let address = store.address();
            Box::pin(run_on(Client::new(store, address, server.timeout), place, output, task)).await
        }
    }
}

async fn run_on(
    mut client: Client<impl LeaseStore>,
    place: &Place,
    output: Output,
    task: &Task,
) -> Result<(), Failure> {
    match task {
        Task::List { all_namespaces } => {
            let list = client.list(scope(place, *all_namespaces)?.as_ref()).await?;
            let unreadable = list.unreadable();
            output.print(&Dated::now(list))?;
            match unreadable {
                0 => Ok(()),
                count => Err(Failure::new(Kind::Refused, format!("shares that cannot be read: {count}"))),
            }
        }
        Task::Show { name } => {
            let share = client.show(&place.name("share", name)?).await?;
            output.print(&Dated::now(share))
        }
        Task::Watch { name: Some(name), every, .. } => {
            let name = place.name("share", name)?;
            watch(output, &client.address.clone(), *every, async || client.show(&name).await).await
        }
        Task::Watch { name: None, all_namespaces, every } => {
            let namespace = scope(place, *all_namespaces)?;
            watch(output, &client.address.clone(), *every, async || client.list(namespace.as_ref()).await).await
        }
        Task::Resize { name, limit, expect } => {
            output.print(&client.resize(&place.name("share", name)?, *limit, *expect).await?)
        }
    }
}

/// The namespace, or `None` for all of them.
fn scope(place: &Place, all_namespaces: bool) -> Result<Option<Namespace>, Failure> {
    if all_namespaces { Ok(None) } else { place.namespace().map(Some) }
}

/// Draws a view again and again, until Ctrl-C or until the output is a pipe that is closed.
///
/// # Errors
///
/// If the first view fails. Later, an error is a view too, and may pass.
async fn watch<T: View>(
    mut output: Output,
    address: &str,
    every: Duration,
    mut look: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let views = async {
        let mut has_seen = false;
        let mut clock = tokio::time::interval(every);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            match look().await {
                Ok(view) => output.view(address, view)?,
                Err(failure) if has_seen => output.view(address, Gap { error: failure.to_string() })?,
                Err(failure) => return Err(failure),
            }
            has_seen = true;
        }
    };
    tokio::select! {
        result = views => result,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}
