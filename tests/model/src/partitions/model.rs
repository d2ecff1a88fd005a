//! The reference model: what partitions must do, written to be read.
//!
//! It keeps its whole history and counts in it.

use bulklink_core::partitions::Reason;

/// A point in time or a duration, in nanoseconds.
pub type Time = u64;

/// The key of a partition.
pub type Key = usize;

/// The number of a call, in the order of arrival.
pub type Call = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    Created,
    Evicted,
    Discarded,
    LimitRejected,
    ClosedRejected,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub max_partitions: usize,
    pub idle_timeout: Option<Time>,
    pub closed: bool,
    /// The calls that have entered and not ended, with their keys.
    pub calls: Vec<(Call, Key)>,
    /// The partitions, in the order of creation.
    pub kept: Vec<Key>,
    /// The idle partitions, in the order in which they became idle, with the time.
    pub idle: Vec<(Key, Time)>,
    pub history: Vec<Past>,
    /// The partitions that were taken after the close, which no counter shows.
    pub taken: usize,
    pub peak_partitions: usize,
    pub peak_calls: usize,
}

impl Model {
    pub fn new(max_partitions: usize, idle_timeout: Option<Time>) -> Self {
        Model {
            max_partitions,
            idle_timeout,
            closed: false,
            calls: vec![],
            kept: vec![],
            idle: vec![],
            history: vec![],
            taken: 0,
            peak_partitions: 0,
            peak_calls: 0,
        }
    }

    pub fn is_active(&self, key: Key) -> bool {
        self.calls.iter().any(|call| call.1 == key)
    }

    /// Enters a call, and returns the key that was evicted to make room, if any.
    pub fn enter(&mut self, call: Call, key: Key) -> Result<Option<Key>, Reason> {
        if self.closed {
            return Err(Reason::Closed);
        }
        let evicted = if self.kept.contains(&key) { None } else { self.create(key)? };
        self.idle.retain(|idle| idle.0 != key);
        self.calls.push((call, key));
        self.peak_calls = self.peak_calls.max(self.calls.len());
        Ok(evicted)
    }

    fn create(&mut self, key: Key) -> Result<Option<Key>, Reason> {
        self.may_create()?;
        let is_full = self.kept.len() == self.max_partitions;
        let evicted = is_full.then(|| self.remove(self.idle[0].0, Past::Evicted));
        self.kept.push(key);
        self.history.push(Past::Created);
        self.peak_partitions = self.peak_partitions.max(self.kept.len());
        Ok(evicted)
    }

    /// Checks whether a new partition may be created. A rejection here is not counted.
    pub fn may_create(&self) -> Result<(), Reason> {
        if self.closed {
            return Err(Reason::Closed);
        }
        if self.kept.len() == self.max_partitions && self.kept.iter().all(|&key| self.is_active(key)) {
            return Err(Reason::PartitionLimit);
        }
        Ok(())
    }

    /// Counts a rejection that a call was answered with.
    pub fn count_rejection(&mut self, reason: Reason) {
        self.history.push(match reason {
            Reason::Closed => Past::ClosedRejected,
            _ => Past::LimitRejected,
        });
    }

    pub fn end(&mut self, call: Call, now: Time) {
        let place = self.calls.iter().position(|entered| entered.0 == call).expect("the call has entered");
        let (_, key) = self.calls.remove(place);
        if !self.is_active(key) {
            let latest = self.idle.last().map_or(now, |last| last.1);
            self.idle.push((key, now.max(latest)));
        }
    }

    /// Evicts the partitions that were idle for the timeout, the longest idle first.
    pub fn cleanup_idle(&mut self, now: Time) -> Vec<Key> {
        let Some(timeout) = self.idle_timeout else { return vec![] };
        let due: Vec<_> = self.idle.iter().filter(|idle| now >= idle.1 + timeout).map(|idle| idle.0).collect();
        due.into_iter().map(|key| self.remove(key, Past::Evicted)).collect()
    }

    pub fn discard(&mut self, key: Key) -> Option<Key> {
        let is_idle = self.kept.contains(&key) && !self.is_active(key);
        is_idle.then(|| self.remove(key, Past::Discarded))
    }

    /// Takes the remaining partitions after the close and the last call, the longest idle first.
    pub fn take_drained(&mut self) -> Vec<Key> {
        if !self.closed || !self.calls.is_empty() {
            return vec![];
        }
        self.kept.clear();
        let left: Vec<_> = std::mem::take(&mut self.idle).into_iter().map(|idle| idle.0).collect();
        self.taken += left.len();
        left
    }

    fn remove(&mut self, key: Key, how: Past) -> Key {
        self.kept.retain(|&kept| kept != key);
        self.idle.retain(|idle| idle.0 != key);
        self.history.push(how);
        key
    }

    pub fn count(&self, what: Past) -> u64 {
        self.history.iter().filter(|&&past| past == what).count() as u64
    }
}
