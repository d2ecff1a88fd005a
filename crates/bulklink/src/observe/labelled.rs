//! Readings of a bulkhead, together with its name.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

use bulklink_core::{IntervalError, Snapshot};

/// A value together with the name of its bulkhead. It dereferences to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Labelled<T> {
    /// The name of the bulkhead.
    pub label: Arc<str>,
    /// The value.
    pub value: T,
}

/// All figures of a bulkhead at one moment: a [`Snapshot`] with the label.
///
/// The figures of one status are consistent with each other.
pub type Status = Labelled<Snapshot>;

/// The findings of a [`Status`] about capacity, with the label; made by
/// [`Status::capacity_report`].
///
/// It dereferences to the gate's own report, which has the severity, the findings and the ratios.
/// [`Display`](fmt::Display) summarises it in one sentence.
pub type CapacityReport = Labelled<bulklink_core::CapacityReport>;

impl<T> Labelled<T> {
    pub(crate) fn new(label: &Arc<str>, value: T) -> Self {
        Labelled { label: Arc::clone(label), value }
    }
}

impl Status {
    /// Returns the findings of these figures about capacity: full limits, odd settings, and
    /// events that are too frequent.
    ///
    /// ```
    /// # use bulklink::{Bulkhead, FindingCode, Severity, testing::FakeClock};
    /// let builder = Bulkhead::builder_on(FakeClock::new(), "payments");
    /// let payments = builder.parallelism(1).build()?;
    /// let _running = payments.try_slot()?;
    /// let report = payments.status().capacity_report();
    /// assert_eq!(report.severity(), Severity::Warning);
    /// assert_eq!(report.findings[0].code.as_str(), "execution_full");
    /// assert_eq!(report.to_string(), "bulkhead payments: warning: 1 of 1 in use");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn capacity_report(&self) -> CapacityReport {
        Labelled::new(&self.label, self.value.capacity_report())
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
    /// # use bulklink::{Bulkhead, Severity, testing::FakeClock};
    /// # let payments = Bulkhead::builder_on(FakeClock::new(), "payments").parallelism(1).build()?;
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
        Ok(Labelled::new(&self.label, self.value.capacity_report_since(earlier)?))
    }
}

impl<T> Deref for Labelled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Display> fmt::Display for Labelled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bulkhead {}: {}", self.label, self.value)
    }
}
