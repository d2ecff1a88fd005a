//! The circuits of keys: made when a call first needs one, and bounded in number.

use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use bulklink::partitions::Lookup;
use bulklink::plumbing::discard;

use super::shelf::{Found, Shelf, Standing};
use crate::breaker::{Core, KeysStatus, LiveLimit, next_instance};
use crate::circuit::View;
use crate::registry::Keyed;
use crate::sync::{Mutex, lock};
use crate::{BreakerStatus, BreakerTotals, Instant, Settings, State};

/// The most circuits that a status has one by one.
const SHOWN: usize = 10;

/// The circuits of keys.
///
/// No foreign code runs under the lock: keys are hashed, compared, cloned and dropped outside it,
/// and the clock is read before it is taken. The locks of circuits are taken within it.
pub(super) struct Circuits<K> {
    pub(super) label: Arc<str>,
    instance: u64,
    counts_cancelled: bool,
    /// Makes a closed circuit with this name.
    make: Box<Make>,
    now: Box<dyn Fn() -> Instant + Send + Sync>,
    show: Option<Box<Show<K>>>,
    hasher: RandomState,
    /// The run limit of the configuration.
    pub(super) run_limit: Arc<LiveLimit>,
    locked: Mutex<Locked<K>>,
}

pub(super) type Make = dyn Fn(&str, Settings) -> Arc<Core> + Send + Sync;
pub(super) type Show<K> = dyn Fn(&K) -> String + Send + Sync;

struct Locked<K> {
    shelf: Shelf<Arc<Entry<K>>>,
    settings: Settings,
    /// The counts of circuits that were evicted.
    gone: BreakerTotals,
    evicted: u64,
    without_circuit: u64,
}

struct Entry<K> {
    key: K,
    core: Arc<Core>,
}

impl<K> Entry<K> {
    /// It is kept while a call, a request or a user has its circuit, and while another thread
    /// compares its key.
    fn standing(self: &Arc<Self>, now: Instant) -> Standing {
        if Arc::strong_count(self) > 1 || Arc::strong_count(&self.core) > 1 {
            return Standing::Kept;
        }
        // What others did before they dropped theirs is seen from here on.
        fence(Ordering::Acquire);
        self.core.standing(now)
    }
}

impl<K> Circuits<K> {
    pub(super) fn new(
        label: Arc<str>,
        counts_cancelled: bool,
        (settings, max): (Settings, usize),
        (make, now): (Box<Make>, Box<dyn Fn() -> Instant + Send + Sync>),
        show: Option<Box<Show<K>>>,
    ) -> Self {
        let (gone, evicted, without_circuit) = (BreakerTotals::default(), 0, 0);
        let locked = Locked { shelf: Shelf::new(max), settings, gone, evicted, without_circuit };
        let (instance, hasher, run_limit) = (next_instance(), RandomState::new(), Arc::default());
        let locked = Mutex::new(locked);
        Circuits { label, instance, counts_cancelled, make, now, show, hasher, run_limit, locked }
    }

    /// Returns the circuit of this key, which is used now, and makes it if there is none. If there
    /// is no room for it, it is the call's own.
    pub(super) fn enter<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Arc<Core> {
        let hash = self.hasher.hash_one(key);
        let found = lock(&self.locked).shelf.touch(hash);
        pick(&found, key).unwrap_or_else(|| self.create(hash, key, found))
    }

    /// Returns the circuit of this key, if there is one.
    pub(super) fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Arc<Core>> {
        let found = lock(&self.locked).shelf.touch(self.hasher.hash_one(key));
        pick(&found, key)
    }

    #[cold]
    fn create<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q, mut known: Found<Arc<Entry<K>>>) -> Arc<Core> {
        let key_of_entry = key.to_key();
        let label = self.label_of(&key_of_entry);
        let settings = lock(&self.locked).settings;
        let core = (self.make)(label.as_deref().unwrap_or(&self.label), settings);
        let entry = Arc::new(Entry { key: key_of_entry, core: Arc::clone(&core) });
        let now = (self.now)();
        loop {
            let mut locked = lock(&self.locked);
            let found = locked.shelf.touch(hash);
            // Others are new, such as one of this key.
            if !is_same(&found, &known) {
                drop(locked);
                known = found;
                if let Some(other) = pick(&known, key) {
                    discard(entry);
                    return other;
                }
                continue;
            }
            // Or they would be kept. The shelf has all of them, so that none of their keys is
            // dropped.
            drop((found, known));
            if locked.settings != settings {
                // They were checked.
                _ = core.set_settings_at(now, locked.settings);
            }
            let unneeded = locked.insert(hash, Arc::clone(&entry), now);
            drop(locked);
            discard((unneeded, entry));
            return core;
        }
    }

    fn label_of(&self, key: &K) -> Option<String> {
        let shown = self.show.as_ref()?(key);
        // It comes from a client, perhaps.
        let clean = shown.chars().take(100).map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
        Some(format!("{}/{}", self.label, clean.collect::<String>()))
    }

    pub(super) fn settings(&self) -> Settings {
        lock(&self.locked).settings
    }
}

impl<K: Send + Sync> Keyed for Circuits<K> {
    fn counts_cancelled(&self) -> bool {
        self.counts_cancelled
    }

    fn run_limit(&self) -> &LiveLimit {
        &self.run_limit
    }

    fn set_settings(&self, settings: Settings) -> Settings {
        let now = (self.now)();
        let mut locked = lock(&self.locked);
        for entry in locked.shelf.iter() {
            _ = entry.core.set_settings_at(now, settings);
        }
        mem::replace(&mut locked.settings, settings)
    }

    fn force_closed(&self) {
        let cores: Vec<_> = lock(&self.locked).shelf.iter().map(|entry| Arc::clone(&entry.core)).collect();
        for core in cores {
            core.force(false);
        }
    }

    fn status(&self) -> BreakerStatus {
        let now = (self.now)();
        let locked = lock(&self.locked);
        let (mut totals, mut worst) = (locked.gone, Vec::with_capacity(SHOWN + 1));
        let (mut open, mut half_open) = (0, 0);
        for entry in locked.shelf.iter() {
            let status = entry.core.status_at(now);
            totals.add(&status.totals);
            match status.circuit.state {
                State::Closed => continue,
                State::HalfOpen => half_open += 1,
                State::Open => open += 1,
            }
            insert_worst(&mut worst, status);
        }
        let keys = KeysStatus {
            kept: locked.shelf.len(),
            max: locked.shelf.max(),
            open,
            half_open,
            worst: Vec::new(),
            evicted: locked.evicted,
            without_circuit: locked.without_circuit,
        };
        drop(locked);
        let first = worst.first();
        BreakerStatus {
            label: Arc::clone(&self.label),
            instance: self.instance,
            circuit: first.map_or(View::closed(0), |status| status.circuit),
            state_age: first.map_or(Duration::ZERO, |status| status.state_age),
            unhealthy_for: first.and_then(|status| status.unhealthy_for),
            retry_after: first.and_then(|status| status.retry_after),
            tripped: first.and_then(|status| status.tripped),
            totals,
            is_connected: None,
            keys: Some(KeysStatus { worst: if self.show.is_some() { worst } else { Vec::new() }, ..keys }),
        }
    }
}

/// Keeps the worst, in order, and of equals the first.
fn insert_worst(worst: &mut Vec<BreakerStatus>, status: BreakerStatus) {
    let badness = |status: &BreakerStatus| (status.health(), status.totals.rejected);
    let place = worst.partition_point(|other| badness(other) >= badness(&status));
    if place < SHOWN {
        worst.insert(place, status);
        worst.truncate(SHOWN);
    }
}

impl<K> Locked<K> {
    /// Adds an entry. Returns the one to be dropped outside the lock: that which was evicted, or
    /// this one.
    fn insert(&mut self, hash: u64, entry: Arc<Entry<K>>, now: Instant) -> Option<Arc<Entry<K>>> {
        match self.shelf.insert(hash, entry, |entry| entry.standing(now)) {
            Ok(evicted) => {
                if let Some(evicted) = &evicted {
                    self.evicted += 1;
                    self.gone.add(&evicted.core.read(now).1);
                }
                evicted
            }
            Err(refused) => {
                self.without_circuit += 1;
                Some(refused)
            }
        }
    }
}

fn pick<K, Q: Lookup<K> + ?Sized>(found: &Found<Arc<Entry<K>>>, key: &Q) -> Option<Arc<Core>> {
    found.iter().find(|entry| key.is(&entry.key)).map(|entry| Arc::clone(&entry.core))
}

/// In another order they are not the same, which costs one more comparison.
fn is_same<T>(found: &Found<Arc<T>>, known: &Found<Arc<T>>) -> bool {
    found.iter().map(Arc::as_ptr).eq(known.iter().map(Arc::as_ptr))
}
