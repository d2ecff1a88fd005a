//! Operations of different sizes: each asks for as many units of the capacity as it will use.

use std::error::Error;

use bulklink_tokio::{Bulkhead, Request};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A unit is one MiB of memory here. The waiting room counts operations.
    let memory = Bulkhead::builder("image memory").capacity(64).waiting_room(20).build()?;

    let poster = memory.with(Request::new().cost(48)).slot().await?;
    let thumbnail = memory.with(Request::new().cost(4)).slot().await?;
    let status = memory.status();
    println!("{} operations use {} of {} MiB", status.in_flight, status.in_use, status.limits.capacity);

    // The queue is FIFO: a small request never overtakes a large one, which could starve otherwise.
    let large = memory.with(Request::new().cost(40)).submit(async { "large" })?;
    let small = memory.with(Request::new().cost(1)).submit(async { "small" })?;
    println!("{} wait for {} MiB", memory.status().waiting, memory.status().waiting_units);
    drop(poster);
    println!("{} and {} have run", large.await?, small.await?);
    drop(thumbnail);

    // A cost above the capacity is an error, and is not counted.
    if let Err(rejection) = memory.with(Request::new().cost(65)).try_slot() {
        println!("{rejection}");
    }
    Ok(())
}
