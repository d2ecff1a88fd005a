//! A pool with lines that are counts and nothing else, so that a scene has the pool's own cost.

use std::collections::VecDeque;

use bulklink_core::Instant;
use bulklink_core::pool::{Class, Demand, Head, Key, Limits, LineId, Lines, Pool, Prepared, Share};

/// A pool, and the calls of its keys, each for one unit.
#[derive(Debug)]
pub struct Pooled {
    pool: Pool,
    lines: Counts,
    keys: Vec<Key>,
    /// The keys of the operations that run, the oldest first.
    running: VecDeque<Key>,
    now: u64,
}

/// The lines, by the numbers of their keys.
#[derive(Debug)]
struct Counts {
    lines: Vec<Count>,
    admitted: Option<Key>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    in_use: u32,
    waiting: u32,
}

impl Count {
    fn demand(self) -> Demand {
        let Count { in_use, waiting } = self;
        let head = (waiting > 0).then_some(Head { cost: 1, may_run: true });
        Demand { in_use, waiting, head }
    }
}

impl Lines for Counts {
    fn recall(&mut self, line: LineId) -> Demand {
        self.lines[line.key.number()].demand()
    }

    fn admit(&mut self, line: LineId, _: u32, _: Instant) -> (bool, Demand) {
        let count = &mut self.lines[line.key.number()];
        count.waiting -= 1;
        count.in_use += 1;
        self.admitted = Some(line.key);
        (true, count.demand())
    }

    fn largest_cost(&mut self, _: LineId) -> u32 {
        1
    }

    fn displace(&mut self, line: LineId, _: Instant) -> Demand {
        let count = &mut self.lines[line.key.number()];
        count.waiting -= 1;
        count.demand()
    }
}

fn line(key: Key) -> LineId {
    LineId { key, class: Class::Normal }
}

impl Pooled {
    /// Makes a pool of so many keys that are idle.
    ///
    /// # Panics
    ///
    /// If the capacity is zero.
    #[must_use]
    pub fn new(capacity: u32, keys: usize) -> Self {
        let mut pool = Pool::new(Limits::new(capacity)).expect("these are valid limits");
        let keys: Vec<Key> = (0..keys).map(|_| pool.add(Share::new()).expect("a valid share")).collect();
        let most = keys.iter().map(|key| key.number()).max().unwrap_or(0);
        let lines = Counts { lines: vec![Count::default(); most + 1], admitted: None };
        Pooled { pool, lines, keys, running: VecDeque::new(), now: 0 }
    }

    /// Returns the key with this place.
    #[must_use]
    pub fn key(&self, place: usize) -> Key {
        self.keys[place]
    }

    /// Takes all units, and has so many calls of each key wait.
    ///
    /// # Panics
    ///
    /// If a call is not admitted, or does not wait.
    pub fn fill(&mut self, waiters: usize) {
        for place in 0..self.pool.limits().capacity as usize {
            let key = self.keys[place % self.keys.len()];
            assert!(self.enter(key, 1), "there is room");
            self.running.push_back(key);
        }
        for _ in 0..waiters {
            for place in 0..self.keys.len() {
                self.queue(self.keys[place]);
            }
        }
    }

    /// A call comes. Returns whether it is admitted; else it waits.
    ///
    /// # Panics
    ///
    /// If it is rejected.
    #[inline]
    pub fn enter(&mut self, key: Key, cost: u32) -> bool {
        self.pool.begin(line(key));
        let demand = self.lines.lines[key.number()].demand();
        let now = Instant::from_nanos(self.now);
        let prepared = self.pool.prepare(&mut self.lines, line(key), &demand, Head { cost, may_run: true }, true, now);
        let count = &mut self.lines.lines[key.number()];
        let is_admitted = prepared.expect("there is room") == Prepared::Lent;
        if is_admitted {
            count.in_use += cost;
        } else {
            count.waiting += 1;
        }
        self.finish(key);
        is_admitted
    }

    fn finish(&mut self, key: Key) {
        let demand = self.lines.lines[key.number()].demand();
        _ = self.pool.finish(&mut self.lines, line(key), &demand, Instant::from_nanos(self.now));
    }

    /// A call comes that has to wait.
    ///
    /// # Panics
    ///
    /// If it is admitted.
    #[inline]
    pub fn queue(&mut self, key: Key) {
        assert!(!self.enter(key, 1), "the call is admitted, though there should be no room");
    }

    /// The newest waiter of a key leaves.
    #[inline]
    pub fn cancel(&mut self, key: Key) {
        self.pool.begin(line(key));
        self.lines.lines[key.number()].waiting -= 1;
        self.finish(key);
    }

    /// An operation ends.
    #[inline]
    pub fn release(&mut self, key: Key) {
        self.pool.begin(line(key));
        self.lines.lines[key.number()].in_use -= 1;
        self.finish(key);
    }

    /// The oldest operation ends, the call whose turn it is begins, and another call of the same
    /// key waits.
    ///
    /// # Panics
    ///
    /// If nothing runs, or no call waits.
    #[inline]
    pub fn cycle(&mut self) {
        self.now += 1;
        let oldest = self.running.pop_front().expect("it runs");
        self.release(oldest);
        let admitted = self.lines.admitted.take().expect("it waits");
        self.running.push_back(admitted);
        self.queue(admitted);
    }
}
