//! The history of the reference model, and the figures that are counted in it.

use bulklink_core::{EventKind, Totals};

use super::model::{Model, Time};

/// An entry of the history, with the occupancy right after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    pub kind: EventKind,
    pub cost: Option<usize>,
    pub from_queue: bool,
    pub waited: Option<Time>,
    pub affected: usize,
    pub previous_capacity: Option<usize>,
    pub previous_waiting_room: Option<usize>,
    pub in_flight: usize,
    pub in_use: usize,
    pub waiting: usize,
    pub waiting_units: usize,
    pub capacity: usize,
    pub waiting_room: usize,
    pub is_closed: bool,
}

impl Model {
    /// Returns the counters, all counted in the history.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for past in &self.history {
            count(&mut totals, past);
        }
        totals
    }

    /// Returns the sum of all waits that ended in admission.
    pub fn cumulative_wait(&self) -> Time {
        self.admissions().filter_map(|past| past.waited).sum()
    }

    fn admissions(&self) -> impl Iterator<Item = &Past> {
        self.history.iter().filter(|past| past.kind == EventKind::Admitted)
    }

    pub fn count(&self, kind: EventKind) -> u64 {
        self.history.iter().filter(|past| past.kind == kind).count() as u64
    }

    pub fn peak(&self, figure: impl Fn(&Past) -> usize) -> usize {
        self.history.iter().map(figure).max().unwrap_or(0)
    }

    pub fn longest_wait(&self) -> Time {
        self.admissions().filter_map(|past| past.waited).max().unwrap_or(0)
    }
}

fn count(totals: &mut Totals, past: &Past) {
    let units = past.cost.unwrap_or(0) as u64;
    match (past.kind, past.from_queue) {
        (EventKind::Admitted, from_queue) => {
            totals.admitted += 1;
            totals.admitted_units += units;
            totals.admitted_from_queue += u64::from(from_queue);
            totals.admitted_from_queue_units += if from_queue { units } else { 0 };
        }
        (EventKind::Abandoned | EventKind::Uncollected, _) => {
            totals.abandoned += 1;
            totals.abandoned_units += units;
        }
        (EventKind::Queued, _) => {
            totals.queued += 1;
            totals.queued_units += units;
        }
        (EventKind::Released, _) => {
            totals.finished += 1;
            totals.finished_units += units;
        }
        (EventKind::WrittenOff, _) => totals.finished += 1,
        (EventKind::Saturated, _) => totals.saturated += 1,
        (EventKind::Expired, true) => totals.expired += 1,
        (EventKind::Expired, false) => totals.expired_before_queue += 1,
        (EventKind::Cancelled, _) => totals.cancelled += 1,
        (EventKind::ClosedRejection, true) => totals.closed_while_waiting += 1,
        (EventKind::ClosedRejection, false) => totals.closed_before_queue += 1,
        _ => {}
    }
}
