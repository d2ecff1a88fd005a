//! Changing the limit under load: growing admits waiters, shrinking cancels nothing.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::Bulkhead;
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let crawler = Bulkhead::builder("crawler").parallelism(1).waiting_room(100).build()?;
    let pages: Vec<_> =
        (0..20).map(|_| crawler.submit(async { sleep(Duration::from_millis(5)).await })).collect::<Result<_, _>>()?;
    println!("{} running, {} waiting", crawler.status().in_flight, crawler.status().waiting);

    let grown = crawler.resize(8)?;
    println!("from {} to 8: {} more are admitted", grown.previous, grown.admitted);

    crawler.resize(2)?;
    let status = crawler.status();
    println!("down to 2: {} still run, {} too many", status.in_flight, status.capacity_excess());

    // No other operation is admitted until these have ended. Then two run at a time.
    for page in pages {
        page.await?;
    }
    let status = crawler.status();
    println!("{} finished, at most {} at a time", status.totals.finished, status.peak_in_flight);
    Ok(())
}
