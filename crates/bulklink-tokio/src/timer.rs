//! Timers of tokio that can move to another runtime, and the runtime of a thread.

use std::cell::Cell;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::panic::catch_unwind;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::runtime::{DriverHome, Instant, Runtime, Timer, TimerError};
use pin_project_lite::pin_project;
use tokio::runtime::{Handle, Id};
use tokio::task::coop::{has_budget_remaining, unconstrained};
use tokio::time::Sleep;

use crate::Tokio;
use crate::driver::spawn;

impl Timer for Tokio {
    type Sleep = TokioSleep;

    fn sleep_until(&self, deadline: Instant) -> TokioSleep {
        let sleep = tokio::time::sleep_until(self.to_tokio(deadline));
        TokioSleep { home: current(), deadline, sleep }
    }

    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError> {
        home()
    }
}

pin_project! {
    /// A timer on tokio.
    ///
    /// Tokio's own timer belongs to the runtime that made it, and panics if it is polled after that
    /// runtime has ended. This one moves to the runtime that polls it. Like `tokio::time::timeout`,
    /// it fires in time beside an operation that uses up the budget of its task.
    #[derive(Debug)]
    pub struct TokioSleep {
        home: Option<Id>,
        deadline: Instant,
        #[pin]
        sleep: Sleep,
    }
}

impl Future for TokioSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let here = current();
        if here.is_some() && here != *this.home {
            this.sleep.set(tokio::time::sleep_until(Tokio.to_tokio(*this.deadline)));
            *this.home = here;
        }
        if has_budget_remaining() {
            return this.sleep.poll(context);
        }
        // Tokio's timer is never ready without budget, and the operation that it limits was polled
        // before it, and may use up all budget in each poll.
        pin!(unconstrained(this.sleep)).poll(context)
    }
}

/// Returns the runtime of this thread, and how to spawn a driver there.
fn home<R: Runtime<Sleep = TokioSleep>>() -> Result<Option<DriverHome<R>>, TimerError> {
    let id = current().ok_or(TimerError::new("there is no tokio runtime on this thread"))?;
    if !has_time(id) {
        return Err(TimerError::new("the tokio runtime was built without `enable_time` or `enable_all`"));
    }
    Ok(Some(DriverHome::new(number(id), |_, driver| spawn(driver))))
}

/// Returns whether the runtime has timers. Tokio reports this only by a panic when a timer is made,
/// so each thread remembers the answer for the last runtime.
fn has_time(id: Id) -> bool {
    thread_local!(static LAST: Cell<Option<(Id, bool)>> = const { Cell::new(None) });
    match LAST.get() {
        Some((last, has_time)) if last == id => has_time,
        _ => {
            let has_time = catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok();
            LAST.set(Some((id, has_time)));
            has_time
        }
    }
}

fn current() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

/// Converts an id to a number. Tokio shows it only to hashers.
fn number(id: Id) -> NonZeroU64 {
    let mut mixed = Mixed(0);
    id.hash(&mut mixed);
    NonZeroU64::new(mixed.finish()).unwrap_or(NonZeroU64::MAX)
}

/// A hasher without collisions of single numbers: rotating, adding, and multiplying by an odd
/// number can all be undone.
struct Mixed(u64);

impl Hasher for Mixed {
    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(5).wrapping_add(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(parts: &[&[u8]]) -> u64 {
        let mut mixed = Mixed(0);
        for part in parts {
            mixed.write(part);
        }
        mixed.finish()
    }

    #[test]
    fn all_that_an_id_shows_counts() {
        let numbers = (0..10_000_u64).map(|number| {
            let mut mixed = Mixed(0);
            mixed.write_u64(number);
            mixed.finish()
        });
        let shown = [mixed(&[b"ab"]), mixed(&[b"ba"]), mixed(&[b"xb"]), mixed(&[b"abc"])];
        let distinct: std::collections::HashSet<_> = numbers.chain(shown).collect();
        assert_eq!(distinct.len(), 10_004);
        let mut twice = Mixed(0);
        twice.write_u64(1);
        twice.write_u64(2);
        assert!(!distinct.contains(&twice.finish()), "the first part is not forgotten");
    }
}
