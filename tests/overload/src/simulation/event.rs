//! What happens in a run, ordered by time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A time or another number that has an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time(pub(super) f64);

impl Eq for Time {}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Calls come.
    Arrive,
    /// A call comes again.
    Retry(u32),
    /// A call ends in the backend.
    End(u32),
    /// A wait is over.
    Due,
    /// The limit is noted.
    Note,
    /// The backend enters another phase.
    Phase,
    /// A caller gives up, unless the call is of another generation by now.
    GiveUp(u32, u32),
}

/// The events to come: of those at one time, the first that was added comes first.
#[derive(Default)]
pub(super) struct Events {
    heap: BinaryHeap<Entry>,
    added: u32,
}

#[derive(PartialEq, Eq)]
struct Entry {
    time: Time,
    number: u32,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Events {
    pub(super) fn add(&mut self, time: f64, event: Event) {
        self.added += 1;
        self.heap.push(Entry { time: Time(time), number: self.added, event });
    }

    pub(super) fn first(&self) -> Option<f64> {
        self.heap.peek().map(|entry| entry.time.0)
    }

    pub(super) fn pop(&mut self) -> Option<(f64, Event)> {
        self.heap.pop().map(|entry| (entry.time.0, entry.event))
    }
}
