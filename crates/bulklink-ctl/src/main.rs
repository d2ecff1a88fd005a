//! `bulklink-ctl` shows and changes the bulkheads of a fleet on Redis or Valkey. A fleet never
//! needs it.
//!
//! ```text
//! export BULKLINK_REDIS_URL=redis://cache.internal BULKLINK_NAMESPACE=prod
//! bulklink-ctl list
//! bulklink-ctl show payments
//! bulklink-ctl resize payments 20
//! bulklink-ctl reap payments
//! bulklink-ctl watch payments --every 500ms
//! ```
//!
//! | command | effect |
//! | --- | --- |
//! | `list` | lists all bulkheads of the namespace, or of all with `--all-namespaces` |
//! | `show NAME` | shows limit, holders, waiters and processes; `--top N` shortens the lists |
//! | `resize NAME LIMIT` | changes the limit, unless its version has changed since it was read; `--expect VERSION` names the version |
//! | `reap NAME` | drops leases that have expired and waiters of processes that are gone, which the fleet does on its way too |
//! | `watch [NAME]` | shows one bulkhead or all of them again every second, or `--every TIME`, until Ctrl-C |
//!
//! It opens no bulkhead, joins no fleet and receives no grants: it reads, reaps and resizes. The
//! live limit lasts until a process declares another one with a higher number of its configuration.
//!
//! # Credentials
//!
//! The password is in the first line of the file that `--password-file` names, or in the variable
//! `BULKLINK_REDIS_PASSWORD`; the URL names the user: `redis://operator@cache.internal`. Nothing
//! that is printed contains a password or the URL. A user that only reads needs the commands
//!
//! ```text
//! +evalsha +script|load +hello +ping +client|setname +info
//! +scan +cluster|slots +time +hmget +hget +zcard +zcount +zrange
//! ```
//!
//! and the keys `~bl:{prod:*`. To resize and to reap, it also needs the rights of a service, which
//! the page of `bulklink-redis` lists.
//!
//! # JSON
//!
//! With `--json`, each report is an object on one line. Its keys are stable: later versions may add
//! more. Numbers are numbers; those of a time have their unit in the key. An error is no JSON, but
//! a line on the standard error.
//!
//! | key | content |
//! | --- | --- |
//! | `namespace`, `label`, `name` | the bulkhead; `name` is both, escaped as in its keys |
//! | `limit`, `version` | the live limit in units, and its version, which `resize` counts up |
//! | `in_use`, `leases`, `expired_leases` | units in use, permits that use them, and those that count until they are dropped |
//! | `waiting`, `processes` | calls in the queue, and living processes |
//! | `quarantine_ms` | how long nothing is granted because data was lost; `null` if that is not so |
//!
//! - `list`: `{"at_ms", "bulkheads": […]}` with these keys, or with `error` instead of all but the
//!   first three if a bulkhead cannot be read. `at_ms` is the clock of this machine, since 1970.
//! - `show`: these keys and `at_ms`, `server_time_ms`, `declared_limit`, `config`, `lease_ms`,
//!   `claim_ms`, `tokens_per_grant`, `epoch`, `last_token`, `last_ticket`, `complete`, and
//!   - `holders`: `id`, `owner`, `process`, `cost`, `age_ms`, `expires_in_ms`; the first to expire
//!     first,
//!   - `waiters`: `place`, `id`, `owner`, `process`, `cost`, `age_ms`, `ticket`; in their order,
//!   - `sessions`: `owner`, `process`, `generation`, `ends_in_ms`, `in_use`, `waiting`; by process.
//!
//!   `process` is what the process says about itself, or `null`; times that are over are negative;
//!   `in_use` and `waiting` of a process are `null` if `--top` left some out. `complete` is `false`
//!   if leases or waiters moved while they were read, so that some are missing.
//! - `resize`: the first three keys and `limit`, `previous_limit`, `version`, `in_use`, `waiting`.
//! - `reap`: the first three keys and `freed_units`, `dropped_waiters`, `limit`, `in_use`,
//!   `waiting`.
//! - `watch`: what `list` or `show` prints, each time; `{"at_ms", "error"}` while that fails.
//!
//! The age of a holder and of a waiter is the time since its call asked, with what it waited. It is
//! `null` for the first calls of a process, and with `reuse` it is that of the permit's first call.
//!
//! # Exit codes
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done |
//! | 1 | no answer: the server is out of reach, or none that this program understands |
//! | 2 | the command line or the environment is wrong |
//! | 3 | there is no such bulkhead |
//! | 4 | the limit has another version than expected |
//! | 5 | the server refused, such as for want of rights; or a bulkhead in a list cannot be read |

#![forbid(unsafe_code)]

mod args;
mod client;
mod failure;
mod output;
mod reading;
mod report;
mod table;
mod text;
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use args::{Cli, Task};
use client::Client;
use failure::{Failure, Kind};
use output::Output;
use report::{Content, Reap, Resize};
use tokio::runtime::Builder;
use watch::Subject;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(Ok(cli)) => cli,
        Ok(Err(help)) => {
            // A closed pipe is no error.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
        Err(failure) => return end(&failure),
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
        Ok(()) => ExitCode::SUCCESS,
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

async fn run(cli: &Cli) -> Result<(), Failure> {
    let settings = cli.settings()?;
    let output = Output::new(settings.json);
    match &cli.task {
        Task::List { scope } => {
            let namespace = settings.scope(scope)?;
            let list = Client::connect(&settings).await?.list(namespace.as_ref()).await?;
            output.print(&list)?;
            let is_unread = |content: &Content| matches!(content, Content::Unreadable { .. });
            let unread = list.bulkheads.iter().filter(|row| is_unread(&row.content)).count();
            match unread {
                0 => Ok(()),
                _ => Err(Failure::new(Kind::Refused, format!("bulkheads that cannot be read: {unread}"))),
            }
        }
        Task::Show { name, top } => {
            let name = settings.name(name)?;
            output.print(&Client::connect(&settings).await?.show(&name, top.unwrap_or(usize::MAX)).await?)
        }
        Task::Resize { name, limit, expect } => {
            let name = settings.name(name)?;
            let resized = Client::connect(&settings).await?.resize(&name, *limit, *expect).await?;
            output.print(&Resize::of(&name, &resized))
        }
        Task::Reap { name } => {
            let name = settings.name(name)?;
            output.print(&Reap::of(&name, &Client::connect(&settings).await?.reap(&name).await?))
        }
        Task::Watch { name: Some(name), every, top, .. } => {
            let subject = Subject::One(settings.name(name)?, *top);
            watch::run(&settings, &subject, *every).await
        }
        Task::Watch { name: None, scope, every, .. } => {
            watch::run(&settings, &Subject::All(settings.scope(scope)?), *every).await
        }
    }
}
