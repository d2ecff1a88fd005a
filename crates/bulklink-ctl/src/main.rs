//! `bulklink-ctl` shows and changes the bulkheads of a fleet on Redis or Valkey, and the circuits
//! that processes share there or on PostgreSQL. They never need it.
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
//! # Circuits
//!
//! `bulklink-ctl breaker` is for the circuits that processes share, on Redis or on PostgreSQL:
//!
//! ```text
//! export BULKLINK_POSTGRES_URL=postgresql://operator@db/app BULKLINK_NAMESPACE=prod
//! bulklink-ctl breaker setup --dry-run --role service
//! bulklink-ctl breaker check
//! bulklink-ctl breaker show
//! bulklink-ctl breaker force open payments --expected 1764000000000001
//! ```
//!
//! | command | effect |
//! | --- | --- |
//! | `breaker setup` | creates the tables in PostgreSQL where they are missing; `--role NAME` gives a role the least rights, `--part fleet` is for the limits of fleets, and `--dry-run` only prints the statements |
//! | `breaker check` | looks whether the server has all that circuits need; Redis has when it answers |
//! | `breaker show [NAME]` | shows one circuit or all of the namespace; a standby is enough |
//! | `breaker force open\|closed NAME` | opens a circuit until it is closed by hand, or closes it; `--expected GENERATION` changes no other generation |
//!
//! The server is that of `--url`, or of one of the variables `BULKLINK_REDIS_URL` and
//! `BULKLINK_POSTGRES_URL`. The password of PostgreSQL is in the file of `--password-file` or in
//! `BULKLINK_POSTGRES_PASSWORD`. `--ca` demands TLS, and so does `sslmode=require` in the URL.
//!
//! On PostgreSQL, `setup` is run by an administrator, and all else by a role with the rights of
//! `--role`. On Redis, a user that checks, shows and forces needs the keys `~bl:{prod:*`, the
//! channels `&bl:{prod:*` and the commands
//!
//! ```text
//! -@all +evalsha +script|load +hello +ping +client|setname +info +scan +cluster|slots
//!   +time +hmget +hset +del +publish
//! ```
//!
//! `force` makes a circuit that does not exist, so that one can be opened before a process uses it:
//! a wrong name is not noticed.
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
//! - `breaker show`: `{"at_ms", "circuits": […]}`, or with a name one circuit and `at_ms`;
//!   `breaker force`: the circuit. A circuit has the first three keys and `state` (`closed`, `open`
//!   or `half-open`), `generation`, `forced`, `retry_after_ms` (`null` unless it is open for a
//!   time), `calls`, `failures` and `slow` of its window, and `probes` that run,
//!   `probe_successes` and `probe_failures`. `breaker show` also has `settings_differ`: whether
//!   processes have used different settings for the circuit in the last minute.
//! - `breaker setup`: `address`, `dry_run`, `parts`, `roles`, `statements`.
//! - `breaker check`: `at_ms`, `address`, `result` (`complete`, `unusable`, `undetermined` or
//!   `incomplete`), `missing`, `reason`.
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
//! | 3 | there is no such bulkhead or circuit |
//! | 4 | the limit has another version than expected, or the circuit another generation |
//! | 5 | the server refused, such as for want of rights; or a bulkhead in a list cannot be read |
//!
//! `breaker check` prints what it has found, and ends with 0 if the server has all (`complete`), 1
//! if it cannot be used (`unusable`), 2 if that is not known (`undetermined`), and 3 if something
//! is missing (`incomplete`).

#![forbid(unsafe_code)]

mod args;
mod breaker;
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

use args::{Cli, Task, Tasks};
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
    match &cli.task {
        Tasks::OfBulkheads(task) => run_on_bulkheads(cli, task).await.map(|()| 0),
        Tasks::Breaker { task } => breaker::run(&cli.circuits()?, &cli.naming()?, &Output::new(cli.json()), task).await,
    }
}

async fn run_on_bulkheads(cli: &Cli, task: &Task) -> Result<(), Failure> {
    let settings = cli.settings()?;
    let output = Output::new(settings.json);
    match task {
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
