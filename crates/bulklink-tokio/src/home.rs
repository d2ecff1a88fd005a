//! The driver of a bulkhead, in a task on the runtime of the calls that wait.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use bulklink::runtime::{Driver, DriverHome, Runtime, TimerError};
use tokio::runtime::{Handle, Id, RuntimeFlavor};

use crate::TokioSleep;

/// Returns the runtime of this thread, and how to spawn a driver there.
pub(crate) fn home<R: Runtime<Sleep = TokioSleep>>() -> Result<Option<DriverHome<R>>, TimerError> {
    let id = current().ok_or(TimerError::new("there is no tokio runtime on this thread"))?;
    if !has_time(id) {
        return Err(TimerError::new("the tokio runtime was built without `enable_time` or `enable_all`"));
    }
    Ok(Some(DriverHome::new(number(id), |_, driver| spawn(driver))))
}

/// Returns whether the runtime has timers. Tokio says so only by a panic when a timer is made, so
/// each thread remembers the answer for the last runtime.
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

pub(crate) fn current() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

fn spawn<R: Runtime<Sleep = TokioSleep>>(driver: Driver<R>) {
    drop(tokio::spawn(run(driver)));
    spawn_empty_task();
}

/// Runs the driver so that it does not wait behind a task that blocks. A thread of tokio keeps the
/// task that it woke last to itself, until the task that woke it lets go of the thread. So whenever
/// the driver is woken, another task is spawned right after it and takes that place.
async fn run<R: Runtime<Sleep = TokioSleep>>(driver: Driver<R>) {
    let mut driver = pin!(driver);
    let polled = poll_fn(|context| {
        let waker = Waker::from(Arc::new(SpawnAfterWake(context.waker().clone())));
        driver.as_mut().poll(&mut Context::from_waker(&waker))
    });
    polled.await;
}

struct SpawnAfterWake(Waker);

impl Wake for SpawnAfterWake {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
        spawn_empty_task();
    }
}

fn spawn_empty_task() {
    let handle = Handle::try_current().ok();
    if let Some(handle) = handle.filter(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread) {
        drop(handle.spawn(async {}));
    }
}

/// Converts an id to a number. Tokio shows it only to hashers.
fn number(id: Id) -> NonZeroU64 {
    let mut mixed = Mixed(0);
    id.hash(&mut mixed);
    NonZeroU64::new(mixed.finish()).unwrap_or(NonZeroU64::MAX)
}

/// A hasher that tells any two single numbers apart: rotating, adding, and multiplying by an odd
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
