//! One limit for many tasks: of a hundred queries, no more than four run at a time.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::Bulkhead;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let database = Bulkhead::builder("database").parallelism(4).waiting_room(100).build()?;

    let mut tasks = JoinSet::new();
    for number in 0..100 {
        // A clone is the same bulkhead.
        let database = database.clone();
        tasks.spawn(async move { database.execute(query(number)).await });
    }
    let mut rows = 0;
    while let Some(answer) = tasks.join_next().await {
        rows += answer??;
    }

    let status = database.status();
    println!("{rows} rows by {} queries, at most {} at a time", status.totals.finished, status.peak_in_flight);
    Ok(())
}

async fn query(number: u32) -> u32 {
    tokio::time::sleep(Duration::from_millis(5)).await;
    number % 10
}
