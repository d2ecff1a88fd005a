//! One process of the fleet: four clients that use the resource, until the process is killed.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use bulklink_redis::{Fleet, RedisStore};
use bulklink_tokio::{Bulkhead, Tokio};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

const CLIENTS: usize = 4;

pub(crate) async fn run(url: &str, resource: &Path) -> Result<()> {
    let fleet = Fleet::builder(RedisStore::new(url)?, Tokio).namespace("example").build()?;
    let payments = super::payments()?;
    // It lasts as long as the bulkhead.
    super::share(&fleet, &payments).connect().await?;
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let resource = BufReader::new(UnixStream::connect(resource).await?);
        clients.spawn(client(payments.clone(), resource));
    }
    while let Some(result) = clients.join_next().await {
        result??;
    }
    Ok(())
}

async fn client(payments: Bulkhead, mut resource: BufReader<UnixStream>) -> Result<()> {
    loop {
        let slot = payments.slot().await?;
        say(&mut resource, "enter").await?;
        sleep(Duration::from_millis(fastrand::u64(1..20))).await;
        say(&mut resource, "leave").await?;
        drop(slot);
    }
}

/// Sends a word to the resource, and waits for its answer: so it never sees two users of one slot.
async fn say(resource: &mut BufReader<UnixStream>, word: &str) -> Result<()> {
    resource.write_all(format!("{word}\n").as_bytes()).await?;
    resource.read_line(&mut String::new()).await?;
    Ok(())
}
