//! All bulkheads of a service in one place: list them, check their capacity, resize and close them
//! together.

use std::error::Error;

use bulklink_tokio::{Bulkhead, Registry, Tokio};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::new();
    registry.create(Bulkhead::builder("payments").parallelism(10).waiting_room(20))?;
    registry.create(Bulkhead::builder("reports").parallelism(1))?;

    // Look a bulkhead up by its label once, and use it without the registry from then on.
    let reports = registry.bulkhead::<Tokio>("reports")?;
    let running = reports.slot().await?;

    for status in registry.statuses() {
        println!("{}: {} of {} in flight", status.label, status.in_flight, status.limits.capacity);
    }
    for report in registry.capacity_reports() {
        println!("{report}");
    }

    // All are tried, and the error has all failures.
    if let Err(error) = registry.resize_all([("payments", 20), ("report", 2)]) {
        println!("{error}");
    }
    println!("payments: {}", registry.bulkhead::<Tokio>("payments")?.status().limits.capacity);

    drop(running);
    registry.close_and_wait().await;
    println!("drained: {}", registry.statuses().iter().all(|status| status.is_drained()));
    Ok(())
}
