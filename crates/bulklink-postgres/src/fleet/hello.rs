//! The first statements of a connection: settings, names, and what there is to know of the server.

use std::time::Duration;

use bulklink_fleet::{ProcessId, RunId, Server as Facts};
use tokio_postgres::{Client, Error};

use super::row::Line;
use super::step::Me;
use super::worker::Statements;
use crate::failure::Failure;
use crate::schema::{Part, last_row};

/// How the sessions of a fleet behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behaviour {
    pub(crate) lock_timeout: Duration,
    pub(crate) is_durable: bool,
}

/// What a connection has learned.
pub(crate) struct Hello {
    pub(crate) me: Me,
    pub(crate) facts: Facts,
    pub(crate) statements: Statements,
}

/// The names of a new link: of its lock, and of its channel. No other link has them.
const NAMES: &str = "SELECT gen_random_uuid(), gen_random_uuid(), pg_is_in_recovery()";

const RUN: &str = "SELECT id, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, \
    (extract(epoch FROM clock_timestamp() - greatest(began, pg_postmaster_start_time())) * 1000000)::bigint \
    FROM bulklink.run";

const BEGIN_RUN: &str = "INSERT INTO bulklink.run (id, began) VALUES (gen_random_uuid(), clock_timestamp()) \
    ON CONFLICT DO NOTHING";

/// Prepares a new connection for the commands of a process.
pub(crate) async fn hello(client: &Client, process: ProcessId, behaviour: Behaviour) -> Result<Hello, Failure> {
    let of = |error: Error| Failure::of(&error);
    let malformed = || Failure::refused("MALFORMED");
    let rows = client.simple_query(&format!("{}{NAMES}", settings(behaviour))).await.map_err(of)?;
    let names: Option<Vec<String>> = last_row(&rows).and_then(|names| names.into_iter().collect());
    let Some([lock, channel, in_recovery]) = names.and_then(|names| <[String; 3]>::try_from(names).ok()) else {
        return Err(malformed());
    };
    // A standby can neither lock nor listen.
    if in_recovery == "t" {
        return Err(Failure::refused("25006"));
    }
    let key = i64::from_str_radix(&digits(&lock)[..15], 16).map_err(|_| malformed())?;
    let channel = format!("bulklink_{}", digits(&channel));
    let part = Part::Fleet;
    let text = format!(
        "LISTEN {channel}; SELECT pg_try_advisory_lock({key}), version FROM bulklink.part WHERE name = '{}'",
        part.name()
    );
    let rows = client.simple_query(&text).await.map_err(of)?;
    let found = last_row(&rows).unwrap_or_default();
    if found.first().and_then(Option::as_deref) != Some("t") || found.get(1) != Some(&Some(part.version().to_string()))
    {
        return Err(Failure::refused("VERSION"));
    }
    let facts = facts(client).await?;
    let statements = Statements::prepare(client).await.map_err(of)?;
    Ok(Hello { me: Me { process, line: Line { key, channel } }, facts, statements })
}

/// The settings of a session.
///
/// A process that stops between two statements has a row locked, so the server ends its session
/// soon: before commands that wait for the lock give up.
fn settings(behaviour: Behaviour) -> String {
    let lock = behaviour.lock_timeout.as_millis().clamp(2, 1_000_000_000);
    let commit = if behaviour.is_durable {
        // Other settings than `off` may say more than `on`.
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    } else {
        "SET synchronous_commit = off"
    };
    format!(
        "SET search_path = pg_catalog; SET lock_timeout = {lock}; \
         SET idle_in_transaction_session_timeout = {}; {commit}; ",
        lock * 3 / 4
    )
}

/// What there is to know of the server.
async fn facts(client: &Client) -> Result<Facts, Failure> {
    for _ in 0..3 {
        let rows = client.simple_query(RUN).await.map_err(|error| Failure::of(&error))?;
        let found: Option<Vec<String>> = last_row(&rows).and_then(|row| row.into_iter().collect());
        let Some(found) = found else {
            client.simple_query(BEGIN_RUN).await.map_err(|error| Failure::of(&error))?;
            continue;
        };
        let age = found.get(2).and_then(|micros| micros.parse::<i64>().ok()).unwrap_or_default();
        let run = RunId::from(hash(&format!("{} {}", found[0], found[1])));
        return Ok(Facts { run: Some(run), age: Some(Duration::from_micros(u64::try_from(age).unwrap_or_default())) });
    }
    // Its row is there, and cannot be seen.
    Err(Failure::refused("42501"))
}

fn digits(uuid: &str) -> String {
    let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    format!("{digits:0<32}")
}

/// FNV-1a: what differs is random, so that no better one is needed.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
