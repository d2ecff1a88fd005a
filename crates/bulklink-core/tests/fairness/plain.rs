//! A line that is a queue and nothing else.

use std::collections::VecDeque;

use bulklink_core::Instant;
use bulklink_core::pool::{Cost, Demand, Head};

use crate::front::Line;

pub struct Plain {
    in_use: Cost,
    units: [u64; 2],
    waiting: VecDeque<Waiter>,
    settled: Vec<(usize, bool)>,
    /// The units that it may have in use without asking.
    published: Option<u32>,
}

struct Waiter {
    call: usize,
    cost: Cost,
    deadline: Instant,
}

impl Plain {
    fn take(&mut self, cost: Cost) {
        self.in_use = [0, 1].map(|d| self.in_use[d] + cost[d]);
    }

    fn leave_first(&mut self, is_admitted: bool) {
        let first = self.waiting.pop_front().expect("it waits");
        self.leave(first, is_admitted);
    }

    /// Counts a waiter that has left the queue.
    fn leave(&mut self, Waiter { call, cost, .. }: Waiter, is_admitted: bool) {
        self.units = [0, 1].map(|d| self.units[d] - u64::from(cost[d]));
        self.settled.push((call, is_admitted));
    }
}

impl Line for Plain {
    fn new() -> Self {
        Plain { in_use: [0; 2], units: [0; 2], waiting: VecDeque::new(), settled: vec![], published: None }
    }

    fn demand(&self) -> Demand {
        let waiting = u32::try_from(self.waiting.len()).expect("few");
        let head = self.waiting.front().map(|first| Head { cost: first.cost, may_run: true });
        Demand { in_use: self.in_use, waiting, units: self.units, head }
    }

    fn publish(&mut self, units: u32) {
        self.published = Some(units);
    }

    fn fold(&mut self) {
        self.published = None;
    }

    fn acquire(&mut self, _: usize) -> bool {
        let is_offered = self.published.is_some_and(|units| self.in_use[0] < units);
        self.in_use[0] += u32::from(is_offered);
        is_offered
    }

    fn has_released(&mut self, _: usize) -> bool {
        self.in_use[0] -= u32::from(self.published.is_some());
        self.published.is_some()
    }

    fn admit(&mut self, _: usize, cost: Cost, _: Instant) {
        self.take(cost);
    }

    fn queue(&mut self, call: usize, cost: Cost, deadline: Instant, _: Instant) {
        self.units = [0, 1].map(|d| self.units[d] + u64::from(cost[d]));
        self.waiting.push_back(Waiter { call, cost, deadline });
    }

    fn release(&mut self, _: usize, cost: Cost) {
        self.in_use = [0, 1].map(|d| self.in_use[d] - cost[d]);
    }

    fn expire(&mut self, now: Instant) {
        while self.waiting.front().is_some_and(|first| first.deadline <= now) {
            self.leave_first(false);
        }
    }

    fn admit_first(&mut self, cost: Cost, _: Instant) -> bool {
        let is_first = self.waiting.front().is_some_and(|first| first.cost == cost);
        if is_first {
            self.take(cost);
            self.leave_first(true);
        }
        is_first
    }

    fn displace_last(&mut self, _: Instant) {
        let last = self.waiting.pop_back().expect("it waits");
        self.leave(last, false);
    }

    fn settled(&mut self) -> Option<(usize, bool)> {
        self.settled.pop()
    }
}
