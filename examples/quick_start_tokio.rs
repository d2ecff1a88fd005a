//! Quick start on tokio: at most 10 payments run, at most 50 wait for up to 2 s, and the rest is
//! rejected immediately.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Reason};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let payments =
        Bulkhead::builder("payments").parallelism(10).waiting_room(50).wait_limit(Duration::from_secs(2)).build()?;

    // Waits for a slot if necessary, and runs in it. The slot is released however the operation
    // ends.
    match payments.execute(send("order 1")).await {
        Ok(receipt) => println!("{receipt}"),
        Err(rejection) if rejection.reason() == Reason::Saturated => println!("try later: {rejection}"),
        Err(rejection) => return Err(rejection.into()),
    }

    // The same with a guard.
    let slot = payments.slot().await?;
    println!("{}", send("order 2").await);
    println!("{} in flight", payments.status().in_flight);
    drop(slot);

    let status = payments.status();
    println!("{} finished, {} in flight", status.totals.finished, status.in_flight);
    Ok(())
}

async fn send(order: &str) -> String {
    tokio::time::sleep(Duration::from_millis(5)).await;
    format!("sent {order}")
}
