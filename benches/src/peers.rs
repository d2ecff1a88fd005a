//! The contenders: how each is made, and the permit that each returns.

use std::fmt::Debug;
use std::time::Duration;

use bulklink_tokio::Bulkhead;
use tokio::runtime::{self, Runtime};

use crate::hand_made;

/// More waiters than any scene has.
pub const ROOM: usize = 4_000_000;

/// A limit that is longer than any wait, except where waits expire.
pub const LONG: Duration = Duration::from_secs(10);

/// Makes a bulkhead with this many slots, and room for every waiter.
///
/// # Panics
///
/// If the capacity is zero.
#[must_use]
pub fn bulkhead(capacity: usize) -> Bulkhead {
    Bulkhead::builder("bench").parallelism(capacity).waiting_room(ROOM).build().expect("these are valid limits")
}

/// Makes a [`bulkhead`] with a limit on each wait.
///
/// # Panics
///
/// If the capacity or the limit is zero.
#[must_use]
pub fn limited(capacity: usize, limit: Duration) -> Bulkhead {
    let builder = Bulkhead::builder("bench").parallelism(capacity).waiting_room(ROOM);
    builder.wait_limit(limit).build().expect("these are valid limits")
}

/// Makes a tokio runtime on one thread, with timers.
///
/// # Panics
///
/// If the system lacks the resources.
#[must_use]
pub fn tokio_runtime() -> Runtime {
    runtime::Builder::new_current_thread().enable_time().build().expect("the system has the resources for a runtime")
}

/// The result of a contender. An unexpected rejection ends the measurement instead of being
/// measured.
pub trait Answer {
    /// A slot or a permit.
    type Permit;

    /// Returns the permit.
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

/// Implements [`Answer`] for the permits themselves.
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
    tokio::sync::SemaphorePermit<'_>,
    tokio::sync::OwnedSemaphorePermit,
    hand_made::Permit<'_>,
    async_lock::SemaphoreGuard<'_>,
    asyncband::semaphore::SemaphorePermit<'_>,
    throttle_net::BulkheadPermit<'_>,
);
