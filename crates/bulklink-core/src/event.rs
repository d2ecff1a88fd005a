//! The events of a gate, recorded in order while it is observed.

use core::time::Duration;

use crate::Occupancy;
use crate::fifo::Fifo;

/// The kind of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A request was admitted, immediately or from the queue.
    Admitted,
    /// A request joined the queue.
    Queued,
    /// A request was rejected because there was no room.
    Saturated,
    /// The time of a request ran out, in the queue or before it.
    Expired,
    /// A waiting request was cancelled.
    Cancelled,
    /// A request was cancelled after a slot was handed to it and before its operation began.
    Abandoned,
    /// A slot was taken back from a request that had not collected it in time.
    Uncollected,
    /// An operation ended and its slot was given back.
    Released,
    /// A slot was split in two. The cost is that of the new one.
    Split,
    /// A slot was merged into another. The cost is that of the slot that is gone.
    Merged,
    /// A slot was written off: its operation counts as ended, and its units stay in use.
    WrittenOff,
    /// The gate was closed.
    Closed,
    /// A request was rejected because the gate is closed, in the queue or before it.
    ClosedRejection,
    /// The gate is closed and the last operation has ended.
    Drained,
    /// The capacity was changed.
    Resized,
    /// The gate was paused.
    Paused,
    /// A pause ended, and not by closing.
    Resumed,
    /// The waiting room, its bound in units, or the wait limit was changed. A change of the
    /// capacity with them is [`Resized`](EventKind::Resized), which comes next.
    Reconfigured,
    /// A waiting request was rejected because one of another line of the same
    /// [pool](crate::pool) needed its place.
    Displaced,
}

/// Which events a gate records, and a handler is called for.
///
/// A gate that records neither direct admissions nor releases still publishes a
/// [`Word`](crate::plumbing::Word), on which requests are admitted without asking the gate.
///
/// ```
/// # use bulklink_core::{EventFilter, EventKind};
/// const RESIZED: EventFilter = EventFilter::of(EventKind::Resized);
/// const FILTER: EventFilter = EventFilter::REJECTIONS.or(RESIZED);
/// assert!(FILTER.includes(EventKind::Saturated, false));
/// assert!(FILTER.includes(EventKind::Resized, false));
/// assert!(!FILTER.includes(EventKind::Admitted, true));
/// assert!(EventFilter::WAITS.includes(EventKind::Admitted, true));
/// assert!(!EventFilter::WAITS.includes(EventKind::Admitted, false), "it has not waited");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventFilter(u32);

impl EventFilter {
    /// No event.
    pub const NONE: EventFilter = EventFilter(0);

    /// Every event, also of kinds that are added later.
    pub const ALL: EventFilter = EventFilter(u32::MAX);

    /// Rejections, for any reason: [`Saturated`](EventKind::Saturated),
    /// [`Expired`](EventKind::Expired), [`ClosedRejection`](EventKind::ClosedRejection),
    /// [`Uncollected`](EventKind::Uncollected) and [`Displaced`](EventKind::Displaced).
    pub const REJECTIONS: EventFilter = EventFilter::of(EventKind::Saturated)
        .or(EventFilter::of(EventKind::Expired))
        .or(EventFilter::of(EventKind::ClosedRejection))
        .or(EventFilter::of(EventKind::Uncollected))
        .or(EventFilter::of(EventKind::Displaced));

    /// The beginning of each wait in the queue, and its end: an admission, an expiry, a
    /// cancellation, or a rejection on closing. A request that expires or is rejected as closed
    /// before it could queue is included too.
    pub const WAITS: EventFilter = EventFilter(FROM_QUEUE)
        .or(EventFilter::of(EventKind::Queued))
        .or(EventFilter::of(EventKind::Expired))
        .or(EventFilter::of(EventKind::Cancelled))
        .or(EventFilter::of(EventKind::ClosedRejection))
        .or(EventFilter::of(EventKind::Displaced));

    /// Changes of the gate itself: limits, pauses and closing.
    pub const CHANGES: EventFilter = EventFilter::of(EventKind::Resized)
        .or(EventFilter::of(EventKind::Reconfigured))
        .or(EventFilter::of(EventKind::Paused))
        .or(EventFilter::of(EventKind::Resumed))
        .or(EventFilter::of(EventKind::Closed))
        .or(EventFilter::of(EventKind::Drained));

    /// The events of decisions by a word, without the gate's knowledge.
    const BY_WORD: EventFilter = EventFilter(1 << EventKind::Admitted as u32 | 1 << EventKind::Released as u32);

    /// The events of rejections by a word, without the gate's knowledge.
    const REJECTED_BY_WORD: EventFilter =
        EventFilter::of(EventKind::Saturated).or(EventFilter::of(EventKind::ClosedRejection));

    /// Returns the filter for all events of a kind.
    #[must_use]
    pub const fn of(kind: EventKind) -> Self {
        let queued = if matches!(kind, EventKind::Admitted) { FROM_QUEUE } else { 0 };
        EventFilter(1 << kind as u32 | queued)
    }

    /// Returns the filter for the events of both.
    #[must_use]
    pub const fn or(self, other: EventFilter) -> Self {
        EventFilter(self.0 | other.0)
    }

    /// Returns the filter for the events of this one that the other does not include.
    #[must_use]
    pub const fn except(self, other: EventFilter) -> Self {
        EventFilter(self.0 & !other.0)
    }

    /// Returns whether it includes the events of this kind that concern a request
    /// [from the queue](Event::from_queue), or one that was never there. The difference matters for
    /// admissions only.
    #[must_use]
    #[inline]
    pub const fn includes(self, kind: EventKind, from_queue: bool) -> bool {
        let bit = if from_queue && matches!(kind, EventKind::Admitted) { FROM_QUEUE } else { 1 << kind as u32 };
        self.0 & bit != 0
    }

    const fn intersects(self, other: EventFilter) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether admissions and releases must go through the gate.
    #[inline]
    pub(crate) const fn needs_gate(self) -> bool {
        self.intersects(EventFilter::BY_WORD)
    }

    /// Returns whether rejections must go through the gate.
    pub(crate) const fn needs_gate_to_reject(self) -> bool {
        self.intersects(EventFilter::REJECTED_BY_WORD)
    }
}

/// The admissions from the queue, in a filter.
const FROM_QUEUE: u32 = 1 << 31;

/// One transition, with the occupancy right after it. It holds metadata only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The number of the event. It counts from 1, without gaps among those that the gate
    /// [records](crate::Gate::observe).
    pub number: u64,
    /// The kind of event.
    pub kind: EventKind,
    /// The occupancy right after the transition.
    pub occupancy: Occupancy,
    /// Whether the gate was closed at that moment.
    pub is_closed: bool,
    /// The cost of the request or operation; for a resize, the capacity before; for a
    /// reconfiguration, the waiting room before; else zero.
    pub(crate) units: usize,
    /// How long a request that was in the queue waited.
    pub(crate) waited_nanos: Option<u64>,
    /// The number of waiters that a resize or a resumption admitted.
    pub(crate) admitted: u32,
}

impl Event {
    /// Returns whether the event concerns a request that was in the queue.
    #[must_use]
    pub fn from_queue(&self) -> bool {
        self.waited_nanos.is_some() || self.kind == EventKind::Queued
    }

    /// Returns the cost of the request or operation, if the event concerns one.
    #[must_use]
    pub fn cost(&self) -> Option<usize> {
        use EventKind::{Closed, Drained, Paused, Reconfigured, Resized, Resumed};
        let has_cost = !matches!(self.kind, Closed | Drained | Paused | Reconfigured | Resized | Resumed);
        has_cost.then_some(self.units)
    }

    /// Returns the time that the request waited, if it did; zero for one that expired before it
    /// could queue.
    ///
    /// For [`Cancelled`](EventKind::Cancelled), this counts up to the instant that the gate was
    /// given last.
    #[must_use]
    pub fn waited(&self) -> Option<Duration> {
        let before_queue = (self.kind == EventKind::Expired).then_some(0);
        self.waited_nanos.or(before_queue).map(Duration::from_nanos)
    }

    /// Returns the number of waiters that a resize or the end of a pause admitted, or that a close
    /// rejected.
    #[must_use]
    pub fn affected_waiters(&self) -> usize {
        (if self.kind == EventKind::Closed { self.occupancy.waiting } else { self.admitted }) as usize
    }

    /// Returns the waiting room before, for [`Reconfigured`](EventKind::Reconfigured); it may be
    /// the same as after.
    #[must_use]
    pub fn previous_waiting_room(&self) -> Option<usize> {
        (self.kind == EventKind::Reconfigured).then_some(self.units)
    }

    /// Returns the capacity before, for [`Resized`](EventKind::Resized).
    #[must_use]
    pub fn previous_capacity(&self) -> Option<usize> {
        (self.kind == EventKind::Resized).then_some(self.units)
    }
}

/// The events that were not pulled yet. None is recorded unless the gate is observed.
#[derive(Clone, Debug)]
pub(crate) struct EventLog {
    pub(crate) recorded: u64,
    pub(crate) pending: Fifo<Event>,
}

impl EventLog {
    pub(crate) const fn new() -> Self {
        EventLog { recorded: 0, pending: Fifo::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::EventKind::{
        Abandoned, Admitted, Cancelled, Closed, ClosedRejection, Drained, Expired, Merged, Paused, Queued,
        Reconfigured, Released, Resized, Resumed, Saturated, Split, Uncollected, WrittenOff,
    };
    use super::*;

    const KINDS: [EventKind; 18] = [
        Admitted,
        Queued,
        Saturated,
        Expired,
        Cancelled,
        Abandoned,
        Uncollected,
        Released,
        Split,
        Merged,
        WrittenOff,
        Closed,
        ClosedRejection,
        Drained,
        Resized,
        Paused,
        Resumed,
        Reconfigured,
    ];

    /// Returns whether the filter includes exactly these kinds, in the queue and outside of it.
    fn is_exactly(filter: EventFilter, direct: &[EventKind], from_queue: &[EventKind]) -> bool {
        KINDS.iter().all(|kind| {
            filter.includes(*kind, false) == direct.contains(kind)
                && filter.includes(*kind, true) == from_queue.contains(kind)
        })
    }

    #[test]
    fn each_filter_includes_its_kinds_and_no_other() {
        assert!(is_exactly(EventFilter::NONE, &[], &[]) && is_exactly(EventFilter::ALL, &KINDS, &KINDS));
        let rejections = [Saturated, Expired, ClosedRejection, Uncollected];
        assert!(is_exactly(EventFilter::REJECTIONS, &rejections, &rejections));
        let waits = [Queued, Expired, Cancelled, ClosedRejection];
        assert!(is_exactly(EventFilter::WAITS, &waits, &[&waits[..], &[Admitted]].concat()));
        let changes = [Resized, Reconfigured, Paused, Resumed, Closed, Drained];
        assert!(is_exactly(EventFilter::CHANGES, &changes, &changes));
        for kind in KINDS {
            assert!(is_exactly(EventFilter::of(kind), &[kind], &[kind]));
            let both = [kind, Released];
            assert!(is_exactly(EventFilter::of(kind).or(EventFilter::of(Released)), &both, &both));
            let others = EventFilter::ALL.except(EventFilter::of(kind));
            for other in KINDS {
                let included = [false, true].map(|from_queue| others.includes(other, from_queue));
                assert_eq!(included, [other != kind; 2], "{other:?}");
            }
        }
    }

    #[test]
    fn a_filter_needs_the_gate_where_a_word_would_decide() {
        for kind in KINDS {
            let filter = EventFilter::of(kind);
            assert_eq!(filter.needs_gate(), matches!(kind, Admitted | Released), "{kind:?}");
            assert_eq!(filter.needs_gate_to_reject(), matches!(kind, Saturated | ClosedRejection), "{kind:?}");
        }
        let no_rejections = EventFilter::WAITS.except(EventFilter::REJECTIONS);
        assert!(EventFilter::WAITS.needs_gate_to_reject() && !no_rejections.needs_gate_to_reject());
        assert!(!EventFilter::WAITS.needs_gate() && !EventFilter::CHANGES.needs_gate_to_reject());
    }
}
