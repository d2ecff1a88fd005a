//! How many rejections of a bulkhead are logged, and how many are left out.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::mem;
use core::time::Duration;
use std::time::Instant;

use crate::gate::lock::Lock;

/// The most events in any span of a second.
const MOST: usize = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// Admits events to the log, such as rejections, and counts those that are left out. Clones share
/// it.
#[derive(Clone, Debug)]
pub struct Account(Arc<Lock<Logged>>);

#[derive(Debug, Default)]
struct Logged {
    /// When the latest were logged, the oldest first. Nothing is allocated before the first.
    at: VecDeque<Instant>,
    left_out: u64,
}

impl Account {
    /// Makes one of which nothing was logged.
    #[must_use]
    pub fn new() -> Self {
        Account(Arc::new(Lock::new(Logged::default())))
    }

    /// Admits a rejection to the log, and returns the number of those that were left out since the
    /// last one. Or returns `None`, and counts it as left out.
    pub(super) fn admit(&self, now: Instant) -> Option<u64> {
        self.0.with(|logged| {
            if logged.at.len() == MOST {
                if logged.at.front().is_some_and(|&first| now.saturating_duration_since(first) < WINDOW) {
                    logged.left_out = logged.left_out.saturating_add(1);
                    return None;
                }
                logged.at.pop_front();
            }
            logged.at.reserve_exact(MOST - logged.at.len());
            logged.at.push_back(now);
            Some(mem::take(&mut logged.left_out))
        })
    }

    /// Takes back that a rejection was admitted, with the number that this returned: no subscriber
    /// wants it.
    pub(super) fn give_back(&self, left_out: u64) {
        self.0.with(|logged| {
            logged.at.pop_back();
            logged.left_out = logged.left_out.saturating_add(left_out);
        });
    }

    /// Counts this many rejections as left out.
    pub(super) fn leave_out(&self, rejections: u64) {
        self.0.with(|logged| logged.left_out = logged.left_out.saturating_add(rejections));
    }
}

impl Default for Account {
    fn default() -> Self {
        Account::new()
    }
}

#[cfg(all(test, not(bulklink_loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_second_has_more_than_ten_and_none_is_lost() {
        let (account, begin) = (Account::new(), Instant::now());
        let (mut logged, mut left_out) = (std::vec::Vec::new(), 0);
        for milli in 0..5_000 {
            let at = Duration::from_millis(milli);
            if let Some(before) = account.admit(begin + at) {
                logged.push(at);
                left_out += before;
            }
        }
        assert!(logged.windows(MOST + 1).all(|run| run[MOST] >= run[0] + WINDOW));
        assert_eq!(logged.len(), 50);
        account.leave_out(7);
        let last = account.admit(begin + Duration::from_secs(9)).expect("no other for a long time");
        assert_eq!(logged.len() as u64 + left_out + last, 5_000 + 7);
    }

    #[test]
    fn clones_share_one_account() {
        let (account, now) = (Account::new(), Instant::now());
        let other = account.clone();
        assert!((0..MOST).all(|_| account.admit(now) == Some(0)));
        assert_eq!(other.admit(now), None);
        assert_eq!(account.admit(now + WINDOW), Some(1));
    }

    #[test]
    fn one_that_is_given_back_takes_no_place_and_no_count() {
        let (account, now) = (Account::new(), Instant::now());
        account.leave_out(3);
        for _ in 0..2 * MOST {
            assert_eq!(account.admit(now), Some(3));
            account.give_back(3);
        }
        assert_eq!(account.admit(now), Some(3));
        assert!((1..MOST).all(|_| account.admit(now) == Some(0)));
        assert_eq!(account.admit(now), None);
    }
}
