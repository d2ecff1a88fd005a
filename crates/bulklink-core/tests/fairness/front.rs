//! The driver of a pool: gives each input to the line of its key, between the pool's own.

use bulklink_core::Instant;
use bulklink_core::pool::{Demand, Head, Key, Limits, LineId, Lines, Pool, Prepared};

use crate::plant::Source;

/// A cost that a word has.
const PLAIN: u32 = 1;

/// The line of a key: its calls that run and wait, and its word.
pub trait Line {
    fn new() -> Self;
    fn demand(&self) -> Demand;

    /// Offers calls so many units, without the pool.
    fn publish(&mut self, units: u32);
    /// Ends the offer.
    fn fold(&mut self);
    /// Admits a plain call, if a unit is on offer.
    fn acquire(&mut self, call: usize) -> bool;
    /// Takes the unit of a plain call back on offer, if anything may be.
    fn has_released(&mut self, call: usize) -> bool;

    fn admit(&mut self, call: usize, cost: u32, now: Instant);
    fn queue(&mut self, call: usize, cost: u32, deadline: Instant, now: Instant);
    fn release(&mut self, call: usize, cost: u32);
    fn expire(&mut self, now: Instant);
    /// Admits the first waiter, if it has this cost.
    fn admit_first(&mut self, cost: u32, now: Instant) -> bool;
    fn displace_last(&mut self, now: Instant);
    /// Returns a waiter that waits no more, and whether it was admitted.
    fn settled(&mut self) -> Option<(usize, bool)>;
}

/// A pool, and a line for each source.
pub struct Front<L> {
    pub pool: Pool,
    lines: AllLines<L>,
}

struct AllLines<L> {
    ids: Vec<LineId>,
    costs: Vec<u32>,
    /// The source of each key, by the key's number.
    sources: Vec<usize>,
    lines: Vec<L>,
    settled: Vec<(usize, bool)>,
}

impl<L: Line> Front<L> {
    pub fn new(limits: Limits, sources: &[Source]) -> Self {
        let mut pool = Pool::new(limits).expect("valid limits");
        let mut lines = AllLines {
            ids: vec![],
            costs: sources.iter().map(|source| source.cost).collect(),
            sources: vec![],
            lines: sources.iter().map(|_| L::new()).collect(),
            settled: vec![],
        };
        for (source, &Source { share, class, .. }) in sources.iter().enumerate() {
            let key = pool.add(share).expect("a valid share");
            lines.sources.resize(lines.sources.len().max(key.number() + 1), usize::MAX);
            lines.sources[key.number()] = source;
            lines.ids.push(LineId { key, class });
        }
        Front { pool, lines }
    }

    /// A call of a source comes. Returns `None` if it waits, and else whether it is admitted.
    pub fn enter(&mut self, source: usize, call: usize, deadline: Instant, now: Instant) -> Option<bool> {
        let cost = self.lines.costs[source];
        if cost == PLAIN && self.lines.lines[source].acquire(call) {
            return Some(true);
        }
        let demand = self.begin(source, now);
        let id = self.lines.ids[source];
        let prepared = self.pool.prepare(&mut self.lines, id, &demand, Head { cost, may_run: true }, true, now);
        let line = &mut self.lines.lines[source];
        match prepared {
            Ok(Prepared::Lent) => line.admit(call, cost, now),
            Ok(Prepared::Queues) => line.queue(call, cost, deadline, now),
            Err(_) => {}
        }
        self.finish(source, now);
        match prepared {
            Ok(Prepared::Lent) => Some(true),
            Ok(Prepared::Queues) => None,
            Err(_) => Some(false),
        }
    }

    /// An operation ends.
    pub fn release(&mut self, source: usize, call: usize, now: Instant) {
        let cost = self.lines.costs[source];
        if cost == PLAIN && self.lines.lines[source].has_released(call) {
            return;
        }
        self.begin(source, now);
        self.lines.lines[source].release(call, cost);
        self.finish(source, now);
    }

    /// A deadline of a source is over.
    pub fn expire(&mut self, source: usize, now: Instant) {
        self.begin(source, now);
        self.finish(source, now);
    }

    /// Returns a waiter that waits no more, and whether it was admitted.
    pub fn settled(&mut self) -> Option<(usize, bool)> {
        self.lines.settled.pop()
    }

    fn begin(&mut self, source: usize, now: Instant) -> Demand {
        self.lines.lines[source].fold();
        self.pool.begin(self.lines.ids[source]);
        self.lines.lines[source].expire(now);
        self.lines.settle(source)
    }

    fn finish(&mut self, source: usize, now: Instant) {
        let demand = self.lines.settle(source);
        let id = self.lines.ids[source];
        if let Some(units) = self.pool.finish(&mut self.lines, id, &demand, now) {
            self.lines.lines[source].publish(units);
        }
        assert!(!self.pool.wants_now(), "a line could be served");
    }
}

impl<L: Line> AllLines<L> {
    fn source(&self, LineId { key, .. }: LineId) -> usize {
        self.sources[Key::number(key)]
    }

    /// Moves what has been settled to that of all lines. Returns the demand of the line.
    fn settle(&mut self, source: usize) -> Demand {
        while let Some(settled) = self.lines[source].settled() {
            self.settled.push(settled);
        }
        self.lines[source].demand()
    }
}

impl<L: Line> Lines for AllLines<L> {
    fn recall(&mut self, line: LineId) -> Demand {
        let source = self.source(line);
        self.lines[source].fold();
        self.lines[source].demand()
    }

    fn admit(&mut self, line: LineId, cost: u32, now: Instant) -> (bool, Demand) {
        let source = self.source(line);
        self.lines[source].expire(now);
        let is_admitted = self.lines[source].admit_first(cost, now);
        (is_admitted, self.settle(source))
    }

    fn largest_cost(&mut self, line: LineId) -> u32 {
        self.costs[self.source(line)]
    }

    fn displace(&mut self, line: LineId, now: Instant) -> Demand {
        let source = self.source(line);
        self.lines[source].displace_last(now);
        self.settle(source)
    }
}
