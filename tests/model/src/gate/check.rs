//! The checks that must hold after every input of every script.

use std::time::Duration;

use bulklink_core::plumbing::Refusal;
use bulklink_core::{Event, EventKind, Grant, Instant, Rejection, Snapshot, Totals};

use super::history::Past;
use super::world::World;

impl World {
    /// Drains the gate, and compares its outputs and its snapshot with the model.
    pub(super) fn check(&mut self, past_before: usize) {
        self.fold();
        self.sum_use();
        self.check_outputs(past_before);
        let mut snapshot = self.gate.snapshot(Some(Instant::from_nanos(self.now)));
        if let Some(calls) = &self.calls {
            calls.complete(&mut snapshot);
        }
        self.check_against_model(&snapshot);
        self.check_lengths(&snapshot, past_before);
        self.check_tickets_and_grants();
        check_identities(&snapshot);
        self.check_that_a_head_that_fits_wants_an_advance();
    }

    fn check_outputs(&mut self, past_before: usize) {
        let woken: Vec<_> = std::iter::from_fn(|| self.gate.poll_wake()).collect();
        assert_eq!(woken, std::mem::take(&mut self.model.woken), "the wakers, in the order of waking");
        let observed = self.gate.observed();
        let is_recorded = |past: &&Past| observed.includes(past.kind, past.from_queue);
        let (before, after) = self.model.history.split_at(past_before);
        let mut number = before.iter().filter(is_recorded).count() as u64 + 1;
        let mut expected = after.iter().filter(is_recorded);
        while let Some(event) = self.gate.poll_event() {
            assert_eq!(event.number, number);
            check_event(&event, expected.next().expect("every event has a cause"));
            number += 1;
        }
        assert!(expected.next().is_none(), "an event is missing");
        assert!(!self.gate.has_output());
    }

    /// Expands a refusal by the word, which must have the bound of the gate.
    pub(super) fn expanded(&self, refusal: Refusal, room: u32) -> Rejection {
        let capacity = self.model.limits.capacity;
        let restriction = self.model.restriction.map(|it| it.units).filter(|&units| units < capacity);
        let units = refusal.restricted_to();
        assert_eq!(units.map(|units| units as usize), restriction.filter(|_| !self.model.closed));
        let capacity = u32::try_from(capacity).expect("small worlds");
        units.map_or(refusal.rejection(room), |_| refusal.rejection_of(room, capacity))
    }

    fn check_against_model(&self, snapshot: &Snapshot) {
        let model = &self.model;
        assert_eq!(counters(&snapshot.totals), counters(&model.totals()));
        assert_eq!(snapshot.totals.cumulative_wait(), Duration::from_nanos(model.cumulative_wait()));
        let (split, merged) = (model.count(EventKind::Split), model.count(EventKind::Merged));
        assert_eq!((snapshot.split, snapshot.merged), (split, merged));
        assert_eq!(snapshot.limits.capacity, model.limits.capacity);
        assert_eq!(snapshot.limits.waiting_room, model.limits.waiting_room);
        let wait_limit = model.limits.wait_limit.map(Duration::from_nanos);
        assert_eq!(snapshot.limits.wait_limit, wait_limit);
        assert_eq!(snapshot.limits.waiting_room_units, model.limits.waiting_room_units);
        assert_eq!(snapshot.in_flight, model.running.len());
        assert_eq!(snapshot.in_use, model.in_use());
        assert_eq!(snapshot.written_off, model.written_off);
        assert_eq!(snapshot.waiting, model.queue.len());
        assert_eq!(snapshot.waiting_units, model.waiting_units() as u64);
        assert_eq!((snapshot.is_closed, self.gate.is_closed()), (model.closed, model.closed));
        assert_eq!((snapshot.is_paused, self.gate.is_paused()), (model.paused, model.paused));
        assert_eq!((snapshot.free(), self.gate.free()), (model.free(), model.free()));
        let units = snapshot.restriction.map(|restriction| restriction.units);
        assert_eq!(units, model.restriction.map(|it| it.units).filter(|&units| units < model.limits.capacity));
        assert_eq!(snapshot.peak_in_flight, model.peak(|past| past.in_flight));
        assert_eq!(snapshot.peak_in_use, model.peak(|past| past.in_use));
        assert_eq!(snapshot.peak_waiting, model.peak(|past| past.waiting));
        assert_eq!(snapshot.peak_waiting_units, model.peak(|past| past.waiting_units) as u64);
        assert_eq!(snapshot.longest_wait(), Duration::from_nanos(model.longest_wait()));
        assert_eq!(snapshot.ended_late, model.ended_late);
        assert_eq!(
            (snapshot.holds, snapshot.cumulative_hold()),
            (model.holds, Duration::from_nanos(model.cumulative_hold))
        );
        let use_over_time = [model.busy, model.offered].map(Duration::from_nanos);
        assert_eq!([snapshot.busy(), snapshot.offered()], use_over_time);
        assert_eq!((snapshot.at, snapshot.taken_back), (Instant::from_nanos(self.now), model.taken_back));
        let uncollected = model.uncollected();
        let units = uncollected.iter().map(|&(_, cost, _)| cost).sum();
        assert_eq!((snapshot.uncollected, snapshot.uncollected_units), (uncollected.len(), units));
        let since = uncollected.first().map(|&(_, _, at)| at).filter(|&at| at < u64::MAX);
        assert_eq!(snapshot.uncollected_since.map(Instant::as_nanos), since);
        let reserve = if self.calls.is_some() { model.reserve.unwrap_or(0) } else { 0 };
        assert_eq!(snapshot.reserve(), Duration::from_nanos(reserve));
        assert_eq!(self.gate.next_deadline().map(Instant::as_nanos), model.next_deadline());
        if let Some(calls) = &self.calls {
            let next = calls.next_deadline(&self.gate).map(Instant::as_nanos);
            assert_eq!(next, model.next_deadline().into_iter().chain(model.next_check()).min());
        }
        let is_timed = model.measures_waits || model.next_deadline().is_some();
        assert_eq!(
            self.gate.needs_now(None),
            is_timed && !model.queue.is_empty(),
            "the gate needs the time if a waiter has a deadline or waits are measured"
        );
    }

    /// Compares every ticket and every grant with the model.
    fn check_tickets_and_grants(&mut self) {
        for (id, ticket) in &self.tickets {
            let waiter = self.model.queue.iter().find(|waiter| waiter.id == *id);
            assert_eq!(self.gate.waker_mut(ticket).is_some(), waiter.is_some());
            let deadline = waiter.and_then(|waiter| waiter.deadline);
            assert_eq!(self.gate.deadline(ticket).map(Instant::as_nanos), deadline);
        }
        for (id, grant) in &self.grants {
            assert!(self.model.running.contains(&(*id, self.cost(grant))), "a grant has the cost of its request");
        }
    }

    fn cost(&self, grant: &Grant) -> usize {
        grant.cost().or(self.calls.as_ref().map(|calls| calls.cost(grant))).expect("recorded only there")
    }

    fn check_that_a_head_that_fits_wants_an_advance(&self) {
        let head = self.model.queue.first();
        let could_run = head.is_some_and(|head| self.model.fits(head.cost));
        assert_eq!(
            self.gate.wants_now(),
            could_run,
            "the gate must ask for an advance while the head of the queue fits"
        );
    }
}

/// Returns all counters but the sum of the waits.
fn counters(t: &Totals) -> [[u64; 4]; 4] {
    let admitted = [t.admitted, t.admitted_from_queue, t.admitted_units, t.admitted_from_queue_units];
    let left = [t.abandoned, t.abandoned_units, t.finished, t.finished_units];
    let waits = [t.queued, t.queued_units, t.expired, t.cancelled];
    let rejected = [t.saturated, t.expired_before_queue, t.closed_before_queue, t.closed_while_waiting];
    [admitted, left, waits, rejected]
}

fn check_event(event: &Event, past: &Past) {
    let seen = Past {
        kind: event.kind,
        cost: event.cost(),
        from_queue: event.from_queue(),
        waited: event.waited().map(|waited| u64::try_from(waited.as_nanos()).expect("small worlds")),
        affected: event.affected_waiters(),
        previous_capacity: event.previous_capacity(),
        previous_waiting_room: event.previous_waiting_room(),
        in_flight: event.occupancy.in_flight(),
        in_use: event.occupancy.in_use(),
        waiting: event.occupancy.waiting(),
        waiting_units: past.waiting_units,
        capacity: event.occupancy.capacity(),
        waiting_room: event.occupancy.waiting_room(),
        is_closed: event.is_closed,
    };
    assert_eq!(seen, *past);
    let granted = event.kind == EventKind::Admitted;
    assert!(!(granted && event.is_closed), "a closed gate grants nothing");
}

fn check_identities(s: &Snapshot) {
    let t = &s.totals;
    assert_eq!(t.admitted + s.split, t.finished + s.merged + t.abandoned + s.in_flight as u64);
    assert_eq!(t.admitted_units, t.finished_units + t.abandoned_units + s.in_use as u64);
    assert_eq!(t.queued, t.settled_waiting() + s.waiting as u64);
    assert_eq!(t.settled_waiting(), t.admitted_from_queue + t.cancelled + t.expired + t.closed_while_waiting);
    assert_eq!(t.closed(), t.closed_before_queue + t.closed_while_waiting);
    assert_eq!(t.rejected(), t.saturated + t.expired + t.expired_before_queue + t.closed());
    assert_eq!(t.direct_admitted() + t.admitted_from_queue, t.admitted);
    if s.is_paused {
        assert!(s.free() == 0 && !s.is_closed, "a paused gate is open and admits nothing");
    } else {
        assert_eq!(
            s.in_use + s.free(),
            s.effective_capacity() + s.in_use.saturating_sub(s.effective_capacity()),
            "the units in use and free are what may be in use, and its excess"
        );
    }
    assert!(s.capacity_excess() == 0 || s.free() == 0);
    assert!(s.peak_in_flight >= s.in_flight && s.peak_in_use >= s.in_use && s.peak_waiting >= s.waiting);
}
