//! A bulkhead for each tenant: what one uses up, no other misses, and only so many are kept.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::Partitions;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let tenants: Partitions<String> = Partitions::builder("tenants")
        .parallelism(1)
        .waiting_room(5)
        .wait_limit(Duration::from_millis(20))
        .max_partitions(2)
        .build()?;

    // Ann is at it all the time; Bob does not notice.
    let ann = tenants.slot("ann").await?;
    if let Err(rejection) = tenants.execute("ann", async { "report" }).await {
        println!("ann: {}", rejection.reason());
    }
    println!("bob: {}", tenants.execute("bob", async { "report" }).await?);

    // A third one takes the place of whoever has been idle the longest. Nobody is: no room.
    let bob = tenants.slot("bob").await?;
    if let Err(rejection) = tenants.try_slot("eve") {
        println!("{rejection}");
    }
    drop(bob);
    println!("eve: {}", tenants.execute("eve", async { "report" }).await?);
    drop(ann);

    // Keys are seen nowhere: not here, not in errors, not in events.
    let status = tenants.status();
    println!("{} kept, {} made, {} evicted", status.partitions, status.totals.created, status.totals.evicted);
    Ok(())
}
