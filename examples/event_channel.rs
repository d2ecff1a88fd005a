//! Following a bulkhead from a separate task: a bounded stream of numbered events.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, EventFilter, EventReceiver, SubmitError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build()?;
    let log = tokio::spawn(write_log(payments.handle().subscribe(EventFilter::ALL, 1000)?));

    let first = payments.submit(async { tokio::time::sleep(Duration::from_millis(5)).await })?;
    let second = payments.submit(async {})?;
    if let Err(SubmitError::Rejected(rejection)) = payments.submit(async {}) {
        println!("{rejection}");
    }
    first.await?;
    second.await?;
    payments.close();

    // The stream ends with the bulkhead.
    drop(payments);
    println!("{} events missed", log.await?);
    Ok(())
}

/// A slow consumer delays no call: when the channel is full, the oldest events are dropped and
/// counted.
async fn write_log(mut events: EventReceiver) -> u64 {
    while let Some(event) = events.recv().await {
        let occupancy = event.occupancy;
        println!(
            "{} {:?}: {} in flight, {} waiting",
            event.number,
            event.kind,
            occupancy.in_flight(),
            occupancy.waiting()
        );
    }
    events.dropped()
}
