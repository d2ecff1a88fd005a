//! Threads, tasks and controllers use keys that share a capacity, in all ways at once. A witness
//! outside of the library counts the units in use.
//!
//! `BULKLINK_SOAK` sets the number of operations.

mod witness;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::{env, thread};

use bulklink::partitions::{Class, Share};
use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{EventFilter, Partitions};

use crate::ms;
use witness::{Side, Witness};
use worker::{Soak, work};

type Models = Partitions<String, FakeRuntime>;

const KEYS: [&str; 6] = ["ann", "bob", "cid", "dan", "eve", "fay"];
/// The normal one is the most frequent.
const CLASSES: [Class; 6] =
    [Class::Critical, Class::Normal, Class::Normal, Class::Normal, Class::Sheddable, Class::Background];
const CAPACITIES: [usize; 3] = [3, 4, 8];
const LARGEST: usize = 8;
const THREADS: u64 = 4;

/// A small generator, so that a seed gives the same choices.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }
}

fn operations(few: u64) -> u64 {
    env::var("BULKLINK_SOAK").map_or(few, |number| number.parse().expect("BULKLINK_SOAK is a number of operations"))
}

#[test]
fn units_are_conserved_by_words() {
    soak(operations(40_000), false, KEYS.len());
}

#[test]
fn units_are_conserved_while_partitions_are_evicted() {
    soak(operations(40_000), false, 4);
}

#[test]
fn units_are_conserved_while_events_are_observed() {
    soak(operations(20_000), true, 5);
}

fn soak(operations: u64, is_observed: bool, max_partitions: usize) {
    let mut executor = Executor::new(FakeClock::new());
    let builder = Partitions::builder_on(executor.runtime(), "models").shared_capacity(LARGEST);
    let builder = builder.shared_waiting_room(10).waiting_room(6).wait_limit(ms(200)).class_relief(3);
    // Without it, the words of all classes are met.
    let headroom = usize::from(is_observed);
    let builder = builder.class_headroom(Class::Sheddable, headroom).class_headroom(Class::Background, 2 * headroom);
    let models: Models = builder.max_partitions(max_partitions).build().expect("valid");
    let seen = Arc::new(AtomicU64::new(0));
    if is_observed {
        let seen = Arc::clone(&seen);
        models.handle().add_event_handler(EventFilter::ALL, move |_| _ = seen.fetch_add(1, SeqCst));
    }
    let witness = Witness::new(KEYS.len(), LARGEST);
    let soak = Soak { models, witness, left: AtomicU64::new(operations), unexpected: AtomicU64::new(0) };
    let mut controller = Controller { soak: &soak, random: Random(operations | 1), shares: [Share::new(); 6] };
    thread::scope(|scope| {
        let workers: Vec<_> = (1..=THREADS)
            .map(|seed| {
                let soak = &soak;
                scope.spawn(move || work(soak, seed * 7_919))
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            executor.advance(ms(1));
            if soak.left.load(SeqCst) > 0 {
                controller.step();
            } else {
                controller.let_all_go_on();
            }
            thread::yield_now();
        }
        for worker in workers {
            worker.join().expect("no fault");
        }
    });
    // For what was submitted.
    controller.let_all_go_on();
    executor.advance(ms(1_000));
    check(&soak, is_observed, seen.load(SeqCst));
}

/// Checks what holds at the end.
fn check(soak: &Soak, is_observed: bool, events: u64) {
    let (status, sums) = (soak.models.status(), soak.models.handle().sums());
    let (shared, totals) = (status.shared.expect("shared"), &sums.totals);
    assert_eq!((shared.in_use, shared.waiting, sums.in_use, sums.waiting), (0, 0, 0, 0), "{sums:?}");
    assert_eq!(soak.witness.whole.limit.units(), shared.capacity);
    let ended = totals.admitted_from_queue + totals.cancelled + totals.expired + totals.closed_while_waiting;
    assert_eq!(totals.queued, ended + totals.displaced, "{totals:?}");
    assert_eq!(shared.displaced, totals.displaced);
    assert_eq!(totals.finished, soak.witness.slots.load(SeqCst), "{totals:?}");
    assert_eq!(soak.unexpected.load(SeqCst), 0);
    assert!(shared.peak_in_use <= LARGEST);
    assert_eq!(is_observed, events > 0);
    // The others depend on how fast time moves, which is for a long run to meet.
    let seen = [totals.admitted_from_queue, totals.saturated, totals.cancelled, totals.expired, totals.displaced];
    let most = if env::var("BULKLINK_SOAK").is_ok() { seen.len() } else { 2 };
    assert!(seen[..most].iter().all(|&count| count > 0), "each of them is met: {totals:?}");
    for key in KEYS {
        let slots: Vec<_> = (0..shared.capacity).map_while(|_| soak.models.key(key).try_slot().ok()).collect();
        assert_eq!(slots.len(), shared.capacity, "a unit was lost");
    }
}

/// Changes all that can be changed meanwhile.
struct Controller<'a> {
    soak: &'a Soak,
    random: Random,
    shares: [Share; 6],
}

impl Controller<'_> {
    fn step(&mut self) {
        let key = self.random.below(KEYS.len());
        match self.random.below(13) {
            0 | 1 => {
                let capacity = CAPACITIES[self.random.below(CAPACITIES.len())];
                self.resize(capacity);
            }
            2 | 3 => {
                let ceiling = 3 + self.random.below(LARGEST - 2);
                self.set_ceiling(key, ceiling);
            }
            4 => {
                let (weight, floor) = (1 + self.random.below(5), self.random.below(3));
                self.shares[key] = self.shares[key].weight(weight).floor(floor);
                // Of one key, so that it is within the least capacity.
                self.shares[key].is_kept = key == 0;
                self.share(key);
            }
            5 => {
                let is_paused = !self.shares[key].is_paused;
                self.pause_key(key, is_paused);
            }
            6 => self.pause_all(),
            7 => {
                let class = CLASSES[self.random.below(CLASSES.len())];
                self.soak.models.class(class).discard(KEYS[key]);
            }
            8 => _ = self.soak.models.handle().cleanup_idle(),
            9 => {
                let shared = self.soak.models.status().shared.expect("shared");
                assert!(shared.in_use <= LARGEST && shared.waiting <= 10, "{shared:?}");
            }
            10 => self.meet_a_ceiling(key),
            11 => self.remove_share(key),
            _ => _ = self.soak.models.handle().sums(),
        }
    }

    /// Ends what could keep calls waiting for ever.
    fn let_all_go_on(&mut self) {
        self.resize(LARGEST);
        for key in 0..KEYS.len() {
            self.shares[key].is_kept = false;
            self.set_ceiling(key, LARGEST);
            if self.shares[key].is_paused {
                self.pause_key(key, false);
            }
        }
    }

    fn share(&self, key: usize) {
        self.soak.models.set_share(KEYS[key], self.shares[key]).expect("valid");
    }

    /// A smaller one can be refused, if a call waits that costs more.
    fn resize(&self, units: usize) {
        let (models, side) = (&self.soak.models, &self.soak.witness.whole);
        let in_use = || models.status().shared.expect("shared").in_use;
        change(side, units, || models.resize_shared(units).is_ok(), in_use);
    }

    fn set_ceiling(&mut self, key: usize, units: usize) {
        self.shares[key] = self.shares[key].ceiling(units);
        let models = &self.soak.models;
        let of_class = |class| models.class(class).partition(KEYS[key]).map_or(0, |handle| handle.status().in_use);
        let in_use = || Class::ALL.map(of_class).into_iter().sum();
        change(&self.soak.witness.keys[key], units, || models.set_share(KEYS[key], self.shares[key]).is_ok(), in_use);
    }

    /// The ceiling of all is the highest.
    fn remove_share(&mut self, key: usize) {
        let side = &self.soak.witness.keys[key];
        side.limit.set(LARGEST);
        side.admits.set(1);
        self.soak.models.remove_share(KEYS[key]);
        self.shares[key] = Share::new();
    }

    fn pause_key(&mut self, key: usize, is_paused: bool) {
        let admits = &self.soak.witness.keys[key].admits;
        self.shares[key] = self.shares[key].paused(is_paused);
        if is_paused {
            self.share(key);
            admits.set(0);
        } else {
            admits.set(1);
            self.share(key);
        }
    }

    fn pause_all(&mut self) {
        let admits = &self.soak.witness.whole.admits;
        self.soak.models.pause();
        admits.set(0);
        (0..self.random.below(20)).for_each(|_| thread::yield_now());
        admits.set(1);
        self.soak.models.resume();
    }

    /// A controller's ceiling of a bulkhead, for a moment.
    fn meet_a_ceiling(&mut self, key: usize) {
        let Some(handle) = self.soak.models.partition(KEYS[key]) else { return };
        let ceiling = handle.ceiling("soak");
        ceiling.set(self.random.below(3));
        thread::yield_now();
    }
}

/// Changes a limit, and tells the witness: of a higher one before, and of a lower one once no more
/// units are in use.
fn change(side: &Side, units: usize, change: impl Fn() -> bool, in_use: impl Fn() -> usize) {
    if units >= side.limit.units() {
        side.limit.set(units);
        assert!(change(), "a higher limit is not refused");
    } else if change() {
        // Calls end meanwhile, or the witness goes on with the higher limit for now.
        if (0..1_000).any(|_| {
            thread::yield_now();
            in_use() <= units
        }) {
            side.limit.set(units);
        }
    }
}
