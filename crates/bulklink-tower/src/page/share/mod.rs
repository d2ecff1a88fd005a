//! The row of a share of a fleet's limit.

pub(super) mod json;
pub(super) mod text;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bulklink::Severity;
use bulklink::plumbing::texts;
use bulklink::runtime::Clock;
use bulklink_fleet::{Fleet, ShareStatus};

use super::row::{Finding, worst};
use super::worst::Rank;

/// How much of the texts of an error is shown, in characters.
const LONGEST_TEXT: usize = 300;

/// The shares of a fleet that the page shows, whatever its runtime is.
#[derive(Clone)]
pub(super) struct Source(Arc<dyn Fn() -> Vec<(String, ShareStatus)> + Send + Sync>);

pub(super) struct ShareRow {
    pub(super) label: Arc<str>,
    pub(super) status: ShareStatus,
    pub(super) severity: Severity,
    pub(super) findings: Vec<Finding>,
}

impl Source {
    pub(super) fn of<R: Clock + Clone + Send + Sync + 'static>(fleet: &Fleet<R>) -> Self {
        let fleet = fleet.clone();
        Source(Arc::new(move || fleet.shares().iter().map(|share| (share.label(), share.status())).collect()))
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = ShareRow> + use<> {
        (self.0)().into_iter().map(|(label, status)| ShareRow::new(&label, status))
    }
}

impl ShareRow {
    fn new(label: &str, status: ShareStatus) -> Self {
        let findings = findings(&status);
        ShareRow { label: label.into(), severity: worst(&findings), findings, status }
    }

    pub(super) fn rank(&self) -> Rank {
        Rank {
            severity: self.severity,
            rejected_share: 0.0,
            utilization: 0.0,
            waiting_share: 0.0,
            label: Arc::clone(&self.label),
        }
    }

    /// The state, as a word: the worst of all that it is in.
    fn state(&self) -> &'static str {
        let ShareStatus { refusal, error, quarantine, declined, .. } = &self.status;
        match () {
            () if refusal.is_some() => "refused",
            () if error.is_some() => "unavailable",
            () if quarantine.is_some() => "recovering",
            () if declined.is_some() => "declined",
            () => "joined",
        }
    }
}

fn findings(status: &ShareStatus) -> Vec<Finding> {
    let finding = |severity, code, message| Finding { severity, code, message };
    let of = |severity, code, error: Option<&(dyn Error + 'static)>| {
        error.map(|error| finding(severity, code, reason(error)))
    };
    let quarantine = status.quarantine.map(|_| "nothing is granted until all that can be in use is known".to_owned());
    let all = [
        of(Severity::Critical, "refused", status.refusal.as_ref().map(|refusal| refusal as _)),
        of(Severity::Warning, "unavailable", status.error.as_ref().map(|error| error as _)),
        quarantine.map(|message| finding(Severity::Warning, "recovering", message)),
        of(Severity::Warning, "declined", status.declined.as_ref().map(|declined| declined as _)),
    ];
    all.into_iter().flatten().collect()
}

/// Returns the texts of an error and of its causes, in one line. They come from a server, perhaps.
fn reason(error: &(dyn Error + 'static)) -> String {
    let text = texts(error);
    let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    let shown: String = text.chars().take(LONGEST_TEXT).map(clean).collect();
    if text.chars().nth(LONGEST_TEXT).is_some() { shown + "…" } else { shown }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((self.0)().iter().map(|(label, _)| label)).finish()
    }
}

#[cfg(test)]
mod tests {
    use bulklink_fleet::StoreError;

    use super::*;

    #[test]
    fn a_text_is_one_line_of_bounded_length() {
        assert_eq!(
            reason(&StoreError::refused("A\nB\u{1b}[31m")),
            "the store refused the command: A\u{fffd}B\u{fffd}[31m"
        );
        let long = reason(&StoreError::refused("é".repeat(1_000)));
        assert_eq!((long.chars().count(), long.chars().last()), (LONGEST_TEXT + 1, Some('…')));
    }
}
