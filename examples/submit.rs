//! Operations that the runtime runs in the background. The call of `submit` admits, queues or
//! rejects them.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, SubmitError};
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let reports = Bulkhead::builder("reports").parallelism(1).waiting_room(2).build()?;

    // A future, and a closure for the pool of blocking threads. A closure keeps its slot until it
    // ends.
    let monthly = reports.submit(async {
        sleep(Duration::from_millis(5)).await;
        "12 pages"
    })?;
    let checksum = reports.submit_blocking(|| (0..1_000_000_u64).sum::<u64>())?;

    // Dropping a handle detaches its operation. This handle cancels it instead, which frees its
    // place.
    let unwanted = reports.submit(std::future::pending::<()>())?.cancel_on_drop();
    if let Err(SubmitError::Rejected(rejection)) = reports.submit(async {}) {
        println!("no more: {rejection}");
    }
    drop(unwanted);
    let last = reports.submit(async { "1 page" })?;

    println!("{}, {}, {}", monthly.await?, checksum.await?, last.await?);
    let totals = reports.status().totals;
    println!("{} finished, {} cancelled, {} rejected", totals.finished, totals.cancelled, totals.rejected());
    Ok(())
}
