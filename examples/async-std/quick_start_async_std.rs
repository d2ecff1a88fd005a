//! Quick start on async-std, for programs that still use it. async-std is discontinued, and its
//! authors recommend smol.

use std::error::Error;
use std::time::Duration;

use bulklink_async_std::{Bulkhead, Reason};

fn main() -> Result<(), Box<dyn Error>> {
    async_std::task::block_on(async {
        let payments = Bulkhead::builder("payments")
            .parallelism(10)
            .waiting_room(50)
            .wait_limit(Duration::from_secs(2))
            .build()?;

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
    })
}

async fn send(order: &str) -> String {
    async_std::task::sleep(Duration::from_millis(5)).await;
    format!("sent {order}")
}
