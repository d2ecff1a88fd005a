//! The first statements of a link: its names, and what there is to know of the server.

use std::time::Duration;

use bulklink_fleet::{ProcessId, RunId, Server as Facts, StoreError};
use tokio_postgres::Client;

use super::row::Line;
use super::step::{Limits, Me};
use crate::error::{of_statement, refused};
use crate::schema::last_row;
use crate::session::{Behaviour, begin};
use crate::worker::Statements;

/// The names of a new link: of its lock, and of its channel. No other link has them.
const NAMES: &str = "SELECT gen_random_uuid(), gen_random_uuid()";

const RUN: &str = "SELECT id, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, \
    (extract(epoch FROM clock_timestamp() - greatest(began, pg_postmaster_start_time())) * 1000000)::bigint \
    FROM bulklink.run";

const BEGIN_RUN: &str = "INSERT INTO bulklink.run (id, began) VALUES (gen_random_uuid(), clock_timestamp()) \
    ON CONFLICT DO NOTHING";

/// Prepares a new connection for the commands of a process. Returns its names, the facts about the
/// server, and the statements of commands.
pub(crate) async fn hello(
    client: &Client,
    process: ProcessId,
    behaviour: Behaviour,
) -> Result<(Me, Facts, Statements), StoreError> {
    let malformed = || refused("MALFORMED");
    let statements = begin::<Limits>(client, behaviour, None).await?;
    let rows = client.simple_query(NAMES).await.map_err(of_statement)?;
    let names: Option<Vec<String>> = last_row(&rows).and_then(|names| names.into_iter().collect());
    let Some([lock, channel]) = names.and_then(|names| <[String; 2]>::try_from(names).ok()) else {
        return Err(malformed());
    };
    let key = i64::from_str_radix(&digits(&lock)[..15], 16).map_err(|_| malformed())?;
    let channel = format!("bulklink_{}", digits(&channel));
    let text = format!("LISTEN {channel}; SELECT pg_try_advisory_lock({key})");
    let rows = client.simple_query(&text).await.map_err(of_statement)?;
    if last_row(&rows).unwrap_or_default() != [Some("t".to_owned())] {
        return Err(malformed());
    }
    let facts = facts(client).await?;
    Ok((Me { process, line: Line { key, channel } }, facts, statements))
}

/// What there is to know of the server.
async fn facts(client: &Client) -> Result<Facts, StoreError> {
    for _ in 0..3 {
        let rows = client.simple_query(RUN).await.map_err(of_statement)?;
        let found: Option<Vec<String>> = last_row(&rows).and_then(|row| row.into_iter().collect());
        let Some(found) = found else {
            client.simple_query(BEGIN_RUN).await.map_err(of_statement)?;
            continue;
        };
        let age = found.get(2).and_then(|micros| micros.parse::<i64>().ok()).unwrap_or_default();
        let run = RunId::from(hash(&format!("{} {}", found[0], found[1])));
        return Ok(Facts::new(Some(run), Some(Duration::from_micros(u64::try_from(age).unwrap_or_default()))));
    }
    // Its row is there, and cannot be seen.
    Err(refused("42501"))
}

fn digits(uuid: &str) -> String {
    let digits: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    format!("{digits:0<32}")
}

/// FNV-1a: what differs is random, so that no better one is needed.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
