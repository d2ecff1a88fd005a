//! The commands on limits that processes share.

mod args;
mod client;
mod report;
mod text;
mod watch;

use bulklink_fleet::Namespace;

use self::args::Scope;
pub(crate) use self::args::Task;
pub(crate) use self::client::link;
use self::client::{Client, Shares};
use self::watch::Subject;
use crate::failure::{Failure, Kind};
use crate::naming::Naming;
use crate::output::Output;
use crate::server::{self, Server};

/// Runs a command.
pub(crate) async fn run(server: &Server, naming: &Naming, output: Output, task: &Task) -> Result<(), Failure> {
    match server.kind {
        server::Kind::Redis => {
            let client = Client::new(server.redis()?, server.timeout);
            Box::pin(run_on(client, naming, output, task)).await
        }
        server::Kind::Postgres => {
            let client = Client::new(server.postgres()?, server.timeout);
            Box::pin(run_on(client, naming, output, task)).await
        }
    }
}

async fn run_on(mut client: Client<impl Shares>, naming: &Naming, output: Output, task: &Task) -> Result<(), Failure> {
    match task {
        Task::List { scope } => {
            let list = client.list(namespace(naming, scope)?.as_ref()).await?;
            output.print(&list)?;
            match list.unreadable() {
                0 => Ok(()),
                count => Err(Failure::new(Kind::Refused, format!("shares that cannot be read: {count}"))),
            }
        }
        Task::Show { name } => output.print(&client.show(&naming.name("share", name)?).await?),
        Task::Watch { name, scope, every } => {
            let subject = match name {
                Some(name) => Subject::One(naming.name("share", name)?),
                None => Subject::All(namespace(naming, scope)?),
            };
            tokio::select! {
                result = watch::run(client, output, &subject, *every) => result,
                _ = tokio::signal::ctrl_c() => Ok(()),
            }
        }
        Task::Resize { name, limit, expect } => {
            output.print(&client.resize(&naming.name("share", name)?, *limit, *expect).await?)
        }
    }
}

/// The namespace, or `None` for all of them.
fn namespace(naming: &Naming, scope: &Scope) -> Result<Option<Namespace>, Failure> {
    if scope.all_namespaces { Ok(None) } else { naming.namespace().map(Some) }
}
