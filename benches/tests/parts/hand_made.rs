//! The code that the bulkhead replaces counts as the bulkhead does.

use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bulklink_benches::hand_made::{HandMade, Refusal};
use bulklink_benches::peers::{ROOM, tokio_runtime};
use bulklink_benches::work::{now, poll};

fn counters(hand_made: &HandMade) -> [u64; 7] {
    let HandMade { waiting, admitted, rejected, expired, in_flight, peak, waits, .. } = hand_made;
    let counters = [waiting, admitted, rejected, expired, in_flight, peak].map(|counter| counter.load(Relaxed));
    let [waiting, admitted, rejected, expired, in_flight, peak] = counters;
    [waiting, admitted, rejected, expired, in_flight, peak, waits.lock().unwrap().len()]
}

#[test]
fn calls_that_end_in_any_way_are_counted_once() {
    let hand_made = HandMade::new(1, None);
    let held = now(|| hand_made.acquire()).unwrap();
    {
        let mut cancelled = pin!(hand_made.acquire());
        assert!(poll(cancelled.as_mut()).is_pending());
        assert_eq!(counters(&hand_made), [1, 1, 0, 0, 1, 1, 1]);
    }
    drop(held);
    assert_eq!(counters(&hand_made), [0, 1, 0, 0, 0, 1, 1]);
    hand_made.semaphore.close();
    assert_eq!(now(|| hand_made.acquire()).unwrap_err(), Refusal::Closed);
    hand_made.waiting.store(ROOM as u64, Relaxed);
    assert_eq!(now(|| hand_made.acquire()).unwrap_err(), Refusal::Full);
    assert_eq!(counters(&hand_made), [ROOM as u64, 1, 1, 0, 0, 1, 1]);
}

#[test]
fn a_wait_with_a_limit_expires() {
    let hand_made = HandMade::new(0, Some(Duration::from_millis(1)));
    assert_eq!(tokio_runtime().block_on(hand_made.acquire()).unwrap_err(), Refusal::Expired);
    assert_eq!(counters(&hand_made), [0, 0, 0, 1, 0, 0, 0]);
}
