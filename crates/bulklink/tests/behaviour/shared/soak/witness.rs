//! Counts the units in use outside of the library, against the limits in force.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

/// A limit and how often it has changed, in one number: so a call can tell whether it was in force
/// all along.
#[derive(Default)]
pub(super) struct Limit(AtomicU64);

/// A limit at one moment.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Seen(u64);

impl Limit {
    pub(super) fn new(units: usize) -> Self {
        Limit(AtomicU64::new(units as u64))
    }

    /// Sets a higher limit before it is in force, or a lower one once no more units are in use.
    pub(super) fn set(&self, units: usize) {
        let changes = self.0.load(SeqCst) >> 32;
        self.0.store((changes + 1) << 32 | units as u64, SeqCst);
    }

    pub(super) fn seen(&self) -> Seen {
        Seen(self.0.load(SeqCst))
    }

    pub(super) fn units(&self) -> usize {
        self.seen().units()
    }
}

impl Seen {
    fn units(self) -> usize {
        usize::try_from(self.0 & u64::from(u32::MAX)).expect("a small number")
    }
}

/// The units in use of the whole or of one key.
pub(super) struct Side {
    in_use: AtomicUsize,
    /// The most units of which no more are in use once it was set.
    pub(super) limit: Limit,
    /// One; zero while calls that come are not admitted.
    pub(super) admits: Limit,
    /// The highest limit that is ever in force.
    largest: usize,
}

impl Side {
    fn new(largest: usize) -> Self {
        Side { in_use: AtomicUsize::new(0), limit: Limit::new(largest), admits: Limit::new(1), largest }
    }

    fn enter(&self, units: usize, before: Seen) {
        let limit = self.limit.seen();
        let in_use = self.in_use.fetch_add(units, SeqCst) + units;
        let most = if self.limit.seen() == limit { limit.units() } else { self.largest };
        assert!(in_use <= most, "{in_use} units are in use, of {most}");
        assert!(before.units() > 0 || self.admits.seen() != before, "a call was admitted during a pause");
    }

    fn leave(&self, units: usize) {
        self.in_use.fetch_sub(units, SeqCst);
    }
}

/// The witness of all keys.
pub(super) struct Witness {
    pub(super) whole: Side,
    pub(super) keys: Vec<Side>,
    /// Slots that calls got, and parts of them.
    pub(super) slots: AtomicU64,
}

/// Whether a call that begins now can be admitted.
#[derive(Clone, Copy)]
pub(super) struct Before {
    whole: Seen,
    key: Seen,
}

/// Units in use, from the admission of a call to its end.
pub(super) struct Units {
    witness: Arc<Witness>,
    key: usize,
    number: usize,
}

impl Witness {
    pub(super) fn new(keys: usize, largest: usize) -> Arc<Self> {
        let keys = (0..keys).map(|_| Side::new(largest)).collect();
        Arc::new(Witness { whole: Side::new(largest), keys, slots: AtomicU64::new(0) })
    }

    /// Called before a call begins.
    pub(super) fn before(&self, key: usize) -> Before {
        Before { whole: self.whole.admits.seen(), key: self.keys[key].admits.seen() }
    }

    /// Called once the call is admitted, and before its units are given back.
    pub(super) fn enter(self: &Arc<Self>, key: usize, units: usize, before: Before) -> Units {
        self.slots.fetch_add(1, SeqCst);
        self.keys[key].enter(units, before.key);
        self.whole.enter(units, before.whole);
        Units { witness: Arc::clone(self), key, number: units }
    }
}

/// Dropped before the slot is.
impl Drop for Units {
    fn drop(&mut self) {
        self.witness.whole.leave(self.number);
        self.witness.keys[self.key].leave(self.number);
    }
}
