//! Quick start without an async runtime: threads block until there is a slot.

use std::error::Error;
use std::thread;
use std::time::Duration;

use bulklink::{Bulkhead, StdClock};

fn main() -> Result<(), Box<dyn Error>> {
    let payments = Bulkhead::builder_on(StdClock, "payments")
        .parallelism(2)
        .waiting_room(50)
        .wait_limit(Duration::from_secs(2))
        .build()?;

    // Runs on this thread, in a slot. The slot is released however the operation ends.
    println!("{}", payments.blocking_execute(|| send("order 1"))?);

    // The same with a guard.
    let slot = payments.blocking_slot()?;
    println!("{}", send("order 2"));
    println!("{} in flight", payments.status().in_flight);
    drop(slot);

    // Eight threads: two run at a time, the others wait in FIFO order.
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match payments.blocking_execute(|| send("order 3")) {
                Ok(_receipt) => {}
                Err(rejection) => eprintln!("try later: {rejection}"),
            });
        }
    });

    let status = payments.status();
    println!("{} finished, at most {} at a time", status.totals.finished, status.peak_in_flight);
    Ok(())
}

fn send(order: &str) -> String {
    thread::sleep(Duration::from_millis(10));
    format!("sent {order}")
}
