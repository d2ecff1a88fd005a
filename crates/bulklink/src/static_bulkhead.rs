//! A bulkhead for a `static`.

use core::fmt;
use core::ops::Deref;
use std::sync::OnceLock;

use bulklink_core::Limits;

use crate::{Builder, Bulkhead, Clock, Handle};

/// A [`Bulkhead`] in a `static`, to which it dereferences. It is built when it is first used.
///
/// ```
/// use bulklink_tokio::{Limits, StaticBulkhead, Tokio};
///
/// static PAYMENTS: StaticBulkhead =
///     StaticBulkhead::new("payments", Tokio, Limits::new(4).with_waiting_room(100));
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let receipt = PAYMENTS.execute(async { "paid" }).await?;
/// # assert_eq!(receipt, "paid");
/// assert_eq!(PAYMENTS.status().totals.finished, 1);
/// # Ok(())
/// # }
/// ```
///
/// The compiler checks the limits and the label:
///
/// ```compile_fail,E0080
/// use bulklink_tokio::{Limits, StaticBulkhead, Tokio};
///
/// static PAYMENTS: StaticBulkhead =
///     StaticBulkhead::new("payments", Tokio, Limits::new(0));
/// ```
///
/// A `static` is never dropped, and so this bulkhead is not either: its handlers and event channels
/// stay until they are removed. For other settings of a [`Builder`], use a
/// [`LazyLock`](std::sync::LazyLock).
pub struct StaticBulkhead<R> {
    label: &'static str,
    runtime: R,
    limits: Limits,
    bulkhead: OnceLock<Bulkhead<R>>,
}

impl<R> StaticBulkhead<R> {
    /// Names the bulkhead, with its runtime and its limits.
    ///
    /// # Panics
    ///
    /// If a limit is out of its range (see [`Limits`]), if there is a wait limit or a bound on the
    /// units that wait and no waiting room, or if the label is blank or has other characters than
    /// those of printable ASCII. In a `static`, this is an error of the compiler.
    #[must_use]
    pub const fn new(label: &'static str, runtime: R, limits: Limits) -> Self {
        check_label(label.as_bytes());
        check(&limits);
        StaticBulkhead { label, runtime, limits, bulkhead: OnceLock::new() }
    }
}

/// As [`label::check`](crate::label::check), for the characters that a constant can check.
const fn check_label(label: &[u8]) {
    let (mut place, mut is_blank) = (0, true);
    while place < label.len() {
        assert!(matches!(label[place], b' '..=b'~'), "label must hold printable ASCII only");
        is_blank &= label[place] == b' ';
        place += 1;
    }
    assert!(!is_blank, "label must not be blank");
}

/// As [`Builder::build`] checks the limits.
const fn check(limits: &Limits) {
    assert!(limits.capacity >= 1, "capacity must be at least 1");
    assert!(limits.capacity <= Limits::MAX, "capacity must be at most 2147483647");
    assert!(limits.waiting_room <= Limits::MAX, "waiting_room must be at most 2147483647");
    if let Some(units) = limits.waiting_room_units {
        assert!(limits.waiting_room > 0, "waiting_room_units must not be set without a waiting room");
        assert!(units >= 1, "waiting_room_units must be at least 1");
        assert!(units <= Limits::MAX, "waiting_room_units must be at most 2147483647");
    }
    if let Some(limit) = limits.wait_limit {
        assert!(!limit.is_zero(), "wait_limit must be longer than zero");
        assert!(limits.waiting_room > 0, "wait_limit must not be set without a waiting room");
    }
}

impl<R: Clock + Clone + Send + Sync + 'static> Deref for StaticBulkhead<R> {
    type Target = Bulkhead<R>;

    fn deref(&self) -> &Bulkhead<R> {
        self.bulkhead.get_or_init(|| {
            let builder = Builder::new(self.runtime.clone(), self.label).limits(self.limits);
            builder.build().expect("`new` has checked the limits and the label")
        })
    }
}

impl<R: Clock + Clone + Send + Sync + 'static> AsRef<Handle> for StaticBulkhead<R> {
    fn as_ref(&self) -> &Handle {
        self.handle()
    }
}

impl<R: Clock + Clone + Send + Sync + 'static> fmt::Debug for StaticBulkhead<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
