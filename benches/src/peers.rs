//! Who is compared: how each is made, and what each answers.

use std::fmt::Debug;
use std::time::Duration;

use bulklink_tokio::Bulkhead;
use tokio::runtime::{self, Runtime};

/// More than any scene has waiting.
const ROOM: usize = 4_000_000;

/// Ours, for so many at once, with room for all who wait.
///
/// # Panics
///
/// If the capacity is zero.
#[must_use]
pub fn bulkhead(capacity: usize) -> Bulkhead {
    Bulkhead::builder("bench").parallelism(capacity).waiting_room(ROOM).build().expect("these are valid limits")
}

/// [`bulkhead`] in which nobody waits longer than `limit`.
///
/// # Panics
///
/// If the capacity or the limit is zero.
#[must_use]
pub fn limited(capacity: usize, limit: Duration) -> Bulkhead {
    let builder = Bulkhead::builder("bench").parallelism(capacity).waiting_room(ROOM);
    builder.wait_limit(limit).build().expect("these are valid limits")
}

/// Tokio on one thread, with its timers.
///
/// # Panics
///
/// If the system has no resources for it.
#[must_use]
pub fn tokio_runtime() -> Runtime {
    runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be made")
}

/// A contender's answer. A refusal where none is expected ends the measurement, instead of being measured.
pub trait Answer {
    /// The right to run.
    type Permit;

    /// The permit.
    fn permit(self) -> Self::Permit;
}

impl<T: Answer, E: Debug> Answer for Result<T, E> {
    type Permit = T::Permit;

    fn permit(self) -> T::Permit {
        self.expect("admitted").permit()
    }
}

impl<T: Answer> Answer for Option<T> {
    type Permit = T::Permit;

    fn permit(self) -> T::Permit {
        self.expect("admitted").permit()
    }
}

/// Those that are permits themselves.
macro_rules! permits {
    ($($permit:ty),* $(,)?) => {
        $(impl Answer for $permit {
            type Permit = Self;

            fn permit(self) -> Self {
                self
            }
        })*
    };
}

permits!(
    bulklink_tokio::Slot<'_>,
    bulklink_tokio::OwnedSlot,
    bulklink_tokio::partitions::Slot<'_>,
    tokio::sync::SemaphorePermit<'_>,
    tokio::sync::OwnedSemaphorePermit,
    async_lock::SemaphoreGuard<'_>,
    asyncband::semaphore::SemaphorePermit<'_>,
    throttle_net::BulkheadPermit<'_>,
);
