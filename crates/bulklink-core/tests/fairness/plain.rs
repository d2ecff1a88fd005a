//! A line that is a queue and nothing else.

use std::collections::VecDeque;

use bulklink_core::Instant;
use bulklink_core::pool::{Demand, Head};

use crate::front::Line;

pub struct Plain {
    in_use: u32,
    waiting: VecDeque<Waiter>,
    settled: Vec<(usize, bool)>,
    /// The units that it may have in use without asking.
    published: Option<u32>,
}

struct Waiter {
    call: usize,
    cost: u32,
    deadline: Instant,
}

impl Plain {
    fn leave_first(&mut self, is_admitted: bool) {
        let first = self.waiting.pop_front().expect("it waits");
        self.settled.push((first.call, is_admitted));
    }
}

impl Line for Plain {
    fn new() -> Self {
        Plain { in_use: 0, waiting: VecDeque::new(), settled: vec![], published: None }
    }

    fn demand(&self) -> Demand {
        let waiting = u32::try_from(self.waiting.len()).expect("few");
        let head = self.waiting.front().map(|first| Head { cost: first.cost, may_run: true });
        Demand { in_use: self.in_use, waiting, head }
    }

    fn publish(&mut self, units: u32) {
        self.published = Some(units);
    }

    fn fold(&mut self) {
        self.published = None;
    }

    fn acquire(&mut self, _: usize) -> bool {
        let is_offered = self.published.is_some_and(|units| self.in_use < units);
        self.in_use += u32::from(is_offered);
        is_offered
    }

    fn has_released(&mut self, _: usize) -> bool {
        self.in_use -= u32::from(self.published.is_some());
        self.published.is_some()
    }

    fn admit(&mut self, _: usize, cost: u32, _: Instant) {
        self.in_use += cost;
    }

    fn queue(&mut self, call: usize, cost: u32, deadline: Instant, _: Instant) {
        self.waiting.push_back(Waiter { call, cost, deadline });
    }

    fn release(&mut self, _: usize, cost: u32) {
        self.in_use -= cost;
    }

    fn expire(&mut self, now: Instant) {
        while self.waiting.front().is_some_and(|first| first.deadline <= now) {
            self.leave_first(false);
        }
    }

    fn admit_first(&mut self, cost: u32, _: Instant) -> bool {
        let is_first = self.waiting.front().is_some_and(|first| first.cost == cost);
        if is_first {
            self.in_use += cost;
            self.leave_first(true);
        }
        is_first
    }

    fn displace_last(&mut self, _: Instant) {
        let last = self.waiting.pop_back().expect("it waits");
        self.settled.push((last.call, false));
    }

    fn settled(&mut self) -> Option<(usize, bool)> {
        self.settled.pop()
    }
}
