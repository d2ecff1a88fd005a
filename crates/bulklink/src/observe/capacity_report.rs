//! What a bulkhead's figures say about capacity, under its name.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

use crate::Status;

/// What a [`Status`] says about capacity; made by [`Status::capacity_report`].
///
/// It dereferences to the gate's own report, which has the severity, the findings and the ratios. Its text is a summary in one
/// sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapacityReport {
    /// The bulkhead's name.
    pub label: Arc<str>,
    /// What its figures say.
    pub report: bulklink_core::CapacityReport,
}

impl Status {
    /// What these figures say about capacity: what is full, what is configured oddly, and what has happened too often.
    ///
    /// ```
    /// # use bulklink::{Bulkhead, FindingCode, Severity, testing::FakeClock};
    /// let payments = Bulkhead::builder_on(FakeClock::new(), "payments").parallelism(1).build()?;
    /// let _running = payments.try_slot()?;
    /// let report = payments.status().capacity_report();
    /// assert_eq!(report.severity(), Severity::Warning);
    /// assert_eq!(report.findings[0].code.as_str(), "execution_full");
    /// assert_eq!(report.to_string(), "bulkhead payments: warning: 1 of 1 in use");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn capacity_report(&self) -> CapacityReport {
        CapacityReport { label: Arc::clone(&self.label), report: self.snapshot.capacity_report() }
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
