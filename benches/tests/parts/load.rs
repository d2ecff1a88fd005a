//! The arrivals of calls.

use std::time::Duration;

use bulklink_benches::overload::load::arrivals;
use tokio::time::Instant;

#[test]
fn calls_arrive_at_the_rate_and_in_order() {
    let begin = Instant::now();
    let times: Vec<_> = arrivals(1_000.0, begin, begin + Duration::from_secs(10)).collect();
    assert!((9_700..10_300).contains(&times.len()), "{}", times.len());
    assert!(times.is_sorted());
}
