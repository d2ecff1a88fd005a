//! The tickets of a gate: which wait, in which order and until when, and the outcome of those not
//! yet collected.

mod deadlines;
mod joining;
mod node;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::num::{NonZeroU32, NonZeroU64};

use deadlines::Deadlines;
use list::{Links, List};
use node::{Node, ONLY_WAITERS_ARE_LINKED, Stamp};
use slab::Slab;

pub use joining::Joining;
pub use node::Ticket;
pub(crate) use node::{Granted, Waiting};
pub(crate) use slab::Place;

use crate::{Instant, Rejection, list, slab};

/// A first-in, first-out queue of requests, with their deadlines.
///
/// Everything here takes O(1), or O(log n) for a deadline earlier than one that joined before it,
/// except for rare operations: [`largest_cost`](Queue::largest_cost) and [`rouse`](Queue::rouse)
/// walk the line; [`uncollected_since`](Queue::uncollected_since) and
/// [`all_uncollected`](Queue::all_uncollected) walk all nodes, and the latter sorts the nodes that
/// it finds.
#[derive(Clone, Debug)]
pub(crate) struct Queue<W> {
    nodes: Slab<Node<W>>,
    line: List,
    /// The tickets of watches: nodes as in the line, in a list apart from it.
    watchers: List,
    deadlines: Deadlines,
    len: u32,
    units: u64,
    /// How many requests were expected in the queue when it was created.
    expected: u32,
    /// The granted tickets that are not collected yet.
    uncollected: u32,
    uncollected_units: u32,
    /// The stamp of the latest arrival.
    stamp: Stamp,
}

/// The state of a ticket: first in line, behind the first, or settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TicketState {
    First,
    Behind,
    Granted,
    Rejected,
}

/// A granted ticket that was not collected when it was found.
#[derive(Clone, Debug)]
pub(crate) struct Uncollected {
    /// When the slot was handed over.
    at: Instant,
    place: Place,
    /// Increases in the order of arrival, until it wraps.
    stamp: Stamp,
}

impl Uncollected {
    /// Returns when the slot has been handed over for this long.
    pub(crate) fn due(&self, age_nanos: u64) -> Instant {
        self.at.saturating_add_nanos(age_nanos)
    }
}

/// A slot that was handed to the first request in line, with the waker of its ticket.
pub(crate) struct HandedOver<W> {
    pub(crate) cost: NonZeroU32,
    pub(crate) waited_nanos: u64,
    pub(crate) waker: Option<W>,
}

/// The rest of a waiting node that was settled.
struct Settled<W> {
    cost: NonZeroU32,
    links: Links,
    due: Option<Place>,
    waker: Option<W>,
}

impl<W> Queue<W> {
    /// Creates an empty queue, in which no more than `waiting_room` requests are expected.
    pub(crate) const fn new(waiting_room: u32) -> Self {
        Queue {
            nodes: Slab::new(),
            line: List::new(),
            watchers: List::new(),
            deadlines: Deadlines::new(),
            len: 0,
            units: 0,
            expected: waiting_room,
            uncollected: 0,
            uncollected_units: 0,
            stamp: Stamp(NonZeroU32::MAX),
        }
    }

    /// Returns how many requests were expected in the queue when it was created.
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }

    /// Returns the number of requests that wait.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Returns the number of units that they wait for.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Puts a request at the end of the line. A deadline in the far future means none.
    #[inline]
    pub(crate) fn push(
        &mut self,
        cost: NonZeroU32,
        since: Instant,
        deadline: Instant,
        joining: &mut Joining<W>,
    ) -> Ticket {
        self.len += 1;
        self.units += u64::from(cost.get());
        let links = self.line.links_for_push();
        let due = (deadline < Instant::FAR_FUTURE).then(|| {
            let (node, stamp) = (self.nodes.next_place(self.expected), self.stamp.next());
            self.deadlines.add(deadline, joining.home(deadline), node, stamp, self.expected)
        });
        let ticket = self.insert(Waiting { cost, since, waker: joining.waker.take(), links, due });
        self.line.push_back(&mut self.nodes, ticket.place);
        ticket
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn insert(&mut self, waiting: Waiting<W>) -> Ticket {
        self.stamp = self.stamp.next();
        let place = self.nodes.insert(Node::Waiting(self.stamp, waiting), self.expected);
        Ticket { place, stamp: self.stamp }
    }

    /// Adds a watch: a ticket that is settled when the gate has drained.
    pub(crate) fn watch(&mut self, waker: W) -> Ticket {
        let (links, waker) = (self.watchers.links_for_push(), Some(waker));
        let waiting = Waiting { cost: NonZeroU32::MIN, since: Instant::EPOCH, waker, links, due: None };
        let ticket = self.insert(waiting);
        self.watchers.push_back(&mut self.nodes, ticket.place);
        ticket
    }

    /// Settles the ticket of the first watch. Returns its waker.
    pub(crate) fn end_watch(&mut self) -> Option<W> {
        self.end_watch_at(self.watchers.first()?)
    }

    #[inline(never)]
    fn end_watch_at(&mut self, place: Place) -> Option<W> {
        // In the far future, so that it is never the first of those that are not collected.
        let Settled { links, waker, .. } = settle(&mut self.nodes[place], 0, Instant::FAR_FUTURE);
        self.watchers.remove(&mut self.nodes, links);
        waker
    }

    /// Gives up the ticket of a watch. Returns its waker, if the watch was not settled.
    pub(crate) fn unwatch(&mut self, ticket: Ticket) -> Option<W> {
        let waker = if self.get(&ticket).is_some() { self.end_watch_at(ticket.place) } else { None };
        self.forget(&ticket);
        waker
    }

    /// Returns the first request in line.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Place, &Waiting<W>)> {
        let place = self.line.first()?;
        Some((place, self.waiting(place)))
    }

    /// Returns the last request in line.
    #[cfg(feature = "restriction")]
    pub(crate) fn last(&self) -> Option<Place> {
        self.line.last()
    }

    #[inline]
    pub(crate) fn has_deadlines(&self) -> bool {
        !self.deadlines.is_empty()
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|due| due.at)
    }

    /// Returns the first request that is due at `now`: the one with the earliest deadline, and
    /// among equal ones the first in line.
    #[inline]
    pub(crate) fn due(&self, now: Instant) -> Option<Place> {
        self.deadlines.first().filter(|due| due.at <= now).map(|due| due.node)
    }

    /// Returns the waiting request at this place.
    #[inline]
    pub(crate) fn waiting(&self, place: Place) -> &Waiting<W> {
        self.nodes[place].waiting().expect(ONLY_WAITERS_ARE_LINKED)
    }

    /// Returns the deadline of a waiting request, if it has one.
    pub(crate) fn deadline(&self, waiting: &Waiting<W>) -> Option<Instant> {
        waiting.due.map(|due| self.deadlines.at(due))
    }

    /// Returns the largest cost in the queue; zero if it is empty. Walks the line, unless every
    /// request costs one unit.
    pub(crate) fn largest_cost(&self) -> u32 {
        if self.units == u64::from(self.len) {
            return self.len.min(1);
        }
        let (mut largest, mut next) = (0, self.line.first());
        while let Some(place) = next {
            let waiting = self.waiting(place);
            largest = waiting.cost.get().max(largest);
            next = waiting.links.next();
        }
        largest
    }

    /// Records the driver on which the request of this ticket relies, if it waits with a deadline.
    #[inline]
    pub(crate) fn rely(&mut self, ticket: &Ticket, home: Option<NonZeroU64>) {
        if let Some(due) = self.get(ticket).and_then(|waiting| waiting.due) {
            *self.deadlines.home_mut(due) = home;
        }
    }

    /// Returns the driver on which the request of this ticket relies, if it waits with a deadline.
    #[inline]
    pub(crate) fn relies_on(&self, ticket: &Ticket) -> Option<NonZeroU64> {
        self.deadlines.home(self.get(ticket)?.due?)
    }

    /// Takes the wakers of all requests that rely on `home`, in the order of the line. They rely on
    /// nothing from then on.
    pub(crate) fn rouse(&mut self, home: NonZeroU64, mut take: impl FnMut(W)) {
        let mut next = self.line.first();
        while let Some(place) = next {
            let waiting = self.nodes[place].waiting_mut().expect(ONLY_WAITERS_ARE_LINKED);
            next = waiting.links.next();
            let Some(due) = waiting.due else { continue };
            if self.deadlines.home(due) == Some(home) {
                *self.deadlines.home_mut(due) = None;
                waiting.waker.take().map(&mut take);
            }
        }
    }

    /// Takes the first request out of the line, if it costs at most `most`, and leaves its grant in
    /// its place. No request behind the first is looked at, so none overtakes it.
    #[inline]
    pub(crate) fn grant_first(&mut self, most: u32, now: Instant) -> Option<HandedOver<W>> {
        let node = &mut self.nodes[self.line.first()?];
        let waiting = node.waiting().expect(ONLY_WAITERS_ARE_LINKED);
        if waiting.cost.get() > most {
            return None;
        }
        let waited_nanos = now.nanos_since(waiting.since);
        // The beginning of a wait that is not measured is in the far future.
        let at = if waiting.since == Instant::FAR_FUTURE { waiting.since } else { now };
        let Settled { cost, links, due, waker } = settle(node, waited_nanos, at);
        self.unlink(cost, links, due);
        self.uncollected += 1;
        self.uncollected_units += cost.get();
        Some(HandedOver { cost, waited_nanos, waker })
    }

    /// Notes that a granted ticket was redeemed.
    #[inline]
    pub(crate) fn note_collected(&mut self, cost: NonZeroU32) {
        self.uncollected -= 1;
        self.uncollected_units -= cost.get();
    }

    /// Returns the number of granted tickets that are not collected yet, and their units.
    pub(crate) fn uncollected(&self) -> (u32, u32) {
        (self.uncollected, self.uncollected_units)
    }

    /// Visits the granted tickets that are not collected yet, in no particular order. Walks all
    /// nodes, unless there is none.
    fn for_each_uncollected(&self, mut visit: impl FnMut(Uncollected)) {
        if self.uncollected > 0 {
            self.nodes.for_each(|place, node| {
                if let Node::Granted(stamp, Granted { at, .. }) = *node {
                    visit(Uncollected { at, place, stamp });
                }
            });
        }
    }

    /// Returns when the first of the granted tickets that are not collected yet was granted, of
    /// those whose wait was measured.
    #[cold]
    pub(crate) fn uncollected_since(&self) -> Option<Instant> {
        let mut first = Instant::FAR_FUTURE;
        self.for_each_uncollected(|found| first = first.min(found.at));
        (first < Instant::FAR_FUTURE).then_some(first)
    }

    /// Returns the granted tickets that are not collected yet, the one that was granted first last.
    pub(crate) fn all_uncollected(&self) -> Vec<Uncollected> {
        let mut all = Vec::new();
        self.for_each_uncollected(|found| all.push(found));
        all.sort_unstable_by_key(|found| Reverse((found.at, found.stamp.0)));
        all
    }

    /// Returns the hand-over to a ticket that was found, if it is not collected yet.
    pub(crate) fn still_uncollected(&self, found: &Uncollected) -> Option<(Place, Granted)> {
        match self.nodes.get(found.place)? {
            Node::Granted(stamp, granted) if *stamp == found.stamp => Some((found.place, *granted)),
            _ => None,
        }
    }

    /// Takes a request out of the line. Its place is kept for the [rejection](Queue::reject), which
    /// must follow. Returns its waker.
    pub(crate) fn leave(&mut self, place: Place) -> Option<W> {
        // A placeholder grant, which `reject` overwrites: the rejection needs the occupancy without
        // this request.
        let Settled { cost, links, due, waker } = settle(&mut self.nodes[place], 0, Instant::EPOCH);
        self.unlink(cost, links, due);
        waker
    }

    /// Writes a rejection over the placeholder that [`leave`](Queue::leave) left, or over a grant
    /// that was not collected. The caller has called [`note_collected`](Queue::note_collected) for
    /// that grant, because it is no longer among those that are not collected.
    pub(crate) fn reject(&mut self, place: Place, rejection: Rejection) {
        let node = &mut self.nodes[place];
        *node = Node::Rejected(node.stamp(), rejection);
    }

    /// Removes a request from the line, the deadlines and the counts. Its node is settled or
    /// vacated by the caller.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn unlink(&mut self, cost: NonZeroU32, links: Links, due: Option<Place>) {
        self.line.remove(&mut self.nodes, links);
        if let Some(due) = due {
            self.deadlines.remove(due);
        }
        self.len -= 1;
        self.units -= u64::from(cost.get());
    }

    /// Returns the request of a ticket that still waits.
    #[inline]
    pub(crate) fn get(&self, ticket: &Ticket) -> Option<&Waiting<W>> {
        self.node(ticket).waiting()
    }

    /// Returns how long the request of a granted ticket waited; zero for another ticket.
    pub(crate) fn granted_wait(&self, ticket: &Ticket) -> u64 {
        match self.node(ticket) {
            Node::Granted(_, granted) => granted.waited_nanos,
            _ => 0,
        }
    }

    /// Returns the rejection of a ticket, if it was rejected.
    pub(crate) fn rejection(&self, ticket: &Ticket) -> Option<Rejection> {
        match self.node(ticket) {
            Node::Rejected(_, rejection) => Some(*rejection),
            _ => None,
        }
    }

    /// Returns the place for the waker of a ticket that still waits.
    pub(crate) fn waker_mut(&mut self, ticket: &Ticket) -> Option<&mut Option<W>> {
        let node = &mut self.nodes[ticket.place];
        check(ticket, node);
        Some(&mut node.waiting_mut()?.waker)
    }

    #[inline]
    pub(crate) fn state(&self, ticket: &Ticket) -> TicketState {
        match self.node(ticket) {
            Node::Waiting(..) if self.is_first(ticket) => TicketState::First,
            Node::Waiting(..) => TicketState::Behind,
            Node::Granted(..) => TicketState::Granted,
            Node::Rejected(..) => TicketState::Rejected,
        }
    }

    /// Gives up the place of a ticket that still waits; another ticket stays as it is.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what it returns would pass through memory")]
    pub(crate) fn withdraw(&mut self, ticket: &Ticket) -> Option<(NonZeroU32, Instant, Option<W>)> {
        let (cost, since, links, due, waker) = self.nodes.vacate_if(ticket.place, |node| {
            check(ticket, node);
            let waiting = node.waiting_mut()?;
            let Waiting { cost, since, links, due, .. } = *waiting;
            Some((cost, since, links, due, waiting.waker.take()))
        })?;
        self.unlink(cost, links, due);
        Some((cost, since, waker))
    }

    /// Returns whether the ticket is the first in line.
    #[inline]
    pub(crate) fn is_first(&self, ticket: &Ticket) -> bool {
        self.line.first() == Some(ticket.place)
    }

    /// Gives up the place of a granted ticket, which is collected then; another ticket stays as it
    /// is.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    #[cfg_attr(target_pointer_width = "64", expect(clippy::inline_always, reason = "the general way is rare"))]
    pub(crate) fn redeem_granted(&mut self, ticket: &Ticket) -> Option<Granted> {
        let granted = if cfg!(target_pointer_width = "64") {
            self.nodes.vacate_if(ticket.place, |node| {
                check(ticket, node);
                if let Node::Granted(_, granted) = *node { Some(granted) } else { None }
            })?
        } else {
            // Two looks at the node, and less code.
            let Node::Granted(_, granted) = *self.node(ticket) else { return None };
            self.forget(ticket);
            granted
        };
        self.note_collected(granted.cost);
        Some(granted)
    }

    /// Gives up the place of a rejected ticket; another ticket stays as it is.
    pub(crate) fn redeem_rejected(&mut self, ticket: &Ticket) -> Option<Rejection> {
        let Node::Rejected(_, rejection) = *self.node(ticket) else { return None };
        self.forget(ticket);
        Some(rejection)
    }

    /// Gives up the place of a settled ticket that is not counted as not collected.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(crate) fn forget(&mut self, ticket: &Ticket) {
        self.nodes.vacate(ticket.place, |_| ());
    }

    #[inline]
    fn node(&self, ticket: &Ticket) -> &Node<W> {
        let node = &self.nodes[ticket.place];
        check(ticket, node);
        node
    }
}

/// Replaces a waiting node by a grant, in place: moving the node out and reading parts of the copy
/// stalls the processor.
#[inline]
fn settle<W>(node: &mut Node<W>, waited_nanos: u64, at: Instant) -> Settled<W> {
    let stamp = node.stamp();
    let waiting = node.waiting_mut().expect(ONLY_WAITERS_ARE_LINKED);
    let Waiting { cost, links, due, .. } = *waiting;
    let waker = waiting.waker.take();
    *node = Node::Granted(stamp, Granted { cost, waited_nanos, at });
    Settled { cost, links, due, waker }
}

/// Panics if the node was reused, or belongs to another gate.
fn check<W>(ticket: &Ticket, node: &Node<W>) {
    assert!(ticket.stamp == node.stamp(), "a ticket of another gate");
}
