//! A bulkhead for each tenant: one tenant cannot use up the slots of another, and the number of
//! bulkheads is bounded.

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

    // Ann's slot is in use all the time. Bob is not affected.
    let ann = tenants.key("ann").slot().await?;
    if let Err(rejection) = tenants.key("ann").execute(async { "report" }).await {
        println!("ann: {}", rejection.reason());
    }
    println!("bob: {}", tenants.key("bob").execute(async { "report" }).await?);

    // A third tenant evicts the longest idle partition. None is idle here, so the call is rejected.
    let bob = tenants.key("bob").slot().await?;
    if let Err(rejection) = tenants.key("eve").try_slot() {
        println!("{rejection}");
    }
    drop(bob);
    println!("eve: {}", tenants.key("eve").execute(async { "report" }).await?);
    drop(ann);

    // Keys are shown nowhere: not here, not in errors, not in events.
    let status = tenants.status();
    println!("{} kept, {} made, {} evicted", status.partitions, status.totals.created, status.totals.evicted);
    Ok(())
}
