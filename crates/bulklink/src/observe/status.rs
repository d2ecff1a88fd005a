//! Readings of a bulkhead, together with its name.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use core::time::Duration;

use bulklink_core::{IntervalError, Snapshot};

use crate::limit::Adaptive;

/// All figures of a bulkhead at one moment: a [`Snapshot`] with the label.
///
/// It dereferences to the snapshot, whose figures are consistent with each other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// The name of the bulkhead.
    pub label: Arc<str>,
    /// How often a handler of events has panicked.
    pub handler_panics: usize,
    /// How many events no handler was called for, for the reason in
    /// [`add_event_handler`](crate::Handle::add_event_handler).
    pub dropped_events: usize,
    /// How long the first call in the queue has waited: no call has waited longer. `None` if no
    /// call waits, if the wait of the first is not [measured](crate::Builder::measure_waits), or if
    /// the clock panics.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(1).waiting_room(2).build()?;
    /// let _running = payments.slot().await?;
    /// assert_eq!(payments.status().oldest_wait, None);
    /// let _waiting = tokio::spawn(payments.owned().slot());
    /// tokio::time::sleep(Duration::from_millis(40)).await;
    /// assert_eq!(payments.status().oldest_wait, Some(Duration::from_millis(40)));
    /// # Ok(())
    /// # }
    /// ```
    pub oldest_wait: Option<Duration>,
    /// The figures of the [adaptive limit](crate::Builder::adaptive), if there is one.
    pub adaptive: Option<Adaptive>,
    /// The figures of the gate.
    pub snapshot: Snapshot,
}

/// The findings of a [`Status`] about capacity, with the label; made by
/// [`Status::capacity_report`].
///
/// It dereferences to the gate's own report, a [`GateReport`](crate::GateReport): the severity, the
/// findings, to which those about an [adaptive limit](Status::adaptive) are added, and the ratios.
/// [`Display`](fmt::Display) summarises it in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapacityReport {
    /// The name of the bulkhead.
    pub label: Arc<str>,
    /// The report of the gate.
    pub report: bulklink_core::CapacityReport,
}

impl Status {
    /// Returns the findings of these figures about capacity: full limits, odd settings, events
    /// that are too frequent, and an adaptive limit that has failed or whose bounds are too narrow.
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Severity};
    ///
    /// let payments = Bulkhead::builder("payments").parallelism(1).build()?;
    /// let _running = payments.try_slot()?;
    /// let report = payments.status().capacity_report();
    /// assert_eq!(report.severity(), Severity::Warning);
    /// assert_eq!(report.findings[0].code.as_str(), "execution_full");
    /// assert_eq!(report.to_string(), "bulkhead payments: warning: 1 of 1 in use");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn capacity_report(&self) -> CapacityReport {
        self.reported(self.snapshot.capacity_report())
    }

    /// Returns the findings of these figures about capacity, with the rates since an earlier status
    /// of the bulkhead, as [`Snapshot::capacity_report_since`] does: so that a burst that is over
    /// does not count.
    ///
    /// # Errors
    ///
    /// If the two are of different bulkheads, or in the wrong order.
    ///
    /// ```
    /// # use bulklink_tokio::{Bulkhead, Severity};
    /// # let payments = Bulkhead::builder("payments").parallelism(1).build()?;
    /// let running = payments.try_slot()?;
    /// (0..50).for_each(|_| drop(payments.try_slot()));
    /// drop(running);
    /// let earlier = payments.status();
    /// assert_eq!(earlier.capacity_report().severity(), Severity::Critical);
    ///
    /// (0..50).for_each(|_| drop(payments.try_slot()));
    /// let report = payments.status().capacity_report_since(&earlier)?;
    /// assert_eq!(report.severity(), Severity::Ok);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacity_report_since(&self, earlier: &Snapshot) -> Result<CapacityReport, IntervalError> {
        Ok(self.reported(self.snapshot.capacity_report_since(earlier)?))
    }

    fn reported(&self, mut report: bulklink_core::CapacityReport) -> CapacityReport {
        if let Some(adaptive) = &self.adaptive {
            adaptive.add_findings(&mut report);
        }
        CapacityReport { label: Arc::clone(&self.label), report }
    }
}

impl Deref for Status {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl Deref for CapacityReport {
    type Target = bulklink_core::CapacityReport;

    fn deref(&self) -> &bulklink_core::CapacityReport {
        &self.report
    }
}

impl fmt::Display for CapacityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bulkhead {}: {}", self.label, self.report)
    }
}
