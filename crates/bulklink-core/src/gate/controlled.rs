//! A controller's part of a gate: it sets restrictions, reads the load, and learns of changes.

#![cfg(feature = "restriction")]

use alloc::{boxed::Box, vec::Vec};
use core::num::NonZeroU32;
use core::time::Duration;

use super::Restriction;
use super::{Gate, Peaks};
use crate::{EventFilter, EventKind, Instant, Request};

/// The settings and watches of controllers.
pub(super) type Kept<W> = Option<Box<Controlled<W>>>;

/// The settings and watches of controllers.
#[derive(Clone, Debug)]
pub(super) struct Controlled<W> {
    restriction: Option<Restriction>,
    /// How long requests fetch, and the most units in use and waited for then.
    fetch: (Duration, u32),
    /// Units of requests that were rejected because there was no room, since the last look.
    refused: u64,
    /// The peaks of all time, up to the last look.
    before: Peaks,
    /// The events that are recorded, without those that are only watched.
    recorded: EventFilter,
    watchers: Vec<Watcher<W>>,
    /// The units that a pool lends to the gate, if it is the gate of a line.
    pub(super) lent: Option<u32>,
}

#[derive(Clone, Debug)]
struct Watcher<W> {
    id: u64,
    events: EventFilter,
    waker: W,
}

/// The load of a gate, in units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// The capacity, whatever the [restriction](Restriction) is.
    pub capacity: usize,
    /// Whether the gate is closed.
    pub is_closed: bool,
    /// Units in use.
    pub in_use: usize,
    /// Units that requests wait for.
    pub waiting: u64,
    /// Units of the request that is first in line. Zero if none waits.
    pub first: usize,
    /// Units of requests that were rejected because there was no room, since the last look.
    pub refused: u64,
    /// The most units in use since the last look.
    pub peak_in_use: usize,
    /// The most units that requests waited for since the last look.
    pub peak_waiting: u64,
}

impl<W> Gate<W> {
    /// Sets a restriction at `now`, or lifts it: from then on, no request is admitted by which more
    /// would be in use than it allows, whatever the capacity is. Returns the number of waiters that
    /// the change admits.
    ///
    /// Running operations go on, also beyond it. Costs are compared with the capacity as before. So
    /// a request that costs more than the restriction waits, and those after it too, unless it may
    /// run [alone](Restriction::alone). Changes nothing after closing.
    #[cold]
    pub fn restrict(&mut self, restriction: Option<Restriction>, now: Instant) -> usize {
        if self.closed {
            return 0;
        }
        self.advance_to(now);
        if restriction.is_some() || self.controlled.is_some() {
            self.controlled_mut().restriction = restriction;
        }
        self.bind();
        let waited = self.queue.len();
        self.advance_to(now);
        (waited - self.queue.len()) as usize
    }

    /// Sets how long a request waits for a higher restriction if it [may](Request::fetching) and
    /// there is no room; zero, as at first, for not at all. A request fetches only while the
    /// restriction is below the capacity, and if with it no more than `up_to` units, nor more than
    /// the capacity, are in use or waited for. No waiting room has to have a place for it; but
    /// for those that come later, it is one of the requests that wait.
    pub fn let_fetch(&mut self, wait: Duration, up_to: usize) {
        let up_to = u32::try_from(up_to).unwrap_or(u32::MAX);
        if !wait.is_zero() || self.controlled.is_some() {
            self.controlled_mut().fetch = (wait, up_to);
        }
    }

    /// Returns a request for which there is no room as one that waits for a higher restriction.
    pub(super) fn fetch(&self, request: &Request, cost: NonZeroU32) -> Option<Request> {
        let controlled = self.controlled.as_ref().filter(|_| request.fetches())?;
        let ((wait, up_to), load) = (controlled.fetch, u64::from(self.in_use) + self.queue.units());
        let is_restricted = self.bound() < self.capacity && !self.paused;
        let fits = load + u64::from(cost.get()) <= u64::from(up_to.min(self.capacity));
        (is_restricted && fits && !wait.is_zero()).then(|| request.at_most(wait))
    }

    /// Returns the restriction, if it is below the capacity.
    #[must_use]
    pub fn restriction(&self) -> Option<Restriction> {
        self.kept().copied().filter(|restriction| restriction.units < self.capacity as usize)
    }

    /// Returns the units that requests can get, as [`Snapshot::free`](crate::Snapshot::free) does.
    #[must_use]
    pub fn free(&self) -> usize {
        self.free_units() as usize
    }

    /// Returns the load, and begins a new period for the counts since the last look.
    ///
    /// The first look counts peaks since the gate was created, and refused units since it was
    /// restricted or watched for the first time.
    pub fn look(&mut self) -> Load {
        let (in_use, waiting) = (self.in_use as usize, self.queue.units());
        let now = Peaks {
            in_flight: self.in_flight,
            in_use: self.in_use,
            waiting: self.queue.len(),
            waiting_units: waiting,
            wait_nanos: self.peaks.wait_nanos,
        };
        let peaks = core::mem::replace(&mut self.peaks, now);
        let controlled = self.controlled_mut();
        controlled.before = controlled.before.max(&peaks);
        let refused = core::mem::take(&mut controlled.refused);
        Load {
            capacity: self.capacity as usize,
            is_closed: self.closed,
            in_use,
            waiting,
            first: self.queue.first().map_or(0, |(_, waiting)| waiting.cost.get() as usize),
            refused,
            peak_in_use: peaks.in_use as usize,
            peak_waiting: peaks.waiting_units,
        }
    }

    /// Makes [`poll_wake`](Gate::poll_wake) return `waker` once, after the next event of one of
    /// these kinds, whether or not such events are [recorded](Gate::observe). Until then, they cost
    /// what recorded ones cost.
    ///
    /// Replaces the watcher with this id, and returns its waker, which must be dropped outside the
    /// caller's lock.
    pub fn watch_events(&mut self, id: u64, events: EventFilter, waker: W) -> Option<W> {
        let displaced = self.forget_watcher(id);
        self.controlled_mut().watchers.push(Watcher { id, events, waker });
        self.observe_again();
        displaced
    }

    /// Ends what [`watch_events`](Gate::watch_events) began, if that event has not come. Returns
    /// the waker, which must be dropped outside the caller's lock.
    pub fn unwatch_events(&mut self, id: u64) -> Option<W> {
        let waker = self.forget_watcher(id);
        self.observe_again();
        waker
    }

    fn forget_watcher(&mut self, id: u64) -> Option<W> {
        let watchers = &mut self.controlled.as_mut()?.watchers;
        let place = watchers.iter().position(|watcher| watcher.id == id)?;
        Some(watchers.swap_remove(place).waker)
    }

    /// Returns the restriction that is set.
    #[inline]
    pub(super) fn kept(&self) -> Option<&Restriction> {
        self.controlled.as_ref()?.restriction.as_ref()
    }

    pub(super) fn controlled_mut(&mut self) -> &mut Controlled<W> {
        let recorded = self.observed;
        self.controlled.get_or_insert_with(|| {
            let (refused, before, watchers) = (0, Peaks::default(), Vec::new());
            Box::new(Controlled {
                restriction: None,
                fetch: (Duration::ZERO, 0),
                refused,
                before,
                recorded,
                watchers,
                lent: None,
            })
        })
    }

    /// Returns the units that a pool lends to the gate, if it is the gate of a line.
    #[inline]
    pub(super) fn lent(&self) -> Option<u32> {
        self.controlled.as_ref()?.lent
    }

    /// Lifts the restriction.
    pub(super) fn lift(&mut self) {
        if let Some(controlled) = &mut self.controlled {
            controlled.restriction = None;
        }
    }

    /// Observes the recorded and the watched events.
    fn observe_again(&mut self) {
        if let Some(recorded) = self.controlled.as_ref().map(|controlled| controlled.recorded) {
            self.observe(recorded);
        }
    }

    /// Returns these events, which are recorded from now on, and those that are watched.
    pub(super) fn with_watched(&mut self, recorded: EventFilter) -> EventFilter {
        let Some(controlled) = &mut self.controlled else { return recorded };
        controlled.recorded = recorded;
        controlled.watchers.iter().fold(recorded, |all, watcher| all.or(watcher.events))
    }

    /// Wakes the watchers of an event that is observed, and records it unless it is only watched.
    #[cold]
    #[inline(never)]
    pub(super) fn record_controlled(&mut self, kind: EventKind, units: usize, waited_nanos: Option<u64>) {
        let Some(controlled) = &mut self.controlled else { return };
        let (recorded, from_queue) = (controlled.recorded, waited_nanos.is_some());
        let is_due = |watcher: &Watcher<W>| watcher.events.includes(kind, from_queue);
        while let Some(place) = controlled.watchers.iter().position(is_due) {
            self.wakes.push(controlled.watchers.swap_remove(place).waker);
        }
        self.observe(recorded);
        if recorded.includes(kind, from_queue) {
            self.push_event(kind, units, waited_nanos);
        }
    }

    /// Counts units of requests that were rejected because there was no room.
    #[inline]
    pub(super) fn count_refused(&mut self, units: u64) {
        if let Some(controlled) = &mut self.controlled {
            controlled.refused = controlled.refused.saturating_add(units);
        }
    }

    pub(super) fn peaks_of_all_time(&self) -> Peaks {
        self.controlled.as_ref().map_or(self.peaks, |controlled| controlled.before.max(&self.peaks))
    }
}

impl Load {
    /// Returns the load at the later look, with the counts of both looks.
    #[must_use]
    pub fn then(self, later: Load) -> Load {
        Load {
            refused: self.refused.saturating_add(later.refused),
            peak_in_use: self.peak_in_use.max(later.peak_in_use),
            peak_waiting: self.peak_waiting.max(later.peak_waiting),
            ..later
        }
    }
}

impl Peaks {
    fn max(&self, other: &Peaks) -> Peaks {
        Peaks {
            in_flight: self.in_flight.max(other.in_flight),
            in_use: self.in_use.max(other.in_use),
            waiting: self.waiting.max(other.waiting),
            waiting_units: self.waiting_units.max(other.waiting_units),
            wait_nanos: self.wait_nanos.max(other.wait_nanos),
        }
    }
}
