//! The gate alone as a subject, driven as by a driver that is never late.

use std::collections::BTreeMap;

use bulklink_core::{Answer, Event, EventFilter, Gate, Grant, Instant, InvalidArgument, Request, ResizeError, Ticket};
use serde_json::{Map, Value};

use crate::subject::{self, Done, Subject};
use crate::trace::{Config, Enter};
use crate::words::{self, Kind};

pub struct GateSubject {
    gate: Gate<usize>,
    now: Instant,
    tickets: BTreeMap<usize, Ticket>,
    grants: BTreeMap<usize, Grant>,
    changed: Vec<(usize, &'static str)>,
}

impl GateSubject {
    pub fn next_deadline(&self) -> Option<Instant> {
        self.gate.next_deadline()
    }

    /// Does steps 2 and 3 of the gate's contract, and collects the tickets that were woken.
    fn settle(&mut self) {
        self.hand_over();
        while let Some(id) = self.gate.poll_wake() {
            if let Some(ticket) = self.tickets.remove(&id) {
                self.collect(id, ticket);
            }
        }
    }

    fn hand_over(&mut self) {
        if self.gate.wants_now() {
            self.gate.advance(Some(self.now));
        }
    }

    fn collect(&mut self, id: usize, ticket: Ticket) {
        match self.gate.collect(ticket) {
            Answer::Granted(grant) => self.granted(id, grant),
            Answer::Rejected(rejection) => self.changed.push((id, subject::outcome(&rejection))),
            Answer::Queued(ticket) => drop(self.tickets.insert(id, ticket)),
            Answer::NeedsNow => unreachable!("collecting needs no time"),
        }
    }

    fn granted(&mut self, id: usize, grant: Grant) {
        self.grants.insert(id, grant);
        self.changed.push((id, "admitted"));
    }

    fn give_back(&mut self, id: usize) -> Done {
        self.gate.release(self.grants.remove(&id).ok_or_else(|| subject::not_running(id))?);
        self.changed.push((id, "finished"));
        Ok(())
    }

    fn withdraw(&mut self, id: usize) -> Done {
        let ticket = self.tickets.remove(&id).ok_or_else(|| subject::not_waiting(id))?;
        self.gate.cancel(ticket, Some(self.now)).expect("the time is known");
        self.changed.push((id, "cancelled"));
        Ok(())
    }
}

impl Subject for GateSubject {
    fn new(config: &Config) -> Result<Self, InvalidArgument> {
        let mut gate = Gate::new(subject::limits(config))?;
        gate.observe(EventFilter::ALL);
        let (tickets, grants) = (BTreeMap::new(), BTreeMap::new());
        Ok(GateSubject { gate, now: subject::instant(0), tickets, grants, changed: vec![] })
    }

    fn pass_time(&mut self, to: Instant) {
        while let Some(deadline) = self.gate.next_deadline().filter(|&deadline| deadline <= to) {
            self.gate.advance(Some(deadline));
            self.settle();
        }
        self.now = to;
        self.gate.advance(Some(to));
    }

    fn enter(&mut self, enter: &Enter, now: Instant) -> Done {
        if self.tickets.contains_key(&enter.id) || self.grants.contains_key(&enter.id) {
            return Err(subject::not_ended(enter.id));
        }
        let request = Request::new().cost(enter.cost);
        let request = subject::ask(enter, request, Request::now, Request::within, Request::before);
        match self.gate.enter(&request, Some(now)) {
            Ok(Answer::Granted(grant)) => self.granted(enter.id, grant),
            Ok(Answer::Queued(ticket)) => {
                self.gate.waker_mut(&ticket).expect("it waits").replace(enter.id);
                self.tickets.insert(enter.id, ticket);
                self.changed.push((enter.id, "queued"));
            }
            Ok(Answer::Rejected(rejection)) => self.changed.push((enter.id, subject::outcome(&rejection))),
            Ok(Answer::NeedsNow) => unreachable!("the time is known"),
            Err(_) => self.changed.push((enter.id, "invalid")),
        }
        Ok(())
    }

    fn release(&mut self, id: usize) -> Done {
        self.give_back(id)?;
        self.settle();
        Ok(())
    }

    fn cancel(&mut self, id: usize) -> Done {
        self.withdraw(id)?;
        self.settle();
        Ok(())
    }

    fn release_then_cancel(&mut self, id: usize, cancel: usize) -> Done {
        let given_back = self.give_back(id);
        self.hand_over();
        let withdrawn = self.withdraw(cancel);
        self.settle();
        given_back.and(withdrawn)
    }

    fn resize(&mut self, to: usize) -> Done<&'static str> {
        let resized = self.gate.resize(to, self.now);
        self.settle();
        Ok(subject::result(&resized, |error| *error == ResizeError::Closed))
    }

    fn close(&mut self) {
        self.gate.close(self.now);
        self.settle();
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.gate.poll_event()).collect()
    }

    fn outcomes(&mut self) -> Vec<(usize, &'static str)> {
        std::mem::take(&mut self.changed)
    }

    fn status(&mut self, kind: Kind) -> Map<String, Value> {
        words::status(kind, &self.gate.snapshot(None))
    }
}
