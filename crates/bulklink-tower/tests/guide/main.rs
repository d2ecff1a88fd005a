//! The page `docs/guide/rejections-to-http.md`: its example is the module `answer`, and does as the
//! table has it.

mod answer;

use std::time::{Duration, Instant};

use answer::answer;
use bulklink_tokio::{Bulkhead, Rejection, Request};

const PAGE: &str = include_str!("../../../../docs/guide/rejections-to-http.md");

#[test]
fn the_page_has_the_example() {
    let (_header, code) = include_str!("answer.rs").split_once("\n\n").unwrap();
    assert!(PAGE.contains(&code.replace("pub(crate) ", "")));
}

#[tokio::test(start_paused = true)]
async fn each_reason_has_its_status() {
    let bulkhead = Bulkhead::builder("payments").parallelism(1).waiting_room(1).build().unwrap();
    let refused = |request| bulkhead.with(request).try_slot().map(drop).unwrap_err();
    assert_eq!(answer(&bulkhead, &refused(Request::new().cost(2)), None), (413, None));
    assert_eq!(answer(&bulkhead, &refused(Request::new().cost(0)), None), (500, None));

    let running = bulkhead.try_slot().unwrap();
    assert_eq!(answer(&bulkhead, &refused(Request::new()), None), (503, None));
    let expired = waited(&bulkhead, Request::new().within(Duration::from_millis(1))).await;
    assert_eq!(answer(&bulkhead, &expired, None), (503, None));
    let past = Instant::now().checked_sub(Duration::from_millis(1)).unwrap();
    let late = waited(&bulkhead, Request::new().deadline(past)).await;
    assert_eq!(answer(&bulkhead, &late, Some(Instant::now())), (504, None));

    tokio::time::advance(Duration::from_millis(1400)).await;
    drop(running);
    let _running = bulkhead.try_slot().unwrap();
    assert_eq!(answer(&bulkhead, &refused(Request::new()), None), (503, Some(2)));
    bulkhead.close();
    assert_eq!(answer(&bulkhead, &refused(Request::new()), None), (503, None));
}

/// Returns the rejection of a call that may wait.
async fn waited(bulkhead: &Bulkhead, request: Request) -> Rejection {
    bulkhead.with(request).slot().await.map(drop).unwrap_err()
}
