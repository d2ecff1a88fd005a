//! The findings of a capacity report about an adaptive limit.

use alloc::format;

use bulklink_core::limit::Step;
use bulklink_core::{CapacityReport, Finding, FindingCode, Severity};

use super::{Adaptive, BY, Mode};

impl Adaptive {
    /// Adds the findings about this limit to the report of its bulkhead.
    pub(crate) fn add_findings(&self, report: &mut CapacityReport) {
        let (limit, (least, most)) = (self.state.limit, self.bounds);
        if self.has_failed {
            let message = format!("the adaptive limit panicked or left its bounds, and stays at {limit}");
            report.add(Finding::new(FindingCode::AdaptiveLimitFailed, Severity::Warning, message));
        } else if self.is_at_most() && is_rejecting(report) {
            let message = format!("the adaptive limit of {limit} would go beyond its bounds, {least} to {most}");
            report.add(Finding::new(FindingCode::AdaptiveLimitAtBound, Severity::Notice, message));
        }
    }

    /// Returns whether the limit moves and its greatest value is in its way. Looking around that
    /// place, it is an eighth below it at times.
    fn is_at_most(&self) -> bool {
        let (limit, (least, most)) = (self.state.limit, self.bounds);
        let is_near = match self.state.step {
            Step::MoreHelps => limit >= most - most / 8,
            Step::EnoughIsBusy | Step::WasTold | Step::RememberedPlace => false,
            _ => limit == most,
        };
        self.mode == Mode::Active && least < most && is_near
    }
}

/// Returns whether a finding says that calls are rejected, and no other controller allows less.
fn is_rejecting(report: &CapacityReport) -> bool {
    let is_own = report.snapshot.restriction.is_none_or(|restriction| restriction.by == BY);
    is_own && report.finding(FindingCode::ElevatedRejectionRate).is_some()
}
