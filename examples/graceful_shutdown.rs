//! A graceful shutdown: waiting calls are rejected, running operations finish, and the wait for
//! them has a limit.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, JoinError, Reason};
use tokio::time::{sleep, timeout};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let jobs = Bulkhead::builder("jobs").parallelism(2).waiting_room(10).build()?;
    let submitted: Vec<_> = (1..=5).map(|number| jobs.submit(job(number))).collect::<Result<_, _>>()?;

    shutdown_signal().await;
    // No call is admitted from here on. The future only waits: dropping it does not reopen the
    // bulkhead.
    let drained = jobs.close_and_wait();
    if timeout(Duration::from_secs(10), drained).await.is_err() {
        // They end with the runtime.
        println!("{} jobs are still running", jobs.status().in_flight);
        return Ok(());
    }

    for job in submitted {
        match job.await {
            Ok(result) => println!("{result}"),
            Err(JoinError::Rejected(rejection)) if rejection.reason() == Reason::Closed => println!("rejected"),
            Err(error) => return Err(error.into()),
        }
    }
    println!("drained: {}", jobs.status().is_drained());
    Ok(())
}

async fn job(number: u32) -> String {
    sleep(Duration::from_millis(100)).await;
    format!("job {number} is done")
}

/// Stands in for `tokio::signal::ctrl_c` in a service.
async fn shutdown_signal() {
    tokio::task::yield_now().await;
}
