//! The clock: conversion between tokio's instants and the gate's.

use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant};
use tokio::task::coop::{has_budget_remaining, poll_proceed};

use crate::Tokio;

/// The anchor in the gate's time: centuries from either end, so that earlier instants can be
/// expressed too.
const ANCHOR: Instant = Instant::from_nanos(1 << 62);

/// A fixed instant for the whole process. All conversions use it, because one bulkhead may be used
/// on many runtimes, and their paused clocks may lag or lead.
fn anchor() -> tokio::time::Instant {
    static ANCHOR: OnceLock<std::time::Instant> = OnceLock::new();
    tokio::time::Instant::from_std(*ANCHOR.get_or_init(std::time::Instant::now))
}

impl Clock for Tokio {
    type Instant = tokio::time::Instant;

    fn now(&self) -> Instant {
        self.instant(tokio::time::Instant::now())
    }

    fn instant(&self, at: tokio::time::Instant) -> Instant {
        match at.checked_duration_since(anchor()) {
            Some(after) => ANCHOR.saturating_add(after),
            None => ANCHOR.saturating_sub(anchor().duration_since(at)),
        }
    }

    /// Counts in tokio's budget, which gives a task 128 units each time it is polled: one unit for
    /// each operation, but at most half of the budget and at most the rest of it.
    #[inline]
    fn cooperate<T>(
        &self,
        context: &mut Context<'_>,
        operations: u32,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        const HALF: u32 = 64;
        let proceeds = ready!(poll_proceed(context));
        let polled = poll(context);
        if polled.is_ready() {
            proceeds.made_progress();
            for _ in 1..operations.min(HALF) {
                if !has_budget_remaining() {
                    break;
                }
                if let Poll::Ready(proceeds) = poll_proceed(context) {
                    proceeds.made_progress();
                }
            }
        }
        polled
    }
}

impl Tokio {
    /// Converts an instant of the gate, such as [`Event::at`](crate::Event::at), to tokio's. An
    /// instant that tokio cannot express becomes a year from now.
    #[must_use]
    pub fn to_tokio(self, at: Instant) -> tokio::time::Instant {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let (after, before) = (at.saturating_since(ANCHOR), ANCHOR.saturating_since(at));
        let there = anchor().checked_add(after).and_then(|there| there.checked_sub(before));
        there.unwrap_or_else(|| tokio::time::Instant::now() + YEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_go_there_and_back_on_both_sides_of_the_anchor() {
        let hour = Duration::from_secs(3600);
        for at in [anchor(), anchor() + hour, anchor() - hour] {
            assert_eq!(Tokio.to_tokio(Tokio.instant(at)), at);
        }
        assert_eq!(Tokio.instant(anchor() + hour).saturating_since(Tokio.instant(anchor() - hour)), 2 * hour);
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        assert!(Tokio.to_tokio(Instant::FAR_FUTURE) > anchor());
        assert!(Tokio.to_tokio(Instant::EPOCH) != anchor());
    }
}
