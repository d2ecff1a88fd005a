//! Threads and tasks in one queue: blocking code that shares a limit with async code.

use std::error::Error;
use std::thread;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Rejection};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files = Bulkhead::builder("files").parallelism(2).waiting_room(100).build()?;

    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let files = files.clone();
            tokio::spawn(async move { files.execute(async { sleep(Duration::from_millis(2)).await }).await })
        })
        .collect();
    let threads: Vec<_> = (0..10)
        .map(|number| {
            let files = files.clone();
            spawn_blocking(move || read(&files, number))
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let mut bytes = 0;
    for thread in threads {
        bytes += thread.await??;
    }

    let status = files.status();
    println!("{bytes} bytes; {} finished, at most {} at a time", status.totals.finished, status.peak_in_flight);
    Ok(())
}

/// Blocks the thread until there is a slot. Use it only on threads that may block, never in a task.
fn read(files: &Bulkhead, number: usize) -> Result<usize, Rejection> {
    files.blocking_execute(|| {
        thread::sleep(Duration::from_millis(2));
        100 * number
    })
}
