//! The capacity of the upstream.

use std::time::Duration;

use bulklink_benches::overload::upstream::{Begun, Upstream, WORKERS};
use tokio::time::Instant;

#[test]
fn it_serves_its_capacity_and_no_more() {
    let upstream = Upstream::new();
    let now = Instant::now();
    let ends: Vec<_> = (0..400).map(|call| upstream.begin(call, None, now)).collect();
    let last = ends.iter().max().unwrap().duration_since(now).as_secs_f64();
    assert!((1.95..2.1).contains(&last), "{last}");
    assert_eq!(upstream.begun()[0], Begun { call: 0, at: now });
    assert!(upstream.begun()[WORKERS].at > now, "the workers are busy");
}

#[test]
fn work_takes_as_long_as_given() {
    let (upstream, now, work) = (Upstream::new(), Instant::now(), Duration::from_millis(170));
    let ends = (0..=WORKERS).map(|call| upstream.begin(call, Some(work), now) - now);
    let expected = (0..=WORKERS).map(|call| if call < WORKERS { work } else { 2 * work });
    assert!(ends.eq(expected));
}
