//! Everything that an exporter reads of a bulkhead, in one reading.

use alloc::sync::Arc;

use bulklink_core::{Gate, Histogram, Limits};

use crate::foreign::attempt;
use crate::{Handle, Status};

/// All figures of a bulkhead at one moment, with the lengths of waits and holds; read by
/// [`Handle::figures`].
///
/// It takes about 6 KB. Make one, and read all bulkheads into it, one after the other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Figures {
    /// All that [`Handle::status`] returns.
    pub status: Status,
    /// The waits that ended in admission, by their length: as many as the status counts as
    /// [admitted from the queue](crate::Totals::admitted_from_queue), with the sum
    /// [`cumulative_wait`](crate::Totals::cumulative_wait).
    pub waits: Histogram,
    /// The holds that ended, by their length: as many as the status
    /// [counts](crate::Snapshot::holds), with the sum
    /// [`cumulative_hold`](crate::Snapshot::cumulative_hold). Empty if they are not
    /// [measured](crate::Builder::measure_holds).
    pub holds: Histogram,
}

impl Figures {
    /// Makes a place for figures. Before the first reading, it has those of a bulkhead without a
    /// name that never had a call.
    #[must_use]
    pub fn new() -> Self {
        Figures { status: of_nothing(), waits: Histogram::new(), holds: Histogram::new() }
    }
}

impl Default for Figures {
    fn default() -> Self {
        Figures::new()
    }
}

/// Returns the status of a bulkhead without a name that never had a call.
fn of_nothing() -> Status {
    let mut gate = Gate::<()>::new(Limits::new(1)).expect("valid limits");
    let snapshot = gate.snapshot(None);
    Status { label: Arc::from(""), handler_panics: 0, dropped_events: 0, oldest_wait: None, adaptive: None, snapshot }
}

impl Handle {
    /// Reads all figures of this moment, in place of those in `into`: the [status](Handle::status),
    /// and the lengths of waits and holds.
    ///
    /// All are of one moment, and consistent with each other. It is made to be called for many
    /// bulkheads, and again and again: it allocates nothing, and takes about a microsecond, in
    /// which it holds the lock. A bulkhead that is read keeps its fast path.
    ///
    /// Waits are always counted by their length. The first of them allocates 2 KB. The bulkhead of
    /// a [partition](crate::Partitions) has no histograms of its own, and so both are empty:
    /// [`partitions::Handle::figures`](crate::partitions::Handle::figures) reads those of all
    /// partitions.
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Figures};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = Bulkhead::builder("payments").parallelism(1).waiting_room(10);
    /// let payments = builder.measure_holds(true).build()?;
    /// let running = payments.slot().await?;
    /// let waiting = tokio::spawn(payments.owned().slot());
    /// tokio::time::sleep(Duration::from_millis(20)).await;
    /// drop(running);
    /// let running = waiting.await??;
    ///
    /// let mut figures = Figures::new();
    /// payments.handle().figures(&mut figures);
    /// assert_eq!(figures.status.in_use, 1);
    /// assert_eq!(figures.waits.quantile(0.99), Some(Duration::from_millis(20)));
    /// assert_eq!(figures.holds.count(), figures.status.holds);
    /// # Ok(())
    /// # }
    /// ```
    pub fn figures(&self, into: &mut Figures) {
        // A clock that panics must not hide the figures.
        let now = attempt(|| self.shared.now());
        let Figures { status, waits, holds } = into;
        (status.snapshot, status.oldest_wait, status.adaptive) =
            self.shared.with_gate(|state| (state.figures(now, waits, holds), state.oldest_wait(now), state.adaptive()));
        let identity = self.shared.identity();
        (status.handler_panics, status.dropped_events) = (identity.handler_panics(), identity.dropped_events());
        if !Arc::ptr_eq(&status.label, self.shared.label()) {
            status.label = Arc::clone(self.shared.label());
        }
    }
}
