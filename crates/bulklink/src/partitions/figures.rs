//! Everything that an exporter reads of partitions, in one reading.

use alloc::sync::Arc;

use bulklink_core::Histogram;
use bulklink_core::partitions::Partitions as Account;

use super::inner::Inner;
use super::{Handle, Limits, Status, Sums};
use crate::Clock;
use crate::foreign::attempt;

/// All figures of partitions, with the lengths of waits and holds; read by [`Handle::figures`]. It
/// shows no key.
///
/// It takes about 6 KB. Make one, and read all partitions into it, one after the other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Figures {
    /// All that [`Handle::status`] returns, with the number of keys.
    pub status: Status,
    /// All that [`Handle::sums`] returns.
    pub sums: Sums,
    /// The waits that ended in admission, by their length, in all partitions that ever were.
    pub waits: Histogram,
    /// The holds that ended, by their length, in all partitions that ever were. Empty if they are
    /// not [measured](super::Builder::measure_holds).
    pub holds: Histogram,
}

impl Figures {
    /// Makes a place for figures. Before the first reading, it has those of partitions without a
    /// name that never had a call.
    #[must_use]
    pub fn new() -> Self {
        let status = of_nothing();
        let sums = Sums { label: Arc::clone(&status.label), ..Sums::default() };
        Figures { status, sums, waits: Histogram::new(), holds: Histogram::new() }
    }
}

impl Default for Figures {
    fn default() -> Self {
        Figures::new()
    }
}

/// Returns the status of partitions without a name that never had a call.
fn of_nothing() -> Status {
    let snapshot = Account::<()>::new(Limits::new(1)).expect("valid limits").snapshot();
    let (label, each) = (Arc::from(""), crate::Limits::new(1));
    Status { label, each, is_paused: false, handler_panics: 0, dropped_events: 0, shared: None, snapshot }
}

impl Handle {
    /// Reads all figures, in place of those in `into`: the [status](Handle::status), the
    /// [sums](Handle::sums), and the lengths of waits and holds.
    ///
    /// No counter is lower than in an earlier reading, also after partitions were dropped. As for
    /// the sums, the partitions are read one after the other, while calls go on. So there may be
    /// more waits than the sums count as [admitted from the
    /// queue](crate::Totals::admitted_from_queue), but never fewer; once no call moves, as many.
    ///
    /// ```
    /// # use bulklink_tokio::{Partitions, partitions};
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let builder = Partitions::builder("tenants").parallelism(1).waiting_room(1);
    /// # let tenants: Partitions<String> = builder.max_partitions(10).build()?;
    /// let running = tenants.key("ann").slot().await?;
    /// let waiting = tokio::spawn(tenants.key("ann").slot());
    /// tokio::time::sleep(Duration::from_millis(20)).await;
    /// drop(running);
    /// drop(waiting.await??);
    ///
    /// let mut figures = partitions::Figures::new();
    /// tenants.handle().figures(&mut figures);
    /// assert_eq!((figures.status.partitions, figures.sums.totals.admitted), (1, 2));
    /// assert_eq!(figures.waits.count_up_to(Duration::from_millis(20)), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn figures(&self, into: &mut Figures) {
        self.inner.figures(into);
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S> Inner<K, R, S> {
    pub(super) fn figures(&self, into: &mut Figures) {
        // A clock that panics must not hide the figures.
        let now = attempt(|| self.each.runtime.now());
        (into.status, into.sums) = self.read(now, |_, _| ());
        // Read after the gates, so that no wait is missing that these have counted.
        self.histograms.read(&mut into.waits, &mut into.holds);
    }
}
