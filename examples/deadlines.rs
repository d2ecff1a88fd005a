//! Limits on a wait: the bulkhead's limit, a call's limit, a deadline, and no wait at all.

use std::error::Error;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Request};
use tokio::time::{Instant, sleep};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let search =
        Bulkhead::builder("search").parallelism(1).waiting_room(10).wait_limit(Duration::from_millis(100)).build()?;
    let running = search.slot().await?;

    // The strictest limit wins.
    ask(&search, "as long as the bulkhead says", Request::new()).await;
    ask(&search, "for 20 ms", Request::new().within(Duration::from_millis(20))).await;
    ask(&search, "until an instant", Request::new().before(Instant::now() + Duration::from_millis(20))).await;
    ask(&search, "until an instant that is past", Request::new().before(Instant::now())).await;
    ask(&search, "not at all", Request::new().now()).await;
    drop(running);
    ask(&search, "for a free slot", Request::new().now()).await;

    // Limits apply to the wait: an admitted operation is never cancelled.
    let strict = Request::new().within(Duration::from_millis(1));
    search.with(strict).execute(sleep(Duration::from_millis(30))).await?;
    println!("admitted immediately, then ran for 30 ms");
    Ok(())
}

async fn ask(search: &Bulkhead, how_long: &str, request: Request) {
    match search.with(request).slot().await {
        Ok(_slot) => println!("waiting {how_long}: admitted"),
        Err(rejection) => println!("waiting {how_long}: {}", rejection.reason()),
    }
}
