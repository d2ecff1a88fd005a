//! Measurements over time: the lengths of waits and holds, and the use of the units.

use bulklink_core::{EventKind, Histogram, Instant, Snapshot};

use super::model::Time;
use super::world::{Input, World};

/// The time at which a world begins.
pub(super) const BEGINNING: Time = 10;

impl World {
    /// Sums the use up to now, as a front does for each snapshot.
    pub(super) fn sum_use(&mut self) {
        self.model.sum_use(self.now);
        if let Some(calls) = &mut self.calls {
            calls.note_use(&self.gate, Instant::from_nanos(self.now));
        }
    }

    /// Notes the use after an input that goes to the gate itself, though there is an account of
    /// single calls, and by which units can be handed over.
    pub(super) fn note_use_after(&mut self, input: Input) {
        let changes = matches!(
            input,
            Input::Resize(_) | Input::Reconfigure(_) | Input::Resume | Input::Close | Input::TakeBack(_)
        );
        if let (Some(calls), true) = (&mut self.calls, changes) {
            calls.note_use(&self.gate, Instant::from_nanos(self.now));
        }
    }

    /// Compares the counts by length, after an input that could count something.
    pub(super) fn check_lengths(&self, snapshot: &Snapshot, past_before: usize) {
        let past = &self.model.history[past_before..];
        if past.iter().any(|past| past.kind == EventKind::Admitted && past.from_queue) {
            let mut waits = Histogram::new();
            self.gate.read_waits(&mut waits);
            assert_eq!(waits.count(), snapshot.totals.admitted_from_queue);
            assert!(waits.quantile(1.0) >= Some(snapshot.longest_wait()));
        }
        if let (Some(calls), true) = (&self.calls, self.model.measures_holds && !past.is_empty()) {
            let mut holds = Histogram::new();
            calls.read_holds(&mut holds);
            assert_eq!(holds.count(), snapshot.holds);
        }
    }
}
