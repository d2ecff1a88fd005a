//! A line that is a gate of the core, as in the product.

use std::collections::HashMap;

use bulklink_core::plumbing::Word;
use bulklink_core::pool::Demand;
use bulklink_core::{Answer, Gate, Grant, Instant, Limits, Request, Ticket};

use crate::front::Line;

/// More than any pool here.
const CAPACITY: usize = 1_000;

pub struct Lent {
    gate: Gate<usize>,
    word: Word,
    tickets: HashMap<usize, Ticket>,
    grants: HashMap<usize, Grant>,
}

impl Lent {
    fn enter(&mut self, request: &Request, now: Instant) -> Answer {
        self.gate.enter(request, Some(now)).expect("a valid cost")
    }
}

fn request(cost: u32) -> Request {
    Request::new().cost(cost as usize)
}

impl Line for Lent {
    fn new() -> Self {
        let mut gate = Gate::new(Limits::new(CAPACITY).with_waiting_room(1_000_000)).expect("valid limits");
        gate.lend(0);
        Lent { gate, word: Word::GATE, tickets: HashMap::new(), grants: HashMap::new() }
    }

    fn demand(&self) -> Demand {
        self.gate.demand()
    }

    fn publish(&mut self, units: u32) {
        self.gate.lend(units);
        self.word = self.gate.publish();
    }

    fn fold(&mut self) {
        if self.word != Word::GATE {
            self.gate.fold(self.word);
            self.word = Word::GATE;
        }
        self.gate.lend(0);
    }

    fn acquire(&mut self, call: usize) -> bool {
        let Some((word, grant)) = self.word.acquire() else { return false };
        self.word = word;
        self.grants.insert(call, grant);
        true
    }

    fn has_released(&mut self, call: usize) -> bool {
        if !self.word.has_released(&self.grants[&call]) {
            return false;
        }
        self.word = Word::from_bits(self.word.to_bits() + Word::RELEASE);
        self.grants.remove(&call);
        true
    }

    fn admit(&mut self, call: usize, cost: u32, now: Instant) {
        self.gate.lend(self.demand().in_use + cost);
        let Answer::Granted(grant) = self.enter(&request(cost), now) else { panic!("the units are lent") };
        self.grants.insert(call, grant);
        self.gate.lend(0);
    }

    fn queue(&mut self, call: usize, cost: u32, deadline: Instant, now: Instant) {
        let request = request(cost).before(deadline);
        let Answer::Queued(ticket) = self.enter(&request, now) else { panic!("nothing is lent") };
        *self.gate.waker_mut(&ticket).expect("it waits") = Some(call);
        self.tickets.insert(call, ticket);
    }

    fn release(&mut self, call: usize, _: u32) {
        self.gate.release(self.grants.remove(&call).expect("it runs"));
    }

    fn expire(&mut self, now: Instant) {
        self.gate.advance(Some(now));
    }

    fn admit_first(&mut self, cost: u32, now: Instant) -> bool {
        self.gate.admit_first(cost, now)
    }

    fn displace_last(&mut self, now: Instant) {
        assert!(self.gate.displace_last(now), "it waits");
    }

    fn settled(&mut self) -> Option<(usize, bool)> {
        let call = self.gate.poll_wake()?;
        let ticket = self.tickets.remove(&call).expect("it waited");
        match self.gate.collect(ticket) {
            Answer::Granted(grant) => {
                self.grants.insert(call, grant);
                Some((call, true))
            }
            _ => Some((call, false)),
        }
    }
}
