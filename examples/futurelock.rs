//! Shows a task that waits for itself ("futurelock"), with a semaphore and with a bulkhead that
//! takes back slots which are not collected.
//!
//! A `select!` takes its second branch while the future of the first waits in the queue. From then
//! on nothing polls that future, but the free slot is handed to it. The second branch waits for the
//! same slot, forever.
//!
//! ```text
//! cargo run --example futurelock
//! ```

use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Event, EventFilter, EventKind};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// How long another task uses the slot.
const USED: Duration = Duration::from_millis(200);
/// When the `select!` stops polling its first future.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long a slot may be not collected.
const COLLECT_LIMIT: Duration = Duration::from_millis(300);
/// When the example no longer believes that the task will end.
const HANGS: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    println!("A task waits for the one slot, stops polling that call, and makes a second one.");
    let semaphore = Arc::new(Semaphore::new(1));
    use_for_a_while(semaphore.clone().acquire_owned().await?);
    let second = timeout(HANGS, task(|| semaphore.clone().acquire_owned())).await;
    println!("tokio's semaphore: the second call {}", if second.is_err() { "hangs" } else { "goes on" });

    let database = Bulkhead::builder("database").parallelism(1).waiting_room(10);
    let database = database.collect_limit(COLLECT_LIMIT).build()?;
    let tell = |event: &Event| {
        if event.kind == EventKind::Uncollected {
            println!("bulkhead {}: the slot was taken back, at {COLLECT_LIMIT:?}", event.label);
        }
    };
    database.handle().add_event_handler(EventFilter::ALL, tell);
    use_for_a_while(database.owned().slot().await?);
    let task = tokio::spawn({
        let database = database.clone();
        async move { task(|| database.owned().slot()).await.map(drop) }
    });
    sleep(USED + COLLECT_LIMIT / 2).await;
    // The view of a dashboard meanwhile.
    let status = database.status();
    let (count, age) = (status.uncollected, status.oldest_uncollected().unwrap_or_default());
    println!("bulkhead {}: {count} slot was handed over {age:.0?} ago and is not collected", status.label);
    let goes_on = timeout(HANGS, task).await??.is_ok();
    println!("bulkhead database: the second call {}", if goes_on { "goes on" } else { "fails" });
    Ok(if goes_on && second.is_err() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The task. Returns what its second call got.
async fn task<T, E: Display, F: Future<Output = Result<T, E>>>(call: impl Fn() -> F) -> Result<T, E> {
    let mut first = Box::pin(call());
    let second = tokio::select! {
        slot = &mut first => return slot,
        () = sleep(PATIENCE) => call().await,
    };
    // Only now is the first future polled again.
    if let Ok(Err(error)) = timeout(Duration::ZERO, first).await {
        println!("the first call: {error}");
    }
    second
}

/// Gives the slot back after a while, in another task.
fn use_for_a_while(slot: impl Send + 'static) {
    tokio::spawn(async move {
        sleep(USED).await;
        drop(slot);
    });
}
